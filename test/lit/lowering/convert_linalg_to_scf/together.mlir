// RUN: hlo-opt %s --convert-contractions-to-vector --convert-linalg-to-scf | filecheck %s

#a = affine_map<(m, n, k) -> (m, k)>
#b = affine_map<(m, n, k) -> (n, k)>
#c = affine_map<(m, n, k) -> (m, n)>

// A row by six columns, each contiguous: one loop loads its elements once for six sums.
// CHECK-LABEL: func.func private @columns(
// CHECK:         %[[sums:.*]]:6 = scf.for %[[k:.*]] = %{{.*}} to %{{.*}} step %{{.*}} iter_args(
// CHECK-NEXT:      memref.load %x[%[[m:.*]], %[[k]]] : memref<32x64xf32>
// CHECK-NOT:       memref.load %x
// CHECK:           scf.yield
// CHECK-COUNT-6: memref.store %[[sums]]#{{[0-5]}}, %o[%[[m]], %{{.*}}] : memref<32x6xf32>
func.func private @columns(%x: memref<32x64xf32>, %y: memref<6x64xf32>, %o: memref<32x6xf32>) attributes {hlo.kernel = "dot"} {
  %zero = arith.constant 0.0 : f32
  linalg.fill ins(%zero : f32) outs(%o : memref<32x6xf32>)
  linalg.generic {indexing_maps = [#a, #b, #c], iterator_types = ["parallel", "parallel", "reduction"]} ins(%x, %y : memref<32x64xf32>, memref<6x64xf32>) outs(%o : memref<32x6xf32>) attrs = {xhlo.contraction} {
  ^bb(%p: f32, %q: f32, %z: f32):
    %r = arith.mulf %p, %q fastmath<reassoc,contract> : f32
    %s = arith.addf %z, %r fastmath<reassoc,contract> : f32
    linalg.yield %s : f32
  }
  func.return
}

#places = affine_map<(p, f, y, k) -> (p + y * 2, k)>
#filters = affine_map<(p, f, y, k) -> (y, k, f)>
#features = affine_map<(p, f, y, k) -> (p, f)>

// Two loops of a window: the sums of each run of the inner one, from zero, are added to those of the outer one.
// CHECK-LABEL: func.func private @window(
// CHECK:         %[[all:.*]]:2 = scf.for %[[y:.*]] = %{{.*}} to %{{.*}} step %{{.*}} iter_args(%[[first:.*]] = %{{.*}}, %[[second:.*]] = %{{.*}}) -> (f32, f32) {
// CHECK:           %[[run:.*]]:2 = scf.for %[[k:.*]] = %{{.*}} to %{{.*}} step %{{.*}} iter_args(
// CHECK:           arith.addf %[[first]], %[[run]]#0
// CHECK:           arith.addf %[[second]], %[[run]]#1
// CHECK:         memref.store %[[all]]#0
// CHECK:         memref.store %[[all]]#1
func.func private @window(%x: memref<36x24xf32>, %w: memref<3x24x2xf32>, %o: memref<32x2xf32>) attributes {hlo.kernel = "dot"} {
  %zero = arith.constant 0.0 : f32
  linalg.fill ins(%zero : f32) outs(%o : memref<32x2xf32>)
  linalg.generic {indexing_maps = [#places, #filters, #features], iterator_types = ["parallel", "parallel", "reduction", "reduction"]} ins(%x, %w : memref<36x24xf32>, memref<3x24x2xf32>) outs(%o : memref<32x2xf32>) attrs = {xhlo.contraction} {
  ^bb(%p: f32, %q: f32, %z: f32):
    %r = arith.mulf %p, %q fastmath<reassoc,contract> : f32
    %s = arith.addf %z, %r fastmath<reassoc,contract> : f32
    linalg.yield %s : f32
  }
  func.return
}

// Columns that leave the L1 cache, and those of f64, of which eight fill a vector, are multiplied in blocks.
// CHECK-LABEL: func.func private @long(
// CHECK:         func.call @long_block
func.func private @long(%x: memref<32x4096xf32>, %y: memref<4x4096xf32>, %o: memref<32x4xf32>) attributes {hlo.kernel = "dot"} {
  %zero = arith.constant 0.0 : f32
  linalg.fill ins(%zero : f32) outs(%o : memref<32x4xf32>)
  linalg.generic {indexing_maps = [#a, #b, #c], iterator_types = ["parallel", "parallel", "reduction"]} ins(%x, %y : memref<32x4096xf32>, memref<4x4096xf32>) outs(%o : memref<32x4xf32>) attrs = {xhlo.contraction} {
  ^bb(%p: f32, %q: f32, %z: f32):
    %r = arith.mulf %p, %q fastmath<reassoc,contract> : f32
    %s = arith.addf %z, %r fastmath<reassoc,contract> : f32
    linalg.yield %s : f32
  }
  func.return
}

// CHECK-LABEL: func.func private @doubles(
// CHECK:         func.call @doubles_block
func.func private @doubles(%x: memref<128x64xf64>, %y: memref<4x64xf64>, %o: memref<128x4xf64>) attributes {hlo.kernel = "dot"} {
  %zero = arith.constant 0.0 : f64
  linalg.fill ins(%zero : f64) outs(%o : memref<128x4xf64>)
  linalg.generic {indexing_maps = [#a, #b, #c], iterator_types = ["parallel", "parallel", "reduction"]} ins(%x, %y : memref<128x64xf64>, memref<4x64xf64>) outs(%o : memref<128x4xf64>) attrs = {xhlo.contraction} {
  ^bb(%p: f64, %q: f64, %z: f64):
    %r = arith.mulf %p, %q fastmath<reassoc,contract> : f64
    %s = arith.addf %z, %r fastmath<reassoc,contract> : f64
    linalg.yield %s : f64
  }
  func.return
}

#matrix = affine_map<(n, k) -> (n, k)>
#vector = affine_map<(n, k) -> (k)>
#result = affine_map<(n, k) -> (n)>

// Four rows of a matrix by a vector, whose elements are loaded once; tasks have a multiple of four rows, and the last one a rest.
// CHECK-LABEL: func.func private @by_vector(
// CHECK:         scf.for %{{.*}} = %{{.*}} to %{{.*}} step %[[four:.*]] {
// CHECK:           %[[sums:.*]]:4 = scf.for
// CHECK-COUNT-1:     memref.load %y
// CHECK-NOT:         memref.load %y
// CHECK:             scf.yield
// CHECK-COUNT-4:   memref.store %[[sums]]#
// CHECK:         scf.for
// CHECK:           scf.for
func.func private @by_vector(%x: memref<1001x256xf32>, %y: memref<256xf32>, %o: memref<1001xf32>) attributes {hlo.kernel = "dot"} {
  %zero = arith.constant 0.0 : f32
  linalg.fill ins(%zero : f32) outs(%o : memref<1001xf32>)
  linalg.generic {indexing_maps = [#matrix, #vector, #result], iterator_types = ["parallel", "reduction"]} ins(%x, %y : memref<1001x256xf32>, memref<256xf32>) outs(%o : memref<1001xf32>) attrs = {xhlo.contraction} {
  ^bb(%p: f32, %q: f32, %z: f32):
    %r = arith.mulf %p, %q fastmath<reassoc,contract> : f32
    %s = arith.addf %z, %r fastmath<reassoc,contract> : f32
    linalg.yield %s : f32
  }
  func.return
}

// Short rows that come from beyond the caches are read one after the other, in the order of memory.
// CHECK-LABEL: func.func private @short_rows(
// CHECK-NOT:     :4 = scf.for
// CHECK:         func.return
func.func private @short_rows(%x: memref<65536x64xf32>, %y: memref<64xf32>, %o: memref<65536xf32>) attributes {hlo.kernel = "dot"} {
  %zero = arith.constant 0.0 : f32
  linalg.fill ins(%zero : f32) outs(%o : memref<65536xf32>)
  linalg.generic {indexing_maps = [#matrix, #vector, #result], iterator_types = ["parallel", "reduction"]} ins(%x, %y : memref<65536x64xf32>, memref<64xf32>) outs(%o : memref<65536xf32>) attrs = {xhlo.contraction} {
  ^bb(%p: f32, %q: f32, %z: f32):
    %r = arith.mulf %p, %q fastmath<reassoc,contract> : f32
    %s = arith.addf %z, %r fastmath<reassoc,contract> : f32
    linalg.yield %s : f32
  }
  func.return
}
