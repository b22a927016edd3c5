"""Facts about the machine that is compiled for: GPU chips, the device part of a module, ranges of indices."""
