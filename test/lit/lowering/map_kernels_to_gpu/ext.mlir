// RUN: hlo-opt %s --map-kernels-to-gpu | filecheck %s
// Operations of linalg_ext as launches of their own.

// A row that one block sorts: a launch of 1024 threads for 2048 elements, sorted together with their indices.
// CHECK-LABEL: func.func private @sort_row
// CHECK-NOT:     memref.alloc
// CHECK:         gpu.launch_func @kernels::@sort_row
// CHECK-NOT:     gpu.launch_func
// CHECK:         func.return
func.func private @sort_row(%x: memref<2000xf32>) attributes {hlo.kernel = "custom"} {
  linalg_ext.sort_by_key {gpu.plan = #gpu.sort<tile = 2048>, dimension = 0 : i64} outs(%x : memref<2000xf32>) ({
  ^bb0(%a: f32):
    %k = arith.bitcast %a : f32 to i32
    linalg.yield %k : i32
  })
  func.return
}

// Three tiles: two merges, each a search and the merge itself. The last one writes the row.
// CHECK-LABEL: func.func private @merges
// CHECK:         %[[AWAY:.*]] = memref.alloc() : memref<1x5000x1xf32>
// CHECK:         %[[COUNTS:.*]] = memref.alloc() : memref<1x4xi32>
// CHECK:         gpu.launch_func @kernels::@merges blocks {{.*}} args(%x : memref<5000xf32>)
// CHECK:         gpu.launch_func @kernels::@merges_1 {{.*}} args(%x : {{.*}}, %[[COUNTS]] : memref<1x4xi32>)
// CHECK:         gpu.launch_func @kernels::@merges_2 {{.*}} args(%x : {{.*}}, %[[AWAY]] : {{.*}}, %[[COUNTS]] :
// CHECK:         gpu.launch_func @kernels::@merges_3 {{.*}} args(%[[AWAY]] :
// CHECK:         gpu.launch_func @kernels::@merges_4 {{.*}} args(%x : {{.*}}, %[[AWAY]] :
// CHECK:         func.return
func.func private @merges(%x: memref<5000xf32>) attributes {hlo.kernel = "custom"} {
  linalg_ext.sort_by_key {gpu.plan = #gpu.sort<tile = 2048>, dimension = 0 : i64} outs(%x : memref<5000xf32>) ({
  ^bb0(%a: f32):
    %k = arith.bitcast %a : f32 to i32
    linalg.yield %k : i32
  })
  func.return
}

// Many columns: a thread for each. One long row: totals of chunks, their scan, the chunks.
// CHECK-LABEL: func.func private @columns
// CHECK:         gpu.launch_func @kernels::@columns
// CHECK-NOT:     gpu.launch_func
// CHECK-LABEL: func.func private @long_row
// CHECK:         %[[TOTALS:.*]] = memref.alloc() : memref<1x{{[0-9]+}}x1xf32>
// CHECK-COUNT-3: gpu.launch_func @kernels::@long_row
// CHECK:         func.return
func.func private @columns(%x: memref<100x65536xf32>, %y: memref<100x65536xf32>) attributes {hlo.kernel = "custom"} {
  %z = arith.constant 0.0 : f32
  linalg_ext.scan {gpu.plan = #gpu.scan_threads<chunk = 100>, dimension = 0 : i64, reverse = false} ins(%x, %z : memref<100x65536xf32>, f32) outs(%y : memref<100x65536xf32>) ({
  ^bb0(%a: f32, %b: f32):
    %s = arith.addf %a, %b : f32
    linalg.yield %s : f32
  })
  func.return
}
func.func private @long_row(%x: memref<1000000xf32>, %y: memref<1000000xf32>) attributes {hlo.kernel = "custom"} {
  %z = arith.constant 0.0 : f32
  linalg_ext.scan {gpu.plan = #gpu.scan_blocks<chunk = 11520, elements = 15>, dimension = 0 : i64, reverse = false} ins(%x, %z : memref<1000000xf32>, f32) outs(%y : memref<1000000xf32>) ({
  ^bb0(%a: f32, %b: f32):
    %s = arith.addf %a, %b : f32
    linalg.yield %s : f32
  })
  func.return
}

