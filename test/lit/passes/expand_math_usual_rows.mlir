// RUN: hlo-opt %s --expand-math=vector_bits=512 | filecheck %s

// A row is looked at before it is divided: the least size, less one, and the greatest one.
// CHECK-LABEL: @divide
// CHECK:         scf.for
// CHECK:           arith.minui
// CHECK:           arith.maxui
// CHECK:         } {xhlo.parallel}
// CHECK:         scf.if
// CHECK:           func.call @xhlo_math_divf_usual_f32(
// CHECK:         } {xhlo.parallel, xhlo.cached}
// CHECK:         } else {
// CHECK:           arith.divf
func.func @divide(%x: memref<1024xf32>, %y: f32, %to: memref<1024xf32>) {
  %0 = arith.constant 0 : index
  %1 = arith.constant 1 : index
  %2 = arith.constant 1024 : index
  scf.for %i = %0 to %2 step %1 {
    %3 = memref.load %x[%i] : memref<1024xf32>
    %4 = arith.divf %3, %y : f32
    memref.store %4, %to[%i] : memref<1024xf32>
  } {xhlo.parallel, xhlo.cached}
  func.return
}

// Dividends that would be computed twice are looked at in each vector.
// CHECK-LABEL: @computed
// CHECK-NOT:     arith.minui
// CHECK:         func.call @xhlo_math_divf_f32(
func.func @computed(%x: memref<1024xf32>, %y: f32, %to: memref<1024xf32>) {
  %0 = arith.constant 0 : index
  %1 = arith.constant 1 : index
  %2 = arith.constant 1024 : index
  scf.for %i = %0 to %2 step %1 {
    %3 = memref.load %x[%i] : memref<1024xf32>
    %4 = arith.mulf %3, %3 : f32
    %5 = arith.divf %4, %y : f32
    memref.store %5, %to[%i] : memref<1024xf32>
  } {xhlo.parallel, xhlo.cached}
  func.return
}

// So is what an iteration loads after it stored something, here the element itself.
// CHECK-LABEL: @stored
// CHECK-NOT:     arith.minui
// CHECK:         func.call @xhlo_math_divf_f32(
// CHECK-LABEL: @xhlo_math_divf_usual_f32
func.func @stored(%x: memref<1024xf32>, %y: f32) {
  %0 = arith.constant 0 : index
  %1 = arith.constant 1 : index
  %2 = arith.constant 1024 : index
  scf.for %i = %0 to %2 step %1 {
    memref.store %y, %x[%i] : memref<1024xf32>
    %3 = memref.load %x[%i] : memref<1024xf32>
    %4 = arith.divf %3, %y : f32
    memref.store %4, %x[%i] : memref<1024xf32>
  } {xhlo.parallel, xhlo.cached}
  func.return
}
