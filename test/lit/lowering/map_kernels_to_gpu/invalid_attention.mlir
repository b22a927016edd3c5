// RUN: hlo-opt %s --map-kernels-to-gpu --split-input-file --verify-diagnostics
// Plans of streamed rows that do not fit their operations or the chip.

#mk = affine_map<(b, m, n, k) -> (b, m, k)>
#nk = affine_map<(b, m, n, k) -> (b, n, k)>
#kn = affine_map<(b, m, n, k) -> (b, k, n)>
#out = affine_map<(b, m, n, k) -> (b, m, n)>
#wide = affine_map<(b, m, n) -> (b, m, n)>
#row = affine_map<(b, m, n) -> (b, m)>

func.func private @k(%q: memref<2x64x32xf32>, %k: memref<2x64x32xf32>, %v: memref<2x64x32xf32>, %o: memref<2x64x32xf32>) attributes {hlo.kernel = "row", hlo.row_dims = 2 : i64} {
  %zero = arith.constant 0.0 : f32
  %lowest = arith.constant 0xFF800000 : f32
  %s = memref.alloc() : memref<2x64x64xf32>
  linalg.fill ins(%zero : f32) outs(%s : memref<2x64x64xf32>)
  // expected-error@+1 {{#gpu.streamed_rows<64x32, threads = 128, tensor> does not fit: sm_90 has no tensor cores for these types}}
  linalg.generic {indexing_maps = [#mk, #nk, #out], iterator_types = ["parallel", "parallel", "parallel", "reduction"]} ins(%q, %k : memref<2x64x32xf32>, memref<2x64x32xf32>) outs(%s : memref<2x64x64xf32>) attrs = {xhlo.contraction, gpu.plan = #gpu.streamed_rows<64x32, threads = 128, tensor>} {
  ^bb0(%x: f32, %y: f32, %sum: f32):
    %z = arith.mulf %x, %y fastmath<reassoc,contract> : f32
    %t = arith.addf %sum, %z fastmath<reassoc,contract> : f32
    linalg.yield %t : f32
  }
  %max = memref.alloc() : memref<2x64xf32>
  linalg.fill ins(%lowest : f32) outs(%max : memref<2x64xf32>)
  linalg.generic {indexing_maps = [#wide, #row], iterator_types = ["parallel", "parallel", "reduction"]} ins(%s : memref<2x64x64xf32>) outs(%max : memref<2x64xf32>) attrs = {gpu.joined} {
  ^bb0(%x: f32, %m: f32):
    %t = arith.maximumf %m, %x : f32
    linalg.yield %t : f32
  }
  %w = memref.alloc() : memref<2x64x64xf32>
  linalg.generic {indexing_maps = [#wide, #row, #wide], iterator_types = ["parallel", "parallel", "parallel"]} ins(%s, %max : memref<2x64x64xf32>, memref<2x64xf32>) outs(%w : memref<2x64x64xf32>) attrs = {gpu.joined} {
  ^bb0(%x: f32, %m: f32, %old: f32):
    %y = arith.subf %x, %m : f32
    %z = math.exp %y : f32
    linalg.yield %z : f32
  }
  linalg.fill ins(%zero : f32) outs(%o : memref<2x64x32xf32>)
  linalg.generic {indexing_maps = [#mk, #kn, #out], iterator_types = ["parallel", "parallel", "parallel", "reduction"]} ins(%w, %v : memref<2x64x64xf32>, memref<2x64x32xf32>) outs(%o : memref<2x64x32xf32>) attrs = {xhlo.contraction, gpu.joined} {
  ^bb0(%x: f32, %y: f32, %sum: f32):
    %z = arith.mulf %x, %y fastmath<reassoc,contract> : f32
    %t = arith.addf %sum, %z fastmath<reassoc,contract> : f32
    linalg.yield %t : f32
  }
  func.return
}

// -----

#mk = affine_map<(b, m, n, k) -> (b, m, k)>
#nk = affine_map<(b, m, n, k) -> (b, n, k)>
#kn = affine_map<(b, m, n, k) -> (b, k, n)>
#out = affine_map<(b, m, n, k) -> (b, m, n)>
#wide = affine_map<(b, m, n) -> (b, m, n)>
#row = affine_map<(b, m, n) -> (b, m)>

func.func private @k(%q: memref<2x256x256xf32>, %k: memref<2x256x256xf32>, %v: memref<2x256x256xf32>, %o: memref<2x256x256xf32>) attributes {hlo.kernel = "row", hlo.row_dims = 2 : i64} {
  %zero = arith.constant 0.0 : f32
  %lowest = arith.constant 0xFF800000 : f32
  %s = memref.alloc() : memref<2x256x256xf32>
  linalg.fill ins(%zero : f32) outs(%s : memref<2x256x256xf32>)
  // expected-error@+1 {{350208 bytes of shared memory; a block of sm_90 has 232448}}
  linalg.generic {indexing_maps = [#mk, #nk, #out], iterator_types = ["parallel", "parallel", "parallel", "reduction"]} ins(%q, %k : memref<2x256x256xf32>, memref<2x256x256xf32>) outs(%s : memref<2x256x256xf32>) attrs = {xhlo.contraction, gpu.plan = #gpu.streamed_rows<64x64, threads = 256, stages = 2, copies>} {
  ^bb0(%x: f32, %y: f32, %sum: f32):
    %z = arith.mulf %x, %y fastmath<reassoc,contract> : f32
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
  %w = memref.alloc() : memref<2x256x256xf32>
  linalg.generic {indexing_maps = [#wide, #row, #wide], iterator_types = ["parallel", "parallel", "parallel"]} ins(%s, %max : memref<2x256x256xf32>, memref<2x256xf32>) outs(%w : memref<2x256x256xf32>) attrs = {gpu.joined} {
  ^bb0(%x: f32, %m: f32, %old: f32):
    %y = arith.subf %x, %m : f32
    %z = math.exp %y : f32
    linalg.yield %z : f32
  }
  linalg.fill ins(%zero : f32) outs(%o : memref<2x256x256xf32>)
  linalg.generic {indexing_maps = [#mk, #kn, #out], iterator_types = ["parallel", "parallel", "parallel", "reduction"]} ins(%w, %v : memref<2x256x256xf32>, memref<2x256x256xf32>) outs(%o : memref<2x256x256xf32>) attrs = {xhlo.contraction, gpu.joined} {
  ^bb0(%x: f32, %y: f32, %sum: f32):
    %z = arith.mulf %x, %y fastmath<reassoc,contract> : f32
    %t = arith.addf %sum, %z fastmath<reassoc,contract> : f32
    linalg.yield %t : f32
  }
  func.return
}

// -----

#mk = affine_map<(b, m, n, k) -> (b, m, k)>
#nk = affine_map<(b, m, n, k) -> (b, n, k)>
#kn = affine_map<(b, m, n, k) -> (b, k, n)>
#out = affine_map<(b, m, n, k) -> (b, m, n)>
#wide = affine_map<(b, m, n) -> (b, m, n)>
#row = affine_map<(b, m, n) -> (b, m)>

func.func private @k(%q: memref<2x64x32xf16>, %k: memref<2x64x32xf16>, %v: memref<2x64x32xf16>, %o: memref<2x64x32xf32>) attributes {hlo.kernel = "row", hlo.row_dims = 2 : i64} {
  %zero = arith.constant 0.0 : f32
  %lowest = arith.constant 0xFF800000 : f32
  %s = memref.alloc() : memref<2x64x64xf32>
  linalg.fill ins(%zero : f32) outs(%s : memref<2x64x64xf32>)
  // expected-error@+1 {{no product sums over rows}}
  linalg.generic {indexing_maps = [#mk, #nk, #out], iterator_types = ["parallel", "parallel", "parallel", "reduction"]} ins(%q, %k : memref<2x64x32xf16>, memref<2x64x32xf16>) outs(%s : memref<2x64x64xf32>) attrs = {xhlo.contraction, gpu.plan = #gpu.streamed_rows<64x32, threads = 128, tensor, then = #gpu.streamed_rows<64x32, threads = 128, tensor>>} {
  ^bb0(%x: f16, %y: f16, %sum: f32):
    %xw = arith.extf %x : f16 to f32
    %yw = arith.extf %y : f16 to f32
    %z = arith.mulf %xw, %yw fastmath<reassoc,contract> : f32
    %t = arith.addf %sum, %z fastmath<reassoc,contract> : f32
    linalg.yield %t : f32
  }
  %max = memref.alloc() : memref<2x64xf32>
  linalg.fill ins(%lowest : f32) outs(%max : memref<2x64xf32>)
  linalg.generic {indexing_maps = [#wide, #row], iterator_types = ["parallel", "parallel", "reduction"]} ins(%s : memref<2x64x64xf32>) outs(%max : memref<2x64xf32>) attrs = {gpu.joined} {
  ^bb0(%x: f32, %m: f32):
    %t = arith.maximumf %m, %x : f32
    linalg.yield %t : f32
  }
  %w = memref.alloc() : memref<2x64x64xf16>
  linalg.generic {indexing_maps = [#wide, #row, #wide], iterator_types = ["parallel", "parallel", "parallel"]} ins(%s, %max : memref<2x64x64xf32>, memref<2x64xf32>) outs(%w : memref<2x64x64xf16>) attrs = {gpu.joined} {
  ^bb0(%x: f32, %m: f32, %old: f16):
    %y = arith.subf %x, %m : f32
    %z = math.exp %y : f32
    %p = arith.truncf %z : f32 to f16
    linalg.yield %p : f16
  }
  linalg.fill ins(%zero : f32) outs(%o : memref<2x64x32xf32>)
  linalg.generic {indexing_maps = [#mk, #kn, #out], iterator_types = ["parallel", "parallel", "parallel", "reduction"]} ins(%w, %v : memref<2x64x64xf16>, memref<2x64x32xf16>) outs(%o : memref<2x64x32xf32>) attrs = {xhlo.contraction, gpu.joined} {
  ^bb0(%x: f16, %y: f16, %sum: f32):
    %xw = arith.extf %x : f16 to f32
    %yw = arith.extf %y : f16 to f32
    %z = arith.mulf %xw, %yw fastmath<reassoc,contract> : f32
    %t = arith.addf %sum, %z fastmath<reassoc,contract> : f32
    linalg.yield %t : f32
  }
  func.return
}

// -----

#i = affine_map<(i) -> (i)>

func.func private @k(%a: memref<1024xf32>, %o: memref<1024xf32>) attributes {hlo.kernel = "loop"} {
  // expected-error@+1 {{does not fit: the operations are not a row kernel's}}
  linalg.generic {indexing_maps = [#i, #i], iterator_types = ["parallel"]} ins(%a : memref<1024xf32>) outs(%o : memref<1024xf32>) attrs = {gpu.plan = #gpu.streamed_rows<64x64, threads = 256>} {
  ^bb(%x: f32, %z: f32):
    linalg.yield %x : f32
  }
  func.return
}
