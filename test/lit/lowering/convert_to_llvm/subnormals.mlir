// RUN: hlo-opt %s --pass-pipeline='convert-to-llvm{flush-subnormals=x86}' | filecheck %s
// RUN: hlo-opt %s --pass-pipeline='convert-to-llvm{flush-subnormals=aarch64}' | filecheck %s --check-prefix=ARM
// RUN: hlo-opt %s --convert-to-llvm | filecheck %s --check-prefix=NONE

// The entry sets the bits of the control register that make subnormals zeros, and restores it.

// NONE-NOT: call_intrinsic

// CHECK-LABEL: llvm.func @xhlo_entry(
// CHECK:         %[[BITS:.*]] = llvm.mlir.constant(32832 : i32)
// CHECK:         llvm.call_intrinsic "llvm.x86.sse.stmxcsr"(%[[BEFORE:.*]]) :
// CHECK:         llvm.or %{{.*}}, %[[BITS]]
// CHECK:         llvm.call_intrinsic "llvm.x86.sse.ldmxcsr"
// CHECK-NEXT:    llvm.call @main
// CHECK-NEXT:    llvm.call_intrinsic "llvm.x86.sse.ldmxcsr"(%[[BEFORE]]) :

// ARM-LABEL: llvm.func @xhlo_entry(
// ARM:         %[[OLD:.*]] = llvm.call_intrinsic "llvm.aarch64.get.fpcr"()
// ARM:         llvm.call_intrinsic "llvm.aarch64.set.fpcr"
// ARM-NEXT:    llvm.call @main
// ARM-NEXT:    llvm.call_intrinsic "llvm.aarch64.set.fpcr"(%[[OLD]])
func.func @main(%x: memref<1xf32>) {
  %c0 = arith.constant 0 : index
  %0 = memref.load %x[%c0] : memref<1xf32>
  %1 = arith.mulf %0, %0 : f32
  memref.store %1, %x[%c0] : memref<1xf32>
  func.return
}
