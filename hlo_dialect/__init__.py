"""Floor 2: the hlo dialect: operations by family, types, attributes, reading, printing, reference semantics."""
