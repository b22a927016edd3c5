// RUN: hlo-opt %s --convert-linalg-ext-to-scf | filecheck %s

// Windows that reach beyond the operand, and a selection by no order: loops carry whether an element was found, it and its place.
// CHECK-LABEL: @padded
// CHECK:         scf.for %[[W:.*]] =
// CHECK:           %[[BEST:.*]]:3 = scf.for
// CHECK:             scf.if
// CHECK:               arith.cmpf une
// CHECK:               arith.select
// CHECK:           scf.if %[[BEST]]#0 {
// CHECK:             arith.addf
// CHECK:             memref.store
func.func private @padded(%x: memref<5xf32>, %s: memref<3xf32>, %y: memref<5xf32>) attributes {hlo.kernel = "custom"} {
  linalg_ext.select_and_scatter {low = array<i64: 1>, sizes = array<i64: 3>, strides = array<i64: 2>} ins(%x, %s : memref<5xf32>, memref<3xf32>) outs(%y : memref<5xf32>) ({
  ^bb0(%a: f32, %b: f32):
    %p = arith.cmpf une, %a, %b : f32
    linalg.yield %p : i1
  }, {
  ^bb1(%c: f32, %d: f32):
    %m = arith.addf %c, %d : f32
    linalg.yield %m : f32
  })
  return
}

// Rows of windows: the middle ones first select without branches, then combine in order; those at the ends are clamped.
// CHECK-LABEL: @rows
// CHECK-SAME:    (%[[X:.*]]: memref<7x33xf32>, %[[S:.*]]: memref<4x17xf32>, %[[Y:.*]]: memref<7x33xf32>)
// CHECK:         %[[SELECTED:.*]] = memref.alloca() : memref<17xi32>
// CHECK-NOT:     scf.if
// CHECK:         scf.for %[[I:.*]] =
// CHECK:           %[[ABOVE:.*]] = arith.maxsi
// CHECK:           memref.reinterpret_cast %[[Y]]
// CHECK-SAME:        to memref<231xf32>
// CHECK-NOT:       scf.for
// CHECK:           memref.store %{{.*}}, %{{.*}} : memref<231xf32>
// CHECK:           scf.for %[[J:.*]] = %{{.*}} to %{{.*}} step %{{.*}} {
// CHECK-COUNT-9:     memref.load %[[X]]
// CHECK:             memref.store %{{.*}}, %[[SELECTED]]
// CHECK:           } {xhlo.parallel}
// CHECK:           scf.for %[[K:.*]] = %{{.*}} to %{{.*}} step %{{.*}} {
// CHECK:             memref.load %[[SELECTED]]
// CHECK:             memref.load %[[S]][%[[I]], %[[K]]]
// CHECK:             arith.addf
// CHECK:             memref.store %{{.*}}, %{{.*}} : memref<231xf32>
// CHECK-NOT:     scf.if
func.func private @rows(%x: memref<7x33xf32>, %s: memref<4x17xf32>, %y: memref<7x33xf32>) attributes {hlo.kernel = "custom"} {
  linalg_ext.select_and_scatter {low = array<i64: 1, 1>, sizes = array<i64: 3, 3>, strides = array<i64: 2, 2>} ins(%x, %s : memref<7x33xf32>, memref<4x17xf32>) outs(%y : memref<7x33xf32>) ({
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

// Columns of windows that reach beyond the operand: rows outside of it give way to the next, without branches.
// CHECK-LABEL: @padded_columns
// CHECK-NOT:     scf.if
// CHECK:         arith.maxsi
// CHECK:         scf.for
// CHECK-COUNT-3:   memref.load %{{.*}} : memref<5x8xf32>
// CHECK:         } {xhlo.parallel}
func.func private @padded_columns(%x: memref<5x8xf32>, %s: memref<3x8xf32>, %y: memref<5x8xf32>) attributes {hlo.kernel = "custom"} {
  linalg_ext.select_and_scatter {low = array<i64: 1, 0>, sizes = array<i64: 3, 1>, strides = array<i64: 2, 1>} ins(%x, %s : memref<5x8xf32>, memref<3x8xf32>) outs(%y : memref<5x8xf32>) ({
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

// Windows that tile the operand: the fill and the elementwise operation after them are in the loops.
// CHECK-LABEL: @tiled
// CHECK-SAME:    (%[[X:.*]]: memref<4x8xf32>, %{{.*}}: memref<2x8xf32>, %[[B:.*]]: memref<8xf32>, %[[Y:.*]]: memref<4x8xf32>)
// CHECK-NOT:     memref.alloc
// CHECK-NOT:     linalg.
// CHECK:         memref.load %[[B]][%[[COLUMN:.*]]]
// CHECK:         %[[Z:.*]] = arith.mulf
// CHECK:         memref.store %[[Z]], %[[Y]]
// CHECK-NOT:     linalg.
func.func private @tiled(%x: memref<4x8xf32>, %s: memref<2x8xf32>, %b: memref<8xf32>, %y: memref<4x8xf32>) attributes {hlo.kernel = "custom"} {
  %zero = arith.constant 0.0 : f32
  %t = memref.alloc() : memref<4x8xf32>
  linalg.fill ins(%zero : f32) outs(%t : memref<4x8xf32>)
  linalg_ext.select_and_scatter {low = array<i64: 0, 0>, sizes = array<i64: 2, 1>, strides = array<i64: 2, 1>} ins(%x, %s : memref<4x8xf32>, memref<2x8xf32>) outs(%t : memref<4x8xf32>) ({
  ^bb0(%a: f32, %c: f32):
    %p = arith.cmpf oge, %a, %c : f32
    linalg.yield %p : i1
  }, {
  ^bb1(%d: f32, %e: f32):
    %m = arith.addf %d, %e : f32
    linalg.yield %m : f32
  })
  linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d1)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%t, %b : memref<4x8xf32>, memref<8xf32>) outs(%y : memref<4x8xf32>) {
  ^bb2(%f: f32, %g: f32, %h: f32):
    %z = arith.mulf %f, %g : f32
    linalg.yield %z : f32
  }
  return
}

// A target that is read elsewhere, too, or at another index, is filled and written first.
// CHECK-LABEL: @transposed
// CHECK:         linalg.fill
// CHECK:         scf.for
// CHECK:         linalg.generic
func.func private @transposed(%x: memref<4x4xf32>, %s: memref<2x4xf32>, %y: memref<4x4xf32>) attributes {hlo.kernel = "custom"} {
  %zero = arith.constant 0.0 : f32
  %t = memref.alloc() : memref<4x4xf32>
  linalg.fill ins(%zero : f32) outs(%t : memref<4x4xf32>)
  linalg_ext.select_and_scatter {low = array<i64: 0, 0>, sizes = array<i64: 2, 1>, strides = array<i64: 2, 1>} ins(%x, %s : memref<4x4xf32>, memref<2x4xf32>) outs(%t : memref<4x4xf32>) ({
  ^bb0(%a: f32, %c: f32):
    %p = arith.cmpf oge, %a, %c : f32
    linalg.yield %p : i1
  }, {
  ^bb1(%d: f32, %e: f32):
    %m = arith.addf %d, %e : f32
    linalg.yield %m : f32
  })
  linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d1, d0)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%t : memref<4x4xf32>) outs(%y : memref<4x4xf32>) {
  ^bb2(%f: f32, %h: f32):
    %z = arith.negf %f : f32
    linalg.yield %z : f32
  }
  return
}
