// RUN: hlo-opt %s --map-kernels-to-gpu | filecheck %s
// Tiles of 64 x 64 elements in shared memory, lines 4 bytes longer than that.

#ij = affine_map<(i, j) -> (i, j)>
#ji = affine_map<(i, j) -> (j, i)>
#bij = affine_map<(b, i, j) -> (b, i, j)>
#bji = affine_map<(b, i, j) -> (b, j, i)>

// CHECK-LABEL: gpu.func @whole_tiles(%a: memref<4096x2048xf32>, %c: memref<2048x4096xf32>, %o: memref<2048x4096xf32>)
// CHECK-SAME:    workgroup(%{{.*}}: memref<64x65xf32, #gpu.address_space<workgroup>>)
// CHECK-SAME:    known_grid_size = array<i32: 2048, 1, 1>
// CHECK-NOT:     scf.if
// CHECK:         scf.for %[[L:[0-9]+]] = %{{.*}} to
// CHECK-NEXT:      %[[X:.*]] = memref.load %[[A:.*]][%[[L]], %{{.*}}] : memref<64x1xf32, strided<[2048, 1], offset: ?>>
// CHECK-NEXT:      memref.store %[[X]], %{{.*}}[%[[L]], %{{.*}}] : memref<64x1xf32, strided<[65, 1], offset: ?>, #gpu.address_space<workgroup>>
// CHECK-NEXT:    } {xhlo.unroll = 0 : i64}
// CHECK-NEXT:    gpu.barrier
// CHECK:         scf.for %[[M:[0-9]+]] = %{{.*}} to
// CHECK:           memref.load %{{.*}} : memref<64x1xf32, strided<[1, 65], offset: ?>, #gpu.address_space<workgroup>>
// CHECK:           memref.load %{{.*}} : memref<64x1xf32, strided<[4096, 1], offset: ?>>
// CHECK:           arith.addf
// CHECK:           memref.store %{{.*}} : memref<64x1xf32, strided<[4096, 1], offset: ?>>
// CHECK-NEXT:    } {xhlo.unroll = 0 : i64}
// CHECK-NEXT:    gpu.return
func.func private @whole_tiles(%a: memref<4096x2048xf32>, %c: memref<2048x4096xf32>, %o: memref<2048x4096xf32>) attributes {hlo.kernel = "loop"} {
  linalg.generic {indexing_maps = [#ji, #ij, #ij], iterator_types = ["parallel", "parallel"]} ins(%a, %c : memref<4096x2048xf32>, memref<2048x4096xf32>) outs(%o : memref<2048x4096xf32>) attrs = {gpu.plan = #gpu.transpose<64x64, loop = 0, inputs = [0]>} {
  ^bb(%x: f32, %y: f32, %z: f32):
    %s = arith.addf %x, %y : f32
    linalg.yield %s : f32
  }
  func.return
}

// At the edges, elements of the last line are loaded again, and only stores have a condition.
// CHECK-LABEL: gpu.func @ragged
// CHECK:         scf.if %{{.*}} {
// CHECK:           gpu.barrier
// CHECK:         } else {
// CHECK:           arith.minsi
// CHECK:           gpu.barrier
// CHECK:           scf.if %{{.*}} {
// CHECK-NEXT:        memref.store
// CHECK-NEXT:      }
func.func private @ragged(%a: memref<1000x777xf32>, %o: memref<777x1000xf32>) attributes {hlo.kernel = "loop"} {
  linalg.generic {indexing_maps = [#ji, #ij], iterator_types = ["parallel", "parallel"]} ins(%a : memref<1000x777xf32>) outs(%o : memref<777x1000xf32>) attrs = {gpu.plan = #gpu.transpose<64x64, loop = 0, inputs = [0]>} {
  ^bb(%x: f32, %z: f32):
    linalg.yield %x : f32
  }
  func.return
}

// Two elements of 16 bits make the 4 bytes that a thread moves at once.
// CHECK-LABEL: gpu.func @narrow
// CHECK-SAME:    workgroup(%{{.*}}: memref<64x66xbf16, #gpu.address_space<workgroup>>)
// CHECK:         vector.load %{{.*}} {alignment = 4 : i64} : memref<64x2xbf16, {{.*}}, vector<2xbf16>
// CHECK:         vector.store %{{.*}} {alignment = 4 : i64} : memref<64x2xbf16, {{.*}}workgroup>>, vector<2xbf16>
// CHECK:         gpu.barrier
// CHECK:         vector.store %{{.*}} {alignment = 4 : i64} : memref<64x2xbf16, {{.*}}, vector<2xbf16>
func.func private @narrow(%a: memref<8x1024x2048xbf16>, %o: memref<8x2048x1024xbf16>) attributes {hlo.kernel = "loop"} {
  linalg.generic {indexing_maps = [#bji, #bij], iterator_types = ["parallel", "parallel", "parallel"]} ins(%a : memref<8x1024x2048xbf16>) outs(%o : memref<8x2048x1024xbf16>) attrs = {gpu.plan = #gpu.transpose<64x64, loop = 1, inputs = [0]>} {
  ^bb(%x: bf16, %z: bf16):
    linalg.yield %x : bf16
  }
  func.return
}

// Lines of three elements do not make a tile.
// CHECK-LABEL: gpu.func @thin
// CHECK-NOT:     gpu.barrier
// CHECK:         gpu.return
func.func private @thin(%a: memref<3x4096xf32>, %o: memref<4096x3xf32>) attributes {hlo.kernel = "loop"} {
  linalg.generic {indexing_maps = [#ji, #ij], iterator_types = ["parallel", "parallel"]} ins(%a : memref<3x4096xf32>) outs(%o : memref<4096x3xf32>) attrs = {gpu.plan = #gpu.elementwise} {
  ^bb(%x: f32, %z: f32):
    linalg.yield %x : f32
  }
  func.return
}

// Eight channels: a tile is 8 elements along them, 256 along the others.
// CHECK-LABEL: gpu.func @channels
// CHECK-SAME:    workgroup(%{{.*}}: memref<256x9xf32, #gpu.address_space<workgroup>>)
// CHECK-SAME:    known_grid_size = array<i32: 512, 1, 1>
func.func private @channels(%a: memref<32x4096x8xf32>, %o: memref<32x8x4096xf32>) attributes {hlo.kernel = "loop"} {
  linalg.generic {indexing_maps = [#bji, #bij], iterator_types = ["parallel", "parallel", "parallel"]} ins(%a : memref<32x4096x8xf32>) outs(%o : memref<32x8x4096xf32>) attrs = {gpu.plan = #gpu.transpose<8x256, loop = 1, inputs = [0]>} {
  ^bb(%x: f32, %z: f32):
    linalg.yield %x : f32
  }
  func.return
}
