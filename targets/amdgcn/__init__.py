"""AMD GPUs: AMDGCN assembly and code objects by LLVM."""
