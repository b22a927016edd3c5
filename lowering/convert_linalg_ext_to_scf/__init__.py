"""linalg_ext on memrefs to loops: one file per family of operations, each with its PATTERNS."""
