// RUN: hlo-opt %s --map-kernels-to-gpu | filecheck %s
// Rows that are products, and a product of them: one launch, in which neither scores nor weights are a buffer.

#mk = affine_map<(b, m, n, k) -> (b, m, k)>
#nk = affine_map<(b, m, n, k) -> (b, n, k)>
#kn = affine_map<(b, m, n, k) -> (b, k, n)>
#out = affine_map<(b, m, n, k) -> (b, m, n)>
#wide = affine_map<(b, m, n) -> (b, m, n)>
#row = affine_map<(b, m, n) -> (b, m)>

// A warp for each 16 of 64 rows; tiles of 32 keys and values are copied one ahead. Two passes: the first one only
// computes scores for the maximum, with 16 products of 16x8 by 4 steps of depth; the second one multiplies weights too.
// CHECK-LABEL: func.func private @tensor
// CHECK-NOT:     memref.alloc
// CHECK:         gpu.launch_func @kernels::@tensor blocks in (%{{.*}}, %{{.*}}, %{{.*}}) threads in (%{{.*}}, %{{.*}}, %{{.*}}) args(%q : memref<2x256x64xf16>, %k : memref<2x256x64xf16>, %o : memref<2x256x64xf32>, %v : memref<2x256x64xf16>)
// CHECK-NEXT:    func.return
func.func private @tensor(%q: memref<2x256x64xf16>, %k: memref<2x256x64xf16>, %v: memref<2x256x64xf16>, %o: memref<2x256x64xf32>) attributes {hlo.kernel = "row", hlo.row_dims = 2 : i64} {
  %zero = arith.constant 0.0 : f32
  %lowest = arith.constant 0xFF800000 : f32
  %s = memref.alloc() : memref<2x256x256xf32>
  linalg.fill ins(%zero : f32) outs(%s : memref<2x256x256xf32>)
  linalg.generic {indexing_maps = [#mk, #nk, #out], iterator_types = ["parallel", "parallel", "parallel", "reduction"]} ins(%q, %k : memref<2x256x64xf16>, memref<2x256x64xf16>) outs(%s : memref<2x256x256xf32>) attrs = {xhlo.contraction, gpu.plan = #gpu.streamed_rows<64x32, threads = 128, tensor, stages = 2, copies>} {
  ^bb0(%x: f16, %y: f16, %sum: f32):
    %xw = arith.extf %x : f16 to f32
    %yw = arith.extf %y : f16 to f32
    %z = arith.mulf %xw, %yw fastmath<reassoc,contract> : f32
    %t = arith.addf %sum, %z fastmath<reassoc,contract> : f32
    linalg.yield %t : f32
  }
  %max = memref.alloc() : memref<2x256xf32>
  linalg.fill ins(%lowest : f32) outs(%max : memref<2x256xf32>)
  linalg.generic {indexing_maps = [#wide, #row], iterator_types = ["parallel", "parallel", "reduction"]} ins(%s : memref<2x256x256xf32>) outs(%max : memref<2x256xf32>) attrs = {gpu.joined} {
  ^bb0(%x: f32, %m: f32):
    %t = arith.maximumf %m, %x : f32
    linalg.yield %t : f32
  }
  %w = memref.alloc() : memref<2x256x256xf16>
  linalg.generic {indexing_maps = [#wide, #row, #wide], iterator_types = ["parallel", "parallel", "parallel"]} ins(%s, %max : memref<2x256x256xf32>, memref<2x256xf32>) outs(%w : memref<2x256x256xf16>) attrs = {gpu.joined} {
  ^bb0(%x: f32, %m: f32, %old: f16):
    %y = arith.subf %x, %m : f32
    %z = math.exp %y : f32
    %p = arith.truncf %z : f32 to f16
    linalg.yield %p : f16
  }
  linalg.fill ins(%zero : f32) outs(%o : memref<2x256x64xf32>)
  linalg.generic {indexing_maps = [#mk, #kn, #out], iterator_types = ["parallel", "parallel", "parallel", "reduction"]} ins(%w, %v : memref<2x256x256xf16>, memref<2x256x64xf16>) outs(%o : memref<2x256x64xf32>) attrs = {xhlo.contraction, gpu.joined} {
  ^bb0(%x: f16, %y: f16, %sum: f32):
    %xw = arith.extf %x : f16 to f32
    %yw = arith.extf %y : f16 to f32
    %z = arith.mulf %xw, %yw fastmath<reassoc,contract> : f32
    %t = arith.addf %sum, %z fastmath<reassoc,contract> : f32
    linalg.yield %t : f32
  }
  func.return
}

// Sixteen threads share four rows, whose weights go through shared memory; elements beyond the 100th weigh nothing.
// CHECK-LABEL: func.func private @plain
// CHECK-NOT:     memref.alloc
// CHECK:         gpu.launch_func @kernels::@plain
// CHECK-NEXT:    func.return
func.func private @plain(%q: memref<2x100x24xf32>, %k: memref<2x100x24xf32>, %v: memref<2x100x24xf32>, %o: memref<2x100x24xf32>) attributes {hlo.kernel = "row", hlo.row_dims = 2 : i64} {
  %zero = arith.constant 0.0 : f32
  %lowest = arith.constant 0xFF800000 : f32
  %s = memref.alloc() : memref<2x100x100xf32>
  linalg.fill ins(%zero : f32) outs(%s : memref<2x100x100xf32>)
  linalg.generic {indexing_maps = [#mk, #nk, #out], iterator_types = ["parallel", "parallel", "parallel", "reduction"]} ins(%q, %k : memref<2x100x24xf32>, memref<2x100x24xf32>) outs(%s : memref<2x100x100xf32>) attrs = {xhlo.contraction, gpu.plan = #gpu.streamed_rows<32x32, threads = 128>} {
  ^bb0(%x: f32, %y: f32, %sum: f32):
    %z = arith.mulf %x, %y fastmath<reassoc,contract> : f32
    %t = arith.addf %sum, %z fastmath<reassoc,contract> : f32
    linalg.yield %t : f32
  }
  %max = memref.alloc() : memref<2x100xf32>
  linalg.fill ins(%lowest : f32) outs(%max : memref<2x100xf32>)
  linalg.generic {indexing_maps = [#wide, #row], iterator_types = ["parallel", "parallel", "reduction"]} ins(%s : memref<2x100x100xf32>) outs(%max : memref<2x100xf32>) attrs = {gpu.joined} {
  ^bb0(%x: f32, %m: f32):
    %t = arith.maximumf %m, %x : f32
    linalg.yield %t : f32
  }
  %w = memref.alloc() : memref<2x100x100xf32>
  linalg.generic {indexing_maps = [#wide, #row, #wide], iterator_types = ["parallel", "parallel", "parallel"]} ins(%s, %max : memref<2x100x100xf32>, memref<2x100xf32>) outs(%w : memref<2x100x100xf32>) attrs = {gpu.joined} {
  ^bb0(%x: f32, %m: f32, %old: f32):
    %y = arith.subf %x, %m : f32
    %z = math.exp %y : f32
    linalg.yield %z : f32
  }
  linalg.fill ins(%zero : f32) outs(%o : memref<2x100x24xf32>)
  linalg.generic {indexing_maps = [#mk, #kn, #out], iterator_types = ["parallel", "parallel", "parallel", "reduction"]} ins(%w, %v : memref<2x100x100xf32>, memref<2x100x24xf32>) outs(%o : memref<2x100x24xf32>) attrs = {xhlo.contraction, gpu.joined} {
  ^bb0(%x: f32, %y: f32, %sum: f32):
    %z = arith.mulf %x, %y fastmath<reassoc,contract> : f32
    %t = arith.addf %sum, %z fastmath<reassoc,contract> : f32
    linalg.yield %t : f32
  }
  func.return
}

// CHECK-LABEL: gpu.func @tensor
// CHECK-SAME:    known_block_size = array<i32: 128, 1, 1>, known_grid_size = array<i32: 8, 1, 1>
// CHECK:         nvgpu.device_async_copy
// CHECK:         scf.for
// CHECK:           nvgpu.device_async_wait
// CHECK:           gpu.barrier
// CHECK:           nvgpu.ldmatrix
// CHECK:           nvgpu.mma.sync
// CHECK:           vector.store %{{.*}}, %[[SCORES:.*]][%{{.*}}, %{{.*}}] : memref<8x2xf32>, vector<2x2xf32>
// CHECK:           memref.load %[[SCORES]]
// CHECK:           arith.maximumf
// CHECK:         gpu.shuffle xor
// CHECK:         scf.for
// CHECK:           nvgpu.mma.sync
// CHECK:           math.exp
// CHECK:           vector.load %{{.*}}[%{{.*}}, %{{.*}}] : memref<8x2xf16>, vector<4x2xf16>
// CHECK:           nvgpu.mma.sync
// CHECK-LABEL: gpu.func @plain
// CHECK-SAME:    known_block_size = array<i32: 128, 1, 1>, known_grid_size = array<i32: 8, 1, 1>
// CHECK-NOT:     nvgpu
// CHECK:         arith.maximumf
// CHECK:         math.exp
