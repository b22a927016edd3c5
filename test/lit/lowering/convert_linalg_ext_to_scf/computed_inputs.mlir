// RUN: hlo-opt %s --convert-linalg-ext-to-scf | filecheck %s

// A row's index is computed before the row, and the elements of its updates in the loop along it. No buffer is left.
// CHECK-LABEL: @rows
// CHECK-NOT:     memref.alloc
// CHECK:         scf.for %[[N:.*]] =
// CHECK:           memref.load %i[%[[N]]] : memref<7xi32>
// CHECK-NEXT:      %[[D:.*]] = arith.subi
// CHECK:           %[[ROW:.*]] = arith.index_cast
// CHECK:           memref.load %w[%[[N]]] : memref<7xf32>
// CHECK:           scf.if
// CHECK:             scf.for %[[C:.*]] =
// CHECK:               memref.load %x[%[[ROW]], %[[C]]]
// CHECK:               memref.load %t[%[[N]], %[[C]]]
// CHECK-NEXT:          %[[M:.*]] = arith.mulf
// CHECK-NEXT:          arith.addf %{{.*}}, %[[M]]
// CHECK-NEXT:          memref.store
// CHECK-NEXT:        } {xhlo.parallel}
// CHECK-NOT:     linalg.generic
func.func private @rows(%x: memref<5x3xf32>, %i: memref<7xi32>, %t: memref<7x3xf32>, %w: memref<7xf32>) attributes {hlo.kernel = "custom"} {
  %j = memref.alloc() : memref<7xi32>
  linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]} ins(%i : memref<7xi32>) outs(%j : memref<7xi32>) {
  ^bb0(%a: i32, %b: i32):
    %one = arith.constant 1 : i32
    %d = arith.subi %a, %one : i32
    linalg.yield %d : i32
  }
  %u = memref.alloc() : memref<7x3xf32>
  linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%t, %w : memref<7x3xf32>, memref<7xf32>) outs(%u : memref<7x3xf32>) {
  ^bb0(%a: f32, %b: f32, %c: f32):
    %m = arith.mulf %a, %b : f32
    linalg.yield %m : f32
  }
  %k = memref.reinterpret_cast %j to offset: [0], sizes: [7, 1], strides: [1, 1] : memref<7xi32> to memref<7x1xi32>
  linalg_ext.scatter {batching = array<i64>, index_batching = array<i64>, index_map = array<i64: 0>, inserted = array<i64: 0>, is_unique = false, is_unsigned = false, vector_dim = 1 : i64, window = array<i64: 1>} ins(%k, %u : memref<7x1xi32>, memref<7x3xf32>) outs(%x : memref<5x3xf32>) ({
  ^bb0(%a: f32, %b: f32):
    %m = arith.addf %a, %b : f32
    linalg.yield %m : f32
  })
  return
}

// Iterations that depend on each other: indices are computed for blocks of them, in a loop before; ones are no array.
// CHECK-LABEL: @bins
// CHECK:         %[[BLOCK:.*]] = memref.alloca() : memref<256xi32>
// CHECK-NOT:     memref.alloc
// CHECK:         scf.for %[[FIRST:.*]] = %{{.*}} to %{{.*}} step %{{.*}} {
// CHECK:           %[[COUNT:.*]] = arith.minsi
// CHECK:           scf.for %[[K:.*]] = %{{.*}} to %[[COUNT]]
// CHECK:             arith.mulf
// CHECK:             memref.store %{{.*}}, %[[BLOCK]][%[[K]]]
// CHECK-NEXT:      } {xhlo.parallel}
// CHECK:           scf.for %[[N:.*]] = %{{.*}} to %[[COUNT]]
// CHECK:             memref.load %[[BLOCK]][%[[N]]]
// CHECK:               arith.addi %{{.*}}, %[[ONE:.*]] : i32
func.func private @bins(%x: memref<900xi32>, %v: memref<700xf32>) attributes {hlo.kernel = "custom"} {
  %j = memref.alloc() : memref<700xi32>
  linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]} ins(%v : memref<700xf32>) outs(%j : memref<700xi32>) {
  ^bb0(%a: f32, %b: i32):
    %0 = arith.mulf %a, %a : f32
    %1 = arith.addf %0, %a : f32
    %2 = arith.mulf %1, %1 : f32
    %3 = arith.fptosi %2 : f32 to i32
    linalg.yield %3 : i32
  }
  %k = memref.reinterpret_cast %j to offset: [0], sizes: [700, 1], strides: [1, 1] : memref<700xi32> to memref<700x1xi32>
  %u = memref.alloc() : memref<700xi32>
  %one = arith.constant 1 : i32
  linalg.fill ins(%one : i32) outs(%u : memref<700xi32>)
  linalg_ext.scatter {batching = array<i64>, index_batching = array<i64>, index_map = array<i64: 0>, inserted = array<i64: 0>, is_unique = false, is_unsigned = false, vector_dim = 1 : i64, window = array<i64>} ins(%k, %u : memref<700x1xi32>, memref<700xi32>) outs(%x : memref<900xi32>) ({
  ^bb0(%a: i32, %b: i32):
    %m = arith.addi %a, %b : i32
    linalg.yield %m : i32
  })
  return
}

// The input is written between the two: the generic fills its buffer before.
// CHECK-LABEL: @written
// CHECK:         %[[U:.*]] = memref.alloc
// CHECK:         linalg.generic
// CHECK:         linalg.fill
// CHECK:         scf.for
// CHECK:           memref.load %[[U]]
func.func private @written(%x: memref<9xf32>, %i: memref<7x1xi32>, %v: memref<7xf32>) attributes {hlo.kernel = "custom"} {
  %u = memref.alloc() : memref<7xf32>
  linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]} ins(%v : memref<7xf32>) outs(%u : memref<7xf32>) {
  ^bb0(%a: f32, %b: f32):
    %m = arith.negf %a : f32
    linalg.yield %m : f32
  }
  %zero = arith.constant 0.0 : f32
  linalg.fill ins(%zero : f32) outs(%v : memref<7xf32>)
  linalg_ext.scatter {batching = array<i64>, index_batching = array<i64>, index_map = array<i64: 0>, inserted = array<i64: 0>, is_unique = false, is_unsigned = false, vector_dim = 1 : i64, window = array<i64>} ins(%i, %u : memref<7x1xi32>, memref<7xf32>) outs(%x : memref<9xf32>) ({
  ^bb0(%a: f32, %b: f32):
    %m = arith.addf %a, %b : f32
    linalg.yield %m : f32
  })
  return
}
