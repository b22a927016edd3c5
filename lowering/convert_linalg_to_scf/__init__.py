"""From linalg on memrefs to scf loops."""
