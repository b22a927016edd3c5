// RUN: hlo-opt %s -p 'expand-math{vector-bits=256}' | filecheck %s
// RUN: hlo-opt %s --expand-math | filecheck %s

// A loop over a special function computes two vectors at once, with long vectors too: f64 beside f32 fills twice as many.
// CHECK-LABEL: func.func @special
// CHECK:         func.call @xhlo_math_lgamma_f32
// CHECK:         } {xhlo.parallel, xhlo.interleave = 2 : i64}
func.func @special(%x: memref<1024xf32>, %n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  scf.for %i = %c0 to %n step %c1 {
    %a = memref.load %x[%i] : memref<1024xf32>
    %b = math_ext.lgamma %a : f32
    memref.store %b, %x[%i] : memref<1024xf32>
  } {xhlo.parallel}
  func.return
}
