"""What decompose-hlo makes of composed operations: a file per family, each with its DECOMPOSITIONS."""
