"""Executables and machine code, kept in a folder from one process to the next."""
