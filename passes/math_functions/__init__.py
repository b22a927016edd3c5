"""Elementary functions as arithmetic that LLVM vectorizes: the bodies that expand-math puts in place of math.*."""
