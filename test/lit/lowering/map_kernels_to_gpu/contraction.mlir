// RUN: hlo-opt %s --map-kernels-to-gpu | filecheck %s
// Contractions in tiles: on registers, on tensor cores, split along k.

#mk = affine_map<(m, n, k) -> (m, k)>
#kn = affine_map<(m, n, k) -> (k, n)>
#nk = affine_map<(m, n, k) -> (n, k)>
#mn = affine_map<(m, n, k) -> (m, n)>
#n = affine_map<(m, n) -> (n)>
#same = affine_map<(m, n) -> (m, n)>

func.func private @dot_0(%a: memref<1024x256xf32>, %b: memref<256x2048xf32>, %c: memref<1024x2048xf32>) attributes {hlo.kernel = "dot"} {
  %zero = arith.constant 0.0 : f32
  linalg.fill ins(%zero : f32) outs(%c : memref<1024x2048xf32>)
  linalg.generic {indexing_maps = [#mk, #kn, #mn], iterator_types = ["parallel", "parallel", "reduction"]} ins(%a, %b : memref<1024x256xf32>, memref<256x2048xf32>) outs(%c : memref<1024x2048xf32>) attrs = {xhlo.contraction, gpu.plan = #gpu.tile<128x128x8, thread = 8x8, raster = 8, blocks = 2>} {
  ^bb0(%x: f32, %y: f32, %sum: f32):
    %p = arith.mulf %x, %y fastmath<reassoc,contract> : f32
    %s = arith.addf %sum, %p fastmath<reassoc,contract> : f32
    linalg.yield %s : f32
  }
  func.return
}
func.func private @dot_1(%a: memref<512x256xf16>, %b: memref<1024x256xf16>, %bias: memref<1024xf16>, %c: memref<512x1024xf16>) attributes {hlo.kernel = "dot"} {
  %zero = arith.constant 0.0 : f32
  %sums = memref.alloc() : memref<512x1024xf32>
  linalg.fill ins(%zero : f32) outs(%sums : memref<512x1024xf32>)
  linalg.generic {indexing_maps = [#mk, #nk, #mn], iterator_types = ["parallel", "parallel", "reduction"]} ins(%a, %b : memref<512x256xf16>, memref<1024x256xf16>) outs(%sums : memref<512x1024xf32>) attrs = {xhlo.contraction, gpu.plan = #gpu.tensor_tile<128x64x64, warp = 32x32, stages = 4, copies, raster = 4, blocks = 2>} {
  ^bb0(%x: f16, %y: f16, %sum: f32):
    %l = arith.extf %x : f16 to f32
    %r = arith.extf %y : f16 to f32
    %p = arith.mulf %l, %r fastmath<reassoc,contract> : f32
    %s = arith.addf %sum, %p fastmath<reassoc,contract> : f32
    linalg.yield %s : f32
  }
  linalg.generic {indexing_maps = [#same, #n, #same], iterator_types = ["parallel", "parallel"]} ins(%sums, %bias : memref<512x1024xf32>, memref<1024xf16>) outs(%c : memref<512x1024xf16>) attrs = {gpu.joined} {
  ^bb0(%x: f32, %y: f16, %old: f16):
    %r = arith.extf %y : f16 to f32
    %s = arith.addf %x, %r : f32
    %t = math.tanh %s : f32
    %narrow = arith.truncf %t : f32 to f16
    linalg.yield %narrow : f16
  }
  func.return
}
func.func private @dot_2(%a: memref<32x8192xf32>, %c: memref<32x32xf32>) attributes {hlo.kernel = "dot"} {
  %zero = arith.constant 0.0 : f32
  linalg.fill ins(%zero : f32) outs(%c : memref<32x32xf32>)
  linalg.generic {indexing_maps = [#mk, #nk, #mn], iterator_types = ["parallel", "parallel", "reduction"]} ins(%a, %a : memref<32x8192xf32>, memref<32x8192xf32>) outs(%c : memref<32x32xf32>) attrs = {xhlo.contraction, gpu.plan = #gpu.tile<64x64x16, thread = 4x4, splits = 64, blocks = 2>} {
  ^bb0(%x: f32, %y: f32, %sum: f32):
    %p = arith.mulf %x, %y fastmath<reassoc,contract> : f32
    %s = arith.addf %sum, %p fastmath<reassoc,contract> : f32
    linalg.yield %s : f32
  }
  func.return
}

// A product whose k is long and whose tiles are few is split; a second launch adds the parts up.

// CHECK-LABEL: func.func private @dot_2(
// CHECK:         %[[PARTS:.*]] = memref.alloc() : memref<64x1x32x32xf32>
// CHECK:         gpu.launch_func @kernels::@dot_2 {{.*}} args({{.*}}%[[PARTS]] : {{.*}})
// CHECK:         gpu.launch_func @kernels::@dot_2_1 {{.*}} args({{.*}}%[[PARTS]] : {{.*}})

// Exact f32: two tiles of each factor in shared memory, sums in vectors of registers, the next tiles on their way.

// CHECK-LABEL: gpu.func @dot_0(
// CHECK-SAME:    workgroup(%[[SHARED:.*]]: memref<{{[0-9]+}}xi8, #gpu.address_space<workgroup>>) kernel
// CHECK-SAME:    nvvm.minctasm = 2 : i32
// CHECK:         memref.view %[[SHARED]]{{.*}} to memref<2x8x132xf32, #gpu.address_space<workgroup>>
// CHECK:         vector.load {{.*}} vector<4xf32>
// CHECK:         gpu.barrier
// CHECK:         scf.for
// CHECK:           %[[NEXT:.*]] = vector.load {{.*}} : memref<262144xf32>, vector<4xf32>
// CHECK:           scf.for
// CHECK:             vector.load {{.*}} : memref<2x8x132xf32, #gpu.address_space<workgroup>>, vector<4xf32>
// CHECK:             vector.fma
// CHECK:           } {xhlo.unroll = 0 : i64}
// CHECK:           memref.store {{.*}} : memref<2x8x132xf32, #gpu.address_space<workgroup>>
// CHECK:           gpu.barrier

// f16: fragments and tensor cores; the sums are stored through shared memory, with bias and tanh applied.

// CHECK-LABEL: gpu.func @dot_1(
// CHECK:          nvgpu.device_async_copy {{.*}}, 8 {bypassL1} : memref<131072xf16> to
// CHECK:          nvgpu.device_async_create_group
// CHECK:          nvgpu.device_async_wait
// CHECK:         gpu.barrier
// CHECK:         scf.for
// CHECK:           nvgpu.ldmatrix
// CHECK:            nvgpu.mma.sync({{.*}}) {mmaShape = [16 : i64, 8 : i64, 16 : i64]}
// CHECK:            nvgpu.device_async_wait
// CHECK:           gpu.barrier
// CHECK:         vector.store {{.*}} vector<2xf32>
// CHECK:         gpu.barrier
// CHECK:         scf.for
// CHECK:           math.tanh
// CHECK:           memref.store {{.*}} : memref<512x1024xf16>

// CHECK-LABEL: gpu.func @dot_2_1(
// CHECK:         scf.for
// CHECK:           arith.addf
