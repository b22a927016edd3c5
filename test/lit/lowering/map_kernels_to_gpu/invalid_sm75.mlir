// RUN: hlo-opt %s "--pass-pipeline=map-kernels-to-gpu{chip=sm_75}" --split-input-file --verify-diagnostics
// Plans that an older chip cannot run.

#mk = affine_map<(m, n, k) -> (m, k)>
#nk = affine_map<(m, n, k) -> (n, k)>
#mn = affine_map<(m, n, k) -> (m, n)>

func.func private @k(%a: memref<512x256xf16>, %b: memref<512x256xf16>, %c: memref<512x512xf32>) attributes {hlo.kernel = "dot"} {
  %zero = arith.constant 0.0 : f32
  linalg.fill ins(%zero : f32) outs(%c : memref<512x512xf32>)
  // expected-error@+1 {{sm_75 has no asynchronous copies}}
  linalg.generic {indexing_maps = [#mk, #nk, #mn], iterator_types = ["parallel", "parallel", "reduction"]} ins(%a, %b : memref<512x256xf16>, memref<512x256xf16>) outs(%c : memref<512x512xf32>) attrs = {xhlo.contraction, gpu.plan = #gpu.tensor_tile<64x64x64, warp = 32x32, copies>} {
  ^bb0(%x: f16, %y: f16, %sum: f32):
    %l = arith.extf %x : f16 to f32
    %r = arith.extf %y : f16 to f32
    %p = arith.mulf %l, %r fastmath<reassoc,contract> : f32
    %s = arith.addf %sum, %p fastmath<reassoc,contract> : f32
    linalg.yield %s : f32
  }
  func.return
}

// -----

#mk = affine_map<(m, n, k) -> (m, k)>
#nk = affine_map<(m, n, k) -> (n, k)>
#mn = affine_map<(m, n, k) -> (m, n)>

func.func private @k(%a: memref<512x256xbf16>, %b: memref<512x256xbf16>, %c: memref<512x512xf32>) attributes {hlo.kernel = "dot"} {
  %zero = arith.constant 0.0 : f32
  linalg.fill ins(%zero : f32) outs(%c : memref<512x512xf32>)
  // expected-error@+1 {{sm_75 has no tensor cores for these types}}
  linalg.generic {indexing_maps = [#mk, #nk, #mn], iterator_types = ["parallel", "parallel", "reduction"]} ins(%a, %b : memref<512x256xbf16>, memref<512x256xbf16>) outs(%c : memref<512x512xf32>) attrs = {xhlo.contraction, gpu.plan = #gpu.tensor_tile<64x64x64, warp = 32x32>} {
  ^bb0(%x: bf16, %y: bf16, %sum: f32):
    %l = arith.extf %x : bf16 to f32
    %r = arith.extf %y : bf16 to f32
    %p = arith.mulf %l, %r fastmath<reassoc,contract> : f32
    %s = arith.addf %sum, %p fastmath<reassoc,contract> : f32
    linalg.yield %s : f32
  }
  func.return
}

// -----

#mk = affine_map<(m, n, k) -> (m, k)>
#nk = affine_map<(m, n, k) -> (n, k)>
#mn = affine_map<(m, n, k) -> (m, n)>

func.func private @k(%a: memref<512x256xf32>, %b: memref<512x256xf32>, %c: memref<512x512xf32>) attributes {hlo.kernel = "dot"} {
  %zero = arith.constant 0.0 : f32
  linalg.fill ins(%zero : f32) outs(%c : memref<512x512xf32>)
  // expected-error@+1 {{67584 bytes of shared memory; a block of sm_75 has 65536}}
  linalg.generic {indexing_maps = [#mk, #nk, #mn], iterator_types = ["parallel", "parallel", "reduction"]} ins(%a, %b : memref<512x256xf32>, memref<512x256xf32>) outs(%c : memref<512x512xf32>) attrs = {xhlo.contraction, gpu.plan = #gpu.tile<128x128x32, thread = 8x8>} {
  ^bb0(%x: f32, %y: f32, %sum: f32):
    %p = arith.mulf %x, %y fastmath<reassoc,contract> : f32
    %s = arith.addf %sum, %p fastmath<reassoc,contract> : f32
    linalg.yield %s : f32
  }
  func.return
}
