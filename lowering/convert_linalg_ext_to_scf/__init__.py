"""linalg_ext on memrefs to loops: a file per family of operations, each with its PATTERNS."""
