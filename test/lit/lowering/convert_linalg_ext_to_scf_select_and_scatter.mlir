// RUN: hlo-opt %s --convert-linalg-ext-to-scf | filecheck %s

// Windows that reach beyond the operand: loops carry whether an element was found, it and its place.
// CHECK-LABEL: @padded
// CHECK:         scf.for %[[W:.*]] =
// CHECK:           %[[BEST:.*]]:3 = scf.for
// CHECK:             scf.if
// CHECK:               arith.cmpf oge
// CHECK:               arith.select
// CHECK:           scf.if %[[BEST]]#0 {
// CHECK:             arith.addf
// CHECK:             memref.store
func.func private @padded(%x: memref<5xf32>, %s: memref<3xf32>, %y: memref<5xf32>) attributes {hlo.kernel = "custom"} {
  linalg_ext.select_and_scatter {low = array<i64: 1>, sizes = array<i64: 3>, strides = array<i64: 2>} ins(%x, %s : memref<5xf32>, memref<3xf32>) outs(%y : memref<5xf32>) ({
  ^bb0(%a: f32, %b: f32):
    %p = arith.cmpf oge, %a, %b : f32
    linalg.yield %p : i1
  }, {
  ^bb1(%c: f32, %d: f32):
    %m = arith.addf %c, %d : f32
    linalg.yield %m : f32
  })
  return
}

// Neighbouring columns, whole windows: without branches.
// CHECK-LABEL: @columns
// CHECK-NOT:     scf.if
// CHECK:         } {xhlo.parallel}
func.func private @columns(%x: memref<4x8xf32>, %s: memref<2x8xf32>, %y: memref<4x8xf32>) attributes {hlo.kernel = "custom"} {
  linalg_ext.select_and_scatter {low = array<i64: 0, 0>, sizes = array<i64: 2, 1>, strides = array<i64: 2, 1>} ins(%x, %s : memref<4x8xf32>, memref<2x8xf32>) outs(%y : memref<4x8xf32>) ({
  ^bb0(%a: f32, %b: f32):
    %p = arith.cmpf oge, %a, %b : f32
    linalg.yield %p : i1
  }, {
  ^bb1(%c: f32, %d: f32):
    %m = arith.addf %c, %d : f32
    linalg.yield %m : f32
  })
  return
}
