// Code that would make LLVM end the process, or that no driver would load, is refused at its operation.
// RUN: hlo-opt %s --target=nvptx --chip=sm_75 --emit=ptx --split-input-file --verify-diagnostics

llvm.func @sine(%x: f64) -> f64 {
  // expected-error@+1 {{calls llvm.sin.f64, for which NVIDIA's GPUs have no instruction; expand-math makes arithmetic of it}}
  %0 = llvm.call_intrinsic "llvm.sin.f64"(%x) : (f64) -> f64
  llvm.return %0 : f64
}

// -----

llvm.func @pow(f64, f64) -> f64

llvm.func @library(%x: f64) -> f64 {
  // expected-error@+1 {{calls @pow, which is no function of the device}}
  %0 = llvm.call @pow(%x, %x) : (f64, f64) -> f64
  llvm.return %0 : f64
}

// -----

llvm.func @newer_chip() {
  // expected-error@+1 {{calls llvm.nvvm.cp.async.wait.all, which needs a chip from sm_80 on; this one is sm_75}}
  llvm.call_intrinsic "llvm.nvvm.cp.async.wait.all"() : () -> ()
  llvm.return
}

// -----

llvm.mlir.global internal @table() {addr_space = 3 : i32} : !llvm.array<16384 x f32>

// expected-error@+1 {{has 65536 bytes of static shared memory for a block; there are 49152}}
llvm.func @much_shared() attributes {nvvm.kernel} {
  %0 = llvm.mlir.addressof @table : !llvm.ptr<3>
  %1 = llvm.mlir.constant(0.0) : f32
  llvm.store %1, %0 : f32, !llvm.ptr<3>
  llvm.return
}
