// RUN: hlo-opt %s --convert-linalg-ext-to-scf | filecheck %s

// Rows whose index is out of bounds are skipped; the elements of a row are independent.
// CHECK-LABEL: @scatter
// CHECK:         scf.for %[[B:.*]] =
// CHECK:           %[[I:.*]] = memref.load %i[%[[B]], %{{.*}}]
// CHECK:           %[[INSIDE:.*]] = arith.cmpi ult, %[[ROW:.*]], %{{.*}} : index
// CHECK:           scf.if %[[INSIDE]] {
// CHECK:             scf.for %[[C:.*]] =
// CHECK:               memref.load %x[%[[ROW]], %[[C]]]
// CHECK:               memref.load %u[%[[B]], %[[C]]]
// CHECK:               arith.addf
// CHECK:               memref.store %{{.*}}, %x[%[[ROW]], %[[C]]]
// CHECK:             } {xhlo.parallel}
func.func private @scatter(%x: memref<5x3xf32>, %i: memref<7x1xi32>, %u: memref<7x3xf32>) attributes {hlo.kernel = "custom"} {
  linalg_ext.scatter {batching = array<i64>, index_batching = array<i64>, index_map = array<i64: 0>, inserted = array<i64: 0>, is_unique = false, is_unsigned = false, vector_dim = 1 : i64, window = array<i64: 1>} ins(%i, %u : memref<7x1xi32>, memref<7x3xf32>) outs(%x : memref<5x3xf32>) ({
  ^bb0(%a: f32, %b: f32):
    %m = arith.addf %a, %b : f32
    linalg.yield %m : f32
  })
  return
}

// Dimensions that come first in updates and outputs are outermost: the loop over the indices stays in one row.
// CHECK-LABEL: @columns
// CHECK:         scf.for %[[R:.*]] =
// CHECK:           scf.for %[[B:.*]] =
// CHECK:             %[[I:.*]] = memref.load %i[%[[B]], %{{.*}}]
// CHECK:             scf.for %[[C:.*]] =
// CHECK:               memref.load %x[%[[R]], %[[COLUMN:.*]], %[[C]]]
// CHECK:               memref.load %u[%[[R]], %[[B]], %[[C]]]
// CHECK:               memref.store %{{.*}}, %x[%[[R]], %[[COLUMN]], %[[C]]]
func.func private @columns(%x: memref<5x9x3xf32>, %i: memref<7x1xi32>, %u: memref<5x7x3xf32>) attributes {hlo.kernel = "custom"} {
  linalg_ext.scatter {batching = array<i64>, index_batching = array<i64>, index_map = array<i64: 1>, inserted = array<i64: 1>, is_unique = false, is_unsigned = false, vector_dim = 1 : i64, window = array<i64: 0, 2>} ins(%i, %u : memref<7x1xi32>, memref<5x7x3xf32>) outs(%x : memref<5x9x3xf32>) ({
  ^bb0(%a: f32, %b: f32):
    %m = arith.addf %a, %b : f32
    linalg.yield %m : f32
  })
  return
}

// The innermost loop runs along the rows of a window, also where the index moves it along them.
// CHECK-LABEL: @window
// CHECK:         memref.load %i[
// CHECK:         scf.for %[[R:.*]] =
// CHECK:           scf.for %[[C:.*]] =
// CHECK:             memref.load %u[%[[R]], %[[C]]]
// CHECK:           } {xhlo.parallel}
func.func private @window(%x: memref<4x9xf32>, %i: memref<1xi32>, %u: memref<4x5xf32>) attributes {hlo.kernel = "custom"} {
  linalg_ext.scatter {batching = array<i64>, index_batching = array<i64>, index_map = array<i64: 1>, inserted = array<i64>, is_unique = false, is_unsigned = false, vector_dim = 0 : i64, window = array<i64: 0, 1>} ins(%i, %u : memref<1xi32>, memref<4x5xf32>) outs(%x : memref<4x9xf32>) ({
  ^bb0(%a: f32, %b: f32):
    %m = arith.addf %a, %b : f32
    linalg.yield %m : f32
  })
  return
}

