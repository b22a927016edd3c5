// RUN: hlo-opt %s --split-input-file "--pass-pipeline=plan-gpu-kernels{libraries=always}" | filecheck %s --check-prefix=ALWAYS
// RUN: hlo-opt %s --split-input-file "--pass-pipeline=plan-gpu-kernels{libraries=auto}" | filecheck %s --check-prefix=AUTO
// RUN: hlo-opt %s --split-input-file --plan-gpu-kernels | filecheck %s --check-prefix=NEVER

// Contractions that a BLAS can express are planned as calls if libraries are enabled.

#lhs = affine_map<(m, n, k) -> (m, k)>
#rhs = affine_map<(m, n, k) -> (n, k)>
#out = affine_map<(m, n, k) -> (m, n)>
#vector = affine_map<(m, n) -> (n)>
#same = affine_map<(m, n) -> (m, n)>

// A product with a bias and relu over its f32 sums: one call. The second factor is transposed in memory.

// ALWAYS-LABEL: @dense
// ALWAYS:         {xhlo.contraction, gpu.plan = #gpu.library}
// ALWAYS:         outs(%d : {{.*}}) attrs = {gpu.joined}
// AUTO-LABEL: @dense
// AUTO:         {xhlo.contraction, gpu.plan = #gpu.library}
// NEVER-LABEL: @dense
// NEVER:         {xhlo.contraction, gpu.plan = #gpu.tensor_tile<{{.*}}>}
func.func private @dense(%a: memref<512x256xbf16>, %b: memref<384x256xbf16>, %c: memref<384xf32>, %d: memref<512x384xf32>) attributes {hlo.kernel = "dot"} {
  %zero = arith.constant 0.0 : f32
  %sums = memref.alloc() : memref<512x384xf32>
  linalg.fill ins(%zero : f32) outs(%sums : memref<512x384xf32>)
  linalg.generic {indexing_maps = [#lhs, #rhs, #out], iterator_types = ["parallel", "parallel", "reduction"]} ins(%a, %b : memref<512x256xbf16>, memref<384x256xbf16>) outs(%sums : memref<512x384xf32>) attrs = {xhlo.contraction} {
  ^bb0(%x: bf16, %y: bf16, %sum: f32):
    %l = arith.extf %x : bf16 to f32
    %r = arith.extf %y : bf16 to f32
    %p = arith.mulf %l, %r fastmath<reassoc,contract> : f32
    %s = arith.addf %sum, %p fastmath<reassoc,contract> : f32
    linalg.yield %s : f32
  }
  linalg.generic {indexing_maps = [#same, #vector, #same], iterator_types = ["parallel", "parallel"]} ins(%sums, %c : memref<512x384xf32>, memref<384xf32>) outs(%d : memref<512x384xf32>) {
  ^bb0(%x: f32, %y: f32, %old: f32):
    %s = arith.addf %x, %y : f32
    %m = arith.maximumf %s, %zero : f32
    linalg.yield %m : f32
  }
  func.return
}

// -----

#lhs = affine_map<(m, n, k) -> (m, k)>
#rhs = affine_map<(m, n, k) -> (n, k)>
#out = affine_map<(m, n, k) -> (m, n)>
#vector = affine_map<(m, n) -> (n)>
#same = affine_map<(m, n) -> (m, n)>

// Sums are rounded before the bias is added: the rounding joins the call, which then writes half the bytes, and a
// launch does the rest. Worth it from a depth on.

// ALWAYS-LABEL: @rounded
// ALWAYS:         outs(%sums : memref<512x384xf32>) attrs = {xhlo.contraction, gpu.plan = #gpu.library}
// ALWAYS:         %[[ROUNDED:.*]] = memref.alloc() : memref<512x384xbf16>
// ALWAYS:         ins(%sums : memref<512x384xf32>) outs(%[[ROUNDED]] : memref<512x384xbf16>) attrs = {gpu.joined}
// ALWAYS:           arith.truncf
// ALWAYS:         ins(%[[ROUNDED]], %c : {{.*}}) outs(%d : {{.*}}) attrs = {gpu.plan = #gpu.elementwise<{{.*}}>}
// AUTO-LABEL: @rounded
// AUTO-NOT:     #gpu.library
func.func private @rounded(%a: memref<512x256xbf16>, %b: memref<384x256xbf16>, %c: memref<384xbf16>, %d: memref<512x384xbf16>) attributes {hlo.kernel = "dot"} {
  %zero = arith.constant 0.0 : f32
  %sums = memref.alloc() : memref<512x384xf32>
  linalg.fill ins(%zero : f32) outs(%sums : memref<512x384xf32>)
  linalg.generic {indexing_maps = [#lhs, #rhs, #out], iterator_types = ["parallel", "parallel", "reduction"]} ins(%a, %b : memref<512x256xbf16>, memref<384x256xbf16>) outs(%sums : memref<512x384xf32>) attrs = {xhlo.contraction} {
  ^bb0(%x: bf16, %y: bf16, %sum: f32):
    %l = arith.extf %x : bf16 to f32
    %r = arith.extf %y : bf16 to f32
    %p = arith.mulf %l, %r fastmath<reassoc,contract> : f32
    %s = arith.addf %sum, %p fastmath<reassoc,contract> : f32
    linalg.yield %s : f32
  }
  linalg.generic {indexing_maps = [#same, #vector, #same], iterator_types = ["parallel", "parallel"]} ins(%sums, %c : memref<512x384xf32>, memref<384xbf16>) outs(%d : memref<512x384xbf16>) {
  ^bb0(%x: f32, %y: bf16, %old: bf16):
    %narrow = arith.truncf %x : f32 to bf16
    %l = arith.extf %narrow : bf16 to f32
    %r = arith.extf %y : bf16 to f32
    %s = arith.addf %l, %r : f32
    %n = arith.truncf %s : f32 to bf16
    linalg.yield %n : bf16
  }
  func.return
}

// -----

#lhs = affine_map<(m, n, k) -> (m + k)>
#rhs = affine_map<(m, n, k) -> (k, n)>
#out = affine_map<(m, n, k) -> (m, n)>

// Rows that overlap in memory are no matrix of a BLAS.

// ALWAYS-LABEL: @windows
// ALWAYS:         {xhlo.contraction, gpu.plan = #gpu.tile<{{.*}}>}
func.func private @windows(%a: memref<639xf32>, %b: memref<128x384xf32>, %d: memref<512x384xf32>) attributes {hlo.kernel = "dot"} {
  %zero = arith.constant 0.0 : f32
  linalg.fill ins(%zero : f32) outs(%d : memref<512x384xf32>)
  linalg.generic {indexing_maps = [#lhs, #rhs, #out], iterator_types = ["parallel", "parallel", "reduction"]} ins(%a, %b : memref<639xf32>, memref<128x384xf32>) outs(%d : memref<512x384xf32>) attrs = {xhlo.contraction} {
  ^bb0(%x: f32, %y: f32, %sum: f32):
    %p = arith.mulf %x, %y fastmath<reassoc,contract> : f32
    %s = arith.addf %sum, %p fastmath<reassoc,contract> : f32
    linalg.yield %s : f32
  }
  func.return
}
