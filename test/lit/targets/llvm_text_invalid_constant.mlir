// RUN: hlo-opt %s --emit=llvm --split-input-file --verify-diagnostics

llvm.func @float_as_integer() -> i32 {
  // expected-error@+1 {{has a constant of type i32, which the LLVM IR writer does not support}}
  %0 = llvm.mlir.constant(1.0 : f32) : i32
  llvm.return %0 : i32
}

// -----

llvm.func @integer_as_float() -> f32 {
  // expected-error@+1 {{has a constant of type f32, which the LLVM IR writer does not support}}
  %0 = llvm.mlir.constant(1 : i32) : f32
  llvm.return %0 : f32
}
