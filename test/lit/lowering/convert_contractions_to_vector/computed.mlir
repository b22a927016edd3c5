// RUN: hlo-opt %s --convert-contractions-to-vector | filecheck %s

// A factor that an elementwise operation computes is computed piece by piece, where it is packed from.
// CHECK-LABEL: func.func private @along_k
// CHECK-SAME:    %[[X:.*]]: memref<256x300xf32>, %[[W:.*]]: memref<300x192xf32>
// CHECK-NOT:     memref<256x300xf32>
// CHECK:         %[[PIECE:.*]] = memref.alloca() : memref<[[ROWS:[0-9]+]]x256xf32>
// CHECK:         memref.load %[[X]]
// CHECK:         math.tanh
// CHECK:         memref.store {{.*}}, %[[PIECE]]
// CHECK:         func.call @along_k_pack(%[[PIECE]],
// CHECK:         func.call @along_k_pack{{.*}}(%[[W]],
func.func private @along_k(%x: memref<256x300xf32>, %w: memref<300x192xf32>, %c: memref<256x192xf32>) attributes {hlo.kernel = "dot"} {
  %zero = arith.constant 0.0 : f32
  %y = memref.alloc() : memref<256x300xf32>
  linalg.generic {indexing_maps = [affine_map<(m, k) -> (m, k)>, affine_map<(m, k) -> (m, k)>], iterator_types = ["parallel", "parallel"]} ins(%x : memref<256x300xf32>) outs(%y : memref<256x300xf32>) {
  ^bb0(%0: f32, %1: f32):
    %2 = math.tanh %0 : f32
    linalg.yield %2 : f32
  }
  linalg.fill ins(%zero : f32) outs(%c : memref<256x192xf32>)
  linalg.generic {indexing_maps = [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (k, n)>, affine_map<(m, n, k) -> (m, n)>], iterator_types = ["parallel", "parallel", "reduction"]} ins(%y, %w : memref<256x300xf32>, memref<300x192xf32>) outs(%c : memref<256x192xf32>) attrs = {xhlo.contraction} {
  ^bb0(%0: f32, %1: f32, %2: f32):
    %3 = arith.mulf %0, %1 : f32
    %4 = arith.addf %2, %3 : f32
    linalg.yield %4 : f32
  }
  func.return
}

// Rows of a factor that is packed across are computed for several panels at once.
// CHECK-LABEL: func.func private @across
// CHECK-SAME:    %[[X:.*]]: memref<300x256xf32>, %[[R:.*]]: memref<300xf32>, %[[W:.*]]: memref<300x192xf32>
// CHECK:         %[[PIECE:.*]] = memref.alloca() : memref<16x[[COLUMNS:[0-9]+]]xf32>
// CHECK:         memref.load %[[R]]
// CHECK:         memref.load %[[X]]
// CHECK:         arith.divf
// CHECK:         memref.store {{.*}}, %[[PIECE]]
// CHECK:         func.call @across_pack{{.*}}(%[[PIECE]],
func.func private @across(%x: memref<300x256xf32>, %r: memref<300xf32>, %w: memref<300x192xf32>, %c: memref<256x192xf32>) attributes {hlo.kernel = "dot"} {
  %zero = arith.constant 0.0 : f32
  %y = memref.alloc() : memref<300x256xf32>
  linalg.generic {indexing_maps = [affine_map<(k, m) -> (k, m)>, affine_map<(k, m) -> (k)>, affine_map<(k, m) -> (k, m)>], iterator_types = ["parallel", "parallel"]} ins(%x, %r : memref<300x256xf32>, memref<300xf32>) outs(%y : memref<300x256xf32>) {
  ^bb0(%0: f32, %1: f32, %2: f32):
    %3 = arith.divf %0, %1 : f32
    linalg.yield %3 : f32
  }
  linalg.fill ins(%zero : f32) outs(%c : memref<256x192xf32>)
  linalg.generic {indexing_maps = [affine_map<(m, n, k) -> (k, m)>, affine_map<(m, n, k) -> (k, n)>, affine_map<(m, n, k) -> (m, n)>], iterator_types = ["parallel", "parallel", "reduction"]} ins(%y, %w : memref<300x256xf32>, memref<300x192xf32>) outs(%c : memref<256x192xf32>) attrs = {xhlo.contraction} {
  ^bb0(%0: f32, %1: f32, %2: f32):
    %3 = arith.mulf %0, %1 : f32
    %4 = arith.addf %2, %3 : f32
    linalg.yield %4 : f32
  }
  func.return
}

// One whose source may be written by the product's epilogue, in the same memory, is computed before the product.
// CHECK-LABEL: func.func private @shared
// CHECK:         memref.alloc() : memref<256x192xf32>
// CHECK:         linalg.generic
// CHECK:           math.tanh
func.func private @shared(%x: memref<256x192xf32>, %w: memref<192x192xf32>, %c: memref<256x192xf32>) attributes {hlo.kernel = "dot", xhlo.shared_buffers = array<i64: 0, 2>} {
  %zero = arith.constant 0.0 : f32
  %y = memref.alloc() : memref<256x192xf32>
  linalg.generic {indexing_maps = [affine_map<(m, k) -> (m, k)>, affine_map<(m, k) -> (m, k)>], iterator_types = ["parallel", "parallel"]} ins(%x : memref<256x192xf32>) outs(%y : memref<256x192xf32>) {
  ^bb0(%0: f32, %1: f32):
    %2 = math.tanh %0 : f32
    linalg.yield %2 : f32
  }
  linalg.fill ins(%zero : f32) outs(%c : memref<256x192xf32>)
  linalg.generic {indexing_maps = [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (k, n)>, affine_map<(m, n, k) -> (m, n)>], iterator_types = ["parallel", "parallel", "reduction"]} ins(%y, %w : memref<256x192xf32>, memref<192x192xf32>) outs(%c : memref<256x192xf32>) attrs = {xhlo.contraction} {
  ^bb0(%0: f32, %1: f32, %2: f32):
    %3 = arith.mulf %0, %1 : f32
    %4 = arith.addf %2, %3 : f32
    linalg.yield %4 : f32
  }
  func.return
}