// Rows may be updated twice: places, their sort, the updates; without that, a thread for each update.
// CHECK-LABEL: func.func private @scatter
// CHECK:         %[[KEYS:.*]] = memref.alloc() : memref<70xi32>
// CHECK:         %[[ORDER:.*]] = memref.alloc() : memref<70xi32>
// CHECK-COUNT-3: gpu.launch_func
// CHECK:         func.return
// CHECK-LABEL: func.func private @unique
// CHECK:         gpu.launch_func
// CHECK-NOT:     gpu.launch_func
// CHECK:         func.return
func.func private @scatter(%x: memref<50x33xf32>, %i: memref<70x1xi32>, %u: memref<70x33xf32>) attributes {hlo.kernel = "custom"} {
  linalg_ext.scatter {gpu.plan = #gpu.sorted_scatter<sort = #gpu.sort<tile = 128>>, window = array<i64: 1>, inserted = array<i64: 0>, batching = array<i64>, index_batching = array<i64>, index_map = array<i64: 0>, vector_dim = 1 : i64, is_unsigned = false, is_unique = false} ins(%i, %u : memref<70x1xi32>, memref<70x33xf32>) outs(%x : memref<50x33xf32>) ({
  ^bb0(%a: f32, %b: f32):
    %s = arith.addf %a, %b : f32
    linalg.yield %s : f32
  })
  func.return
}
func.func private @unique(%x: memref<50x33xf32>, %i: memref<20x1xi32>, %u: memref<20x33xf32>) attributes {hlo.kernel = "custom"} {
  linalg_ext.scatter {gpu.plan = #gpu.points, window = array<i64: 1>, inserted = array<i64: 0>, batching = array<i64>, index_batching = array<i64>, index_map = array<i64: 0>, vector_dim = 1 : i64, is_unsigned = false, is_unique = true} ins(%i, %u : memref<20x1xi32>, memref<20x33xf32>) outs(%x : memref<50x33xf32>) ({
  ^bb0(%a: f32, %b: f32):
    %s = arith.addf %a, %b : f32
    linalg.yield %s : f32
  })
  func.return
}

// Disjoint windows: one launch. Overlapping ones: first the selection of each window, then each element.
// CHECK-LABEL: func.func private @apart
// CHECK:         gpu.launch_func
// CHECK-NOT:     gpu.launch_func
// CHECK:         func.return
// CHECK-LABEL: func.func private @overlapping
// CHECK:         %[[SELECTED:.*]] = memref.alloc() : memref<7xi32>
// CHECK:         gpu.launch_func {{.*}} args(%x : memref<16xf32>, %[[SELECTED]] : memref<7xi32>)
// CHECK:         gpu.launch_func {{.*}} %[[SELECTED]] : memref<7xi32>
// CHECK:         func.return
func.func private @apart(%x: memref<16xf32>, %s: memref<8xf32>, %y: memref<16xf32>) attributes {hlo.kernel = "custom"} {
  linalg_ext.select_and_scatter {gpu.plan = #gpu.points, sizes = array<i64: 2>, strides = array<i64: 2>, low = array<i64: 0>} ins(%x, %s : memref<16xf32>, memref<8xf32>) outs(%y : memref<16xf32>) ({
  ^bb0(%a: f32, %b: f32):
    %p = arith.cmpf oge, %a, %b : f32
    linalg.yield %p : i1
  }, {
  ^bb0(%a: f32, %b: f32):
    %t = arith.addf %a, %b : f32
    linalg.yield %t : f32
  })
  func.return
}
func.func private @overlapping(%x: memref<16xf32>, %s: memref<7xf32>, %y: memref<16xf32>) attributes {hlo.kernel = "custom"} {
  linalg_ext.select_and_scatter {gpu.plan = #gpu.points, sizes = array<i64: 3>, strides = array<i64: 2>, low = array<i64: 0>} ins(%x, %s : memref<16xf32>, memref<7xf32>) outs(%y : memref<16xf32>) ({
  ^bb0(%a: f32, %b: f32):
    %p = arith.cmpf oge, %a, %b : f32
    linalg.yield %p : i1
  }, {
  ^bb0(%a: f32, %b: f32):
    %t = arith.addf %a, %b : f32
    linalg.yield %t : f32
  })
  func.return
}

// The network of @sort_row: barriers in loops that all threads run alike.
// CHECK:       gpu.module @kernels
// CHECK-LABEL: gpu.func @sort_row
// CHECK-SAME:    memref<2048xf32, #gpu.address_space<workgroup>>
// CHECK-SAME:    memref<2048xi32, #gpu.address_space<workgroup>>
// CHECK-SAME:    known_block_size = array<i32: 1024, 1, 1>
// CHECK:         scf.for
// CHECK:           gpu.barrier
// CHECK:           scf.if
// CHECK:           scf.for
// CHECK:             gpu.barrier
