"""NVIDIA GPUs: PTX by LLVM, machine code by ptxas or nvJitLink."""
