"""The pass `decompose-hlo` and its decompositions, a file per family."""
