// RUN: hlo-opt %s --convert-contractions-to-vector | filecheck %s
// RUN: hlo-opt %s --convert-contractions-to-vector='l2-bytes=16384' | filecheck %s --check-prefix=FAR
// Filters whose elements of a window lie between those of a matrix are copied before they are packed: the window's places
// become matrices, or, beyond the caches nearby, stay next to each other, so that the copy is a transpose of two
// dimensions. Those of a reversed window are so, too.

#x = affine_map<(m, n, p, k) -> (m + p, k)>
#w = affine_map<(m, n, p, k) -> (n, k, 8 - p)>
#t = affine_map<(m, n, p, k) -> (p)>
#y = affine_map<(m, n, p, k) -> (m, n)>

// CHECK-LABEL: func.func private @convolution(
// CHECK:         %[[COPY:.*]] = memref.alloc() : memref<36864xf32>
// CHECK:         memref.reinterpret_cast %[[COPY]] {{.*}} sizes: [9, 64, 64], strides: [4096, 64, 1]
// FAR-LABEL:   func.func private @convolution(
// FAR:           %[[COPY:.*]] = memref.alloc() : memref<36864xf32>
// FAR:           memref.reinterpret_cast %[[COPY]] {{.*}} sizes: [64, 9, 64], strides: [576, 64, 1]
func.func private @convolution(%x: memref<200x64xf32>, %w: memref<64x64x9xf32>, %y: memref<192x64xf32>) attributes {hlo.kernel = "dot"} {
  %zero = arith.constant 0.0 : f32
  linalg.fill ins(%zero : f32) outs(%y : memref<192x64xf32>)
  %taps = memref.alloc() : memref<9xi1>
  linalg.generic {indexing_maps = [#x, #w, #t, #y], iterator_types = ["parallel", "parallel", "reduction", "reduction"]} ins(%x, %w, %taps : memref<200x64xf32>, memref<64x64x9xf32>, memref<9xi1>) outs(%y : memref<192x64xf32>) attrs = {xhlo.contraction, xhlo.loop_sizes = [192, 64, 9, 64]} {
  ^bb0(%a: f32, %b: f32, %tap: i1, %acc: f32):
    %p = arith.mulf %a, %b : f32
    %s = arith.addf %acc, %p : f32
    linalg.yield %s : f32
  }
  func.return
}
