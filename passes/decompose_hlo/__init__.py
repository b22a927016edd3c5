"""The pass `decompose-hlo` and its decompositions, one file per family."""
