// RUN: hlo-opt %s --map-kernels-to-gpu --split-input-file --verify-diagnostics
// Plans that do not fit their operation or the chip: contractions.

// Splits that have nothing to do, sums that have no registers, tiles narrower than a thread's vectors.

#mk = affine_map<(m, n, k) -> (m, k)>
#nk = affine_map<(m, n, k) -> (n, k)>
#mn = affine_map<(m, n, k) -> (m, n)>

func.func private @k(%a: memref<512x256xf32>, %b: memref<512x256xf32>, %c: memref<512x512xf32>) attributes {hlo.kernel = "dot"} {
  %zero = arith.constant 0.0 : f32
  linalg.fill ins(%zero : f32) outs(%c : memref<512x512xf32>)
  // expected-error@+1 {{32 splits of 16 products are more than the 256 there are}}
  linalg.generic {indexing_maps = [#mk, #nk, #mn], iterator_types = ["parallel", "parallel", "reduction"]} ins(%a, %b : memref<512x256xf32>, memref<512x256xf32>) outs(%c : memref<512x512xf32>) attrs = {xhlo.contraction, gpu.plan = #gpu.tile<64x64x16, thread = 4x4, splits = 32>} {
  ^bb0(%x: f32, %y: f32, %sum: f32):
    %p = arith.mulf %x, %y fastmath<reassoc,contract> : f32
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
  // expected-error@+1 {{256 registers of a thread for its sums; the limit is 255}}
  linalg.generic {indexing_maps = [#mk, #nk, #mn], iterator_types = ["parallel", "parallel", "reduction"]} ins(%a, %b : memref<512x256xf32>, memref<512x256xf32>) outs(%c : memref<512x512xf32>) attrs = {xhlo.contraction, gpu.plan = #gpu.tile<128x128x8, thread = 16x16>} {
  ^bb0(%x: f32, %y: f32, %sum: f32):
    %p = arith.mulf %x, %y fastmath<reassoc,contract> : f32
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
  // expected-error@+1 {{a thread has 4 rows and columns at least}}
  linalg.generic {indexing_maps = [#mk, #nk, #mn], iterator_types = ["parallel", "parallel", "reduction"]} ins(%a, %b : memref<512x256xf32>, memref<512x256xf32>) outs(%c : memref<512x512xf32>) attrs = {xhlo.contraction, gpu.plan = #gpu.tile<64x64x16, thread = 2x4>} {
  ^bb0(%x: f32, %y: f32, %sum: f32):
    %p = arith.mulf %x, %y fastmath<reassoc,contract> : f32
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
  // expected-error@+1 {{lines of 2 elements are shorter than a vector of 4}}
  linalg.generic {indexing_maps = [#mk, #nk, #mn], iterator_types = ["parallel", "parallel", "reduction"]} ins(%a, %b : memref<512x256xf32>, memref<512x256xf32>) outs(%c : memref<512x512xf32>) attrs = {xhlo.contraction, gpu.plan = #gpu.tile<256x16x2, thread = 8x8>} {
  ^bb0(%x: f32, %y: f32, %sum: f32):
    %p = arith.mulf %x, %y fastmath<reassoc,contract> : f32
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
  // expected-error@+1 {{532480 bytes of shared memory; a block of sm_90 has 232448}}
  linalg.generic {indexing_maps = [#mk, #nk, #mn], iterator_types = ["parallel", "parallel", "reduction"]} ins(%a, %b : memref<512x256xf32>, memref<512x256xf32>) outs(%c : memref<512x512xf32>) attrs = {xhlo.contraction, gpu.plan = #gpu.tile<256x256x128, thread = 16x8>} {
  ^bb0(%x: f32, %y: f32, %sum: f32):
    %p = arith.mulf %x, %y fastmath<reassoc,contract> : f32
    %s = arith.addf %sum, %p fastmath<reassoc,contract> : f32
    linalg.yield %s : f32
  }
  func.return
}

// -----

// Tensor cores: the types, the depth of a multiplication, asynchronous copies.

#mk = affine_map<(m, n, k) -> (m, k)>
#nk = affine_map<(m, n, k) -> (n, k)>
#mn = affine_map<(m, n, k) -> (m, n)>

func.func private @k(%a: memref<512x256xf32>, %b: memref<512x256xf32>, %c: memref<512x512xf32>) attributes {hlo.kernel = "dot"} {
  %zero = arith.constant 0.0 : f32
  linalg.fill ins(%zero : f32) outs(%c : memref<512x512xf32>)
  // expected-error@+1 {{sm_90 has no tensor cores for these types, or the program does not allow tf32}}
  linalg.generic {indexing_maps = [#mk, #nk, #mn], iterator_types = ["parallel", "parallel", "reduction"]} ins(%a, %b : memref<512x256xf32>, memref<512x256xf32>) outs(%c : memref<512x512xf32>) attrs = {xhlo.contraction, gpu.plan = #gpu.tensor_tile<64x64x64, warp = 32x32>} {
  ^bb0(%x: f32, %y: f32, %sum: f32):
    %p = arith.mulf %x, %y fastmath<reassoc,contract> : f32
    %s = arith.addf %sum, %p fastmath<reassoc,contract> : f32
    linalg.yield %s : f32
  }
  func.return
}

// -----

#mk = affine_map<(m, n, k) -> (m, k)>
#nk = affine_map<(m, n, k) -> (n, k)>
#mn = affine_map<(m, n, k) -> (m, n)>

func.func private @k(%a: memref<512x256xf16>, %b: memref<512x256xf16>, %c: memref<512x512xf32>) attributes {hlo.kernel = "dot"} {
  %zero = arith.constant 0.0 : f32
  linalg.fill ins(%zero : f32) outs(%c : memref<512x512xf32>)
  // expected-error@+1 {{a multiplication takes 16 products of each sum, k is 8}}
  linalg.generic {indexing_maps = [#mk, #nk, #mn], iterator_types = ["parallel", "parallel", "reduction"]} ins(%a, %b : memref<512x256xf16>, memref<512x256xf16>) outs(%c : memref<512x512xf32>) attrs = {xhlo.contraction, gpu.plan = #gpu.tensor_tile<64x64x8, warp = 32x32>} {
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

func.func private @k(%a: memref<512x257xf16>, %b: memref<512x257xf16>, %c: memref<512x512xf32>) attributes {hlo.kernel = "dot"} {
  %zero = arith.constant 0.0 : f32
  linalg.fill ins(%zero : f32) outs(%c : memref<512x512xf32>)
  // expected-error@+1 {{a factor is not aligned to 4 bytes, or has another layout than ldmatrix reads}}
  linalg.generic {indexing_maps = [#mk, #nk, #mn], iterator_types = ["parallel", "parallel", "reduction"]} ins(%a, %b : memref<512x257xf16>, memref<512x257xf16>) outs(%c : memref<512x512xf32>) attrs = {xhlo.contraction, gpu.plan = #gpu.tensor_tile<64x64x64, warp = 32x32, copies>} {
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

func.func private @k(%a: memref<512x256xf16>, %b: memref<512x256xf16>, %c: memref<512x512xf32>) attributes {hlo.kernel = "dot"} {
  %zero = arith.constant 0.0 : f32
  linalg.fill ins(%zero : f32) outs(%c : memref<512x512xf32>)
  // expected-error@+1 {{589824 bytes of shared memory; a block of sm_90 has 232448}}
  linalg.generic {indexing_maps = [#mk, #nk, #mn], iterator_types = ["parallel", "parallel", "reduction"]} ins(%a, %b : memref<512x256xf16>, memref<512x256xf16>) outs(%c : memref<512x512xf32>) attrs = {xhlo.contraction, gpu.plan = #gpu.tensor_tile<64x64x64, warp = 32x32, stages = 32, copies>} {
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

// A BLAS has no matrices whose rows overlap.

#mk = affine_map<(m, n, k) -> (m + k)>
#nk = affine_map<(m, n, k) -> (n, k)>
#mn = affine_map<(m, n, k) -> (m, n)>

func.func private @k(%a: memref<767xf32>, %b: memref<512x256xf32>, %c: memref<512x512xf32>) attributes {hlo.kernel = "dot"} {
  %zero = arith.constant 0.0 : f32
  linalg.fill ins(%zero : f32) outs(%c : memref<512x512xf32>)
  // expected-error@+1 {{the library has no call for this contraction and what follows it}}
  linalg.generic {indexing_maps = [#mk, #nk, #mn], iterator_types = ["parallel", "parallel", "reduction"]} ins(%a, %b : memref<767xf32>, memref<512x256xf32>) outs(%c : memref<512x512xf32>) attrs = {xhlo.contraction, gpu.plan = #gpu.library} {
  ^bb0(%x: f32, %y: f32, %sum: f32):
    %p = arith.mulf %x, %y fastmath<reassoc,contract> : f32
    %s = arith.addf %sum, %p fastmath<reassoc,contract> : f32
    linalg.yield %s : f32
  }
  func.return
}
