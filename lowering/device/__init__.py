"""Facts about the target machine: GPU chips, the device part of a module, ranges of indices."""
