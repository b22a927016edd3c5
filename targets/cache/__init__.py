"""The on-disk cache of executables and machine code."""
