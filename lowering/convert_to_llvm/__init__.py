"""Conversion of arith, math, cf, func, memref, vector and the CPU runtime operations to the llvm dialect."""
