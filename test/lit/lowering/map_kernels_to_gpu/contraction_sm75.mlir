// RUN: hlo-opt %s "--pass-pipeline=map-kernels-to-gpu{chip=sm_75}" | filecheck %s
// Chips before sm_80: tiles go through registers, a multiplication takes 8 products of each sum.

#mk = affine_map<(m, n, k) -> (m, k)>
#nk = affine_map<(m, n, k) -> (n, k)>
#mn = affine_map<(m, n, k) -> (m, n)>
#n = affine_map<(m, n) -> (n)>
#same = affine_map<(m, n) -> (m, n)>

func.func private @dot_1(%a: memref<512x256xf16>, %b: memref<1024x256xf16>, %bias: memref<1024xf16>, %c: memref<512x1024xf16>) attributes {hlo.kernel = "dot"} {
  %zero = arith.constant 0.0 : f32
  %sums = memref.alloc() : memref<512x1024xf32>
  linalg.fill ins(%zero : f32) outs(%sums : memref<512x1024xf32>)
  linalg.generic {indexing_maps = [#mk, #nk, #mn], iterator_types = ["parallel", "parallel", "reduction"]} ins(%a, %b : memref<512x256xf16>, memref<1024x256xf16>) outs(%sums : memref<512x1024xf32>) attrs = {xhlo.contraction, gpu.plan = #gpu.tensor_tile<128x128x32, warp = 64x32, raster = 4>} {
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

// CHECK-LABEL: gpu.func @dot_1(
// CHECK-NOT:      nvgpu.device_async
// CHECK:         gpu.barrier
// CHECK:         scf.for
// CHECK:           nvgpu.ldmatrix
// CHECK:            nvgpu.mma.sync({{.*}}) {mmaShape = [16 : i64, 8 : i64, 8 : i64]}
// CHECK:           gpu.barrier
// CHECK:         vector.store {{.*}} vector<2xf32>
// CHECK:         gpu.barrier
// CHECK:         scf.for
// CHECK:           math.tanh
// CHECK:           memref.store {{.*}} : memref<512x1024xf16>
