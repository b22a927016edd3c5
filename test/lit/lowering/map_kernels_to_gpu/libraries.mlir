// RUN: hlo-opt %s --split-input-file --map-kernels-to-gpu | filecheck %s

// Contractions that a BLAS can express become calls if the plan says so; the gpu.module names the chip for the rest.

#lhs = affine_map<(m, n, k) -> (m, k)>
#rhs = affine_map<(m, n, k) -> (n, k)>
#out = affine_map<(m, n, k) -> (m, n)>
#vector = affine_map<(m, n) -> (n)>
#same = affine_map<(m, n) -> (m, n)>

// A product with a bias and relu over its f32 sums: one call. The second factor is transposed in memory.

// CHECK-LABEL: func.func private @dense
// CHECK-NEXT: gpu_library.matmul ins(%a, %b : memref<512x256xbf16>, memref<384x256xbf16>) bias(%c : memref<384xf32>) outs(%d : memref<512x384xf32>)
// CHECK-SAME: lhs_matrix = #gpu_library.matrix<shape = [512, 256], strides = [256, 1], batch_stride = 0, offset = 0>
// CHECK-SAME: rhs_matrix = #gpu_library.matrix<shape = [256, 384], strides = [1, 256], batch_stride = 0, offset = 0>
// CHECK-SAME: activation = "relu"
// CHECK-NEXT: func.return
// CHECK: gpu.module @kernels [#nvvm.target<chip = "sm_90">] {
// CHECK-NEXT: }
func.func private @dense(%a: memref<512x256xbf16>, %b: memref<384x256xbf16>, %c: memref<384xf32>, %d: memref<512x384xf32>) attributes {hlo.kernel = "dot"} {
  %zero = arith.constant 0.0 : f32
  %sums = memref.alloc() : memref<512x384xf32>
  linalg.fill ins(%zero : f32) outs(%sums : memref<512x384xf32>)
  linalg.generic {indexing_maps = [#lhs, #rhs, #out], iterator_types = ["parallel", "parallel", "reduction"]} ins(%a, %b : memref<512x256xbf16>, memref<384x256xbf16>) outs(%sums : memref<512x384xf32>) attrs = {gpu.plan = #gpu.library, xhlo.contraction} {
  ^bb0(%x: bf16, %y: bf16, %sum: f32):
    %l = arith.extf %x : bf16 to f32
    %r = arith.extf %y : bf16 to f32
    %p = arith.mulf %l, %r fastmath<reassoc,contract> : f32
    %s = arith.addf %sum, %p fastmath<reassoc,contract> : f32
    linalg.yield %s : f32
  }
  linalg.generic {indexing_maps = [#same, #vector, #same], iterator_types = ["parallel", "parallel"]} ins(%sums, %c : memref<512x384xf32>, memref<384xf32>) outs(%d : memref<512x384xf32>) attrs = {gpu.joined} {
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

// A rounding that joins the contraction: the call writes bf16, and a launch adds the bias.

// CHECK-LABEL: func.func private @rounded
// CHECK: [[SUMS:%.*]] = memref.alloc() : memref<512x384xbf16>
// CHECK: gpu_library.matmul ins(%a, %b : memref<512x256xbf16>, memref<384x256xbf16>) outs([[SUMS]] : memref<512x384xbf16>)
// CHECK: gpu.launch_func @kernels::@rounded {{.*}} args({{.*}}[[SUMS]] : memref<512x384xbf16>, {{.*}})
// CHECK: gpu.func @rounded
func.func private @rounded(%a: memref<512x256xbf16>, %b: memref<384x256xbf16>, %c: memref<384xbf16>, %d: memref<512x384xbf16>) attributes {hlo.kernel = "dot"} {
  %zero = arith.constant 0.0 : f32
  %sums = memref.alloc() : memref<512x384xf32>
  linalg.fill ins(%zero : f32) outs(%sums : memref<512x384xf32>)
  linalg.generic {indexing_maps = [#lhs, #rhs, #out], iterator_types = ["parallel", "parallel", "reduction"]} ins(%a, %b : memref<512x256xbf16>, memref<384x256xbf16>) outs(%sums : memref<512x384xf32>) attrs = {gpu.plan = #gpu.library, xhlo.contraction} {
  ^bb0(%x: bf16, %y: bf16, %sum: f32):
    %l = arith.extf %x : bf16 to f32
    %r = arith.extf %y : bf16 to f32
    %p = arith.mulf %l, %r fastmath<reassoc,contract> : f32
    %s = arith.addf %sum, %p fastmath<reassoc,contract> : f32
    linalg.yield %s : f32
  }
  %rounded = memref.alloc() : memref<512x384xbf16>
  linalg.generic {indexing_maps = [#same, #same], iterator_types = ["parallel", "parallel"]} ins(%sums : memref<512x384xf32>) outs(%rounded : memref<512x384xbf16>) attrs = {gpu.joined} {
  ^bb0(%x: f32, %old: bf16):
    %n = arith.truncf %x : f32 to bf16
    linalg.yield %n : bf16
  }
  linalg.generic {indexing_maps = [#same, #vector, #same], iterator_types = ["parallel", "parallel"]} ins(%rounded, %c : memref<512x384xbf16>, memref<384xbf16>) outs(%d : memref<512x384xbf16>) attrs = {gpu.plan = #gpu.elementwise<width = 2>} {
  ^bb0(%x: bf16, %y: bf16, %old: bf16):
    %l = arith.extf %x : bf16 to f32
    %r = arith.extf %y : bf16 to f32
    %s = arith.addf %l, %r : f32
    %n = arith.truncf %s : f32 to bf16
    linalg.yield %n : bf16
  }
  func.return
}
