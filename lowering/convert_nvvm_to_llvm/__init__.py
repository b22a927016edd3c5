"""The conversion `convert-nvvm-to-llvm`."""