// Many updates of few elements: each task adds its part in a row of its own, and the rows are added in order.
// CHECK-LABEL: @histogram
// CHECK:         %[[OWN:.*]] = memref.alloc() : memref<{{[0-9]+}}xi32>
// CHECK:         "scf.parallel"
// CHECK:           %[[ROW:.*]] = memref.reinterpret_cast %[[OWN]]
// CHECK:           scf.for %[[P:.*]] =
// CHECK-NEXT:        memref.store %{{.*}}, %[[ROW]][%[[P]]]
// CHECK:           scf.for %[[U:.*]] =
// CHECK:             memref.load %i[%[[U]], %{{.*}}]
// CHECK:             arith.addi %{{.*}}, %{{.*}} : i32
// CHECK:             memref.store %{{.*}}, %[[ROW]][
// CHECK:           {xhlo.unroll = 4 : i64}
// CHECK:         scf.for
// CHECK:           scf.for %[[E:.*]] =
// CHECK:             memref.load %[[OWN]][
// CHECK:             memref.store %{{.*}}, %x[%[[E]]]
func.func private @histogram(%x: memref<50xi32>, %i: memref<50000x1xi32>, %u: memref<50000xi32>) attributes {hlo.kernel = "custom"} {
  linalg_ext.scatter {batching = array<i64>, index_batching = array<i64>, index_map = array<i64: 0>, inserted = array<i64: 0>, is_unique = false, is_unsigned = false, vector_dim = 1 : i64, window = array<i64>} ins(%i, %u : memref<50000x1xi32>, memref<50000xi32>) outs(%x : memref<50xi32>) ({
  ^bb0(%a: i32, %b: i32):
    %m = arith.addi %a, %b : i32
    linalg.yield %m : i32
  })
  return
}

// Runs of 8 by insertion, then one pass that merges two of them.
// CHECK-LABEL: @merge
// CHECK:         scf.for
// CHECK:           scf.for
// CHECK:             scf.while
// CHECK:         scf.for {{.*}} iter_args(%{{.*}}, %{{.*}}) -> (index, index) {
// CHECK:           arith.cmpf olt
// CHECK:           arith.select
func.func private @merge(%x: memref<16xf32>) attributes {hlo.kernel = "custom"} {
  linalg_ext.sort {dimension = 0 : i64} outs(%x : memref<16xf32>) ({
  ^bb0(%a: f32, %b: f32):
    %p = arith.cmpf olt, %a, %b : f32
    linalg.yield %p : i1
  })
  return
}

// Short rows: the ranks of a vector of elements are counted, for every other element. Copies are whole vectors.
// CHECK-LABEL: @rank
// CHECK:         memref.alloc() : memref<32xi32>
// CHECK:         scf.for
// CHECK:         } {xhlo.parallel}
// CHECK:         scf.for
// CHECK:           vector.load
// CHECK:           scf.for
// CHECK:             vector.broadcast
// CHECK:             arith.cmpi ule
// CHECK:             arith.cmpi eq
// CHECK:             arith.cmpi sgt
// CHECK:           vector.store
func.func private @rank(%x: memref<20xi32>) attributes {hlo.kernel = "custom"} {
  linalg_ext.sort_by_key {dimension = 0 : i64} outs(%x : memref<20xi32>) ({
  ^bb0(%a: i32):
    linalg.yield %a : i32
  })
  return
}

// Long rows: counts of four digits of 8 bits, then a pass for each.
// CHECK-LABEL: @radix
// CHECK:         %[[AWAY:.*]] = memref.alloc() : memref<1000xi32>
// CHECK:         %[[COUNTS:.*]] = memref.alloc() : memref<1024xi32>
// CHECK:         func.call @radix_radix_sort(%x, {{.*}}, %[[AWAY]], %[[COUNTS]]
// CHECK:       func.func private @radix_radix_sort({{.*}} attributes {xhlo.shared}
// CHECK:         scf.for
// CHECK-COUNT-3:   arith.shrui
func.func private @radix(%x: memref<1000xi32>) attributes {hlo.kernel = "custom"} {
  linalg_ext.sort_by_key {dimension = 0 : i64} outs(%x : memref<1000xi32>) ({
  ^bb0(%a: i32):
    linalg.yield %a : i32
  })
  return
}

// One long row: tasks count the first digit of their parts. Then, for each digit, they move their parts, and count the
// next digit for each part that elements go to. Both digits call the functions that add up counts.
// CHECK-LABEL: @radix_in_parts
// CHECK:         %[[AWAY:.*]] = memref.alloc() : memref<40000xi16>
// CHECK:         %[[COUNTS:.*]] = memref.alloc() : memref<768xi32>
// CHECK:         %[[NEXT:.*]] = memref.alloc() : memref<2304xi32>
// CHECK:         "scf.parallel"
// CHECK:           func.call @radix_in_parts_count(%x, %[[COUNTS]]
// CHECK:         func.call @radix_in_parts_add_up(%[[COUNTS]], %{{.*}})
// CHECK:         "scf.parallel"
// CHECK:           func.call @radix_in_parts_move(%x, %[[AWAY]], %[[COUNTS]], {{.*}}, %[[NEXT]]
// CHECK:         func.call @radix_in_parts_gather(%[[COUNTS]], %[[NEXT]], %{{.*}})
// CHECK:         func.call @radix_in_parts_add_up(%[[COUNTS]], %{{.*}})
// CHECK:         "scf.parallel"
// CHECK-NOT:     @radix_in_parts_add_up_1
func.func private @radix_in_parts(%x: memref<40000xi16>) attributes {hlo.kernel = "custom"} {
  linalg_ext.sort_by_key {dimension = 0 : i64} outs(%x : memref<40000xi16>) ({
  ^bb0(%a: i16):
    linalg.yield %a : i16
  })
  return
}
