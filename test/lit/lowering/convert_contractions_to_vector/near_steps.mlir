// Gradients of filters are summed along a row of an image where registers are few, with the image's rows around it in
// the micro-kernel: images lie far apart, and share few sets of the caches.
// RUN: hlo-opt %s --convert-contractions-to-vector='vector-bits=256' | filecheck %s
// RUN: hlo-opt %s --convert-contractions-to-vector='vector-bits=512' | filecheck %s --check-prefix=WIDE

#x = affine_map<(p, q, i, o, n, y, x) -> (n, y + p, x + q, i)>
#g = affine_map<(p, q, i, o, n, y, x) -> (n, y, x, o)>
#t = affine_map<(p, q, i, o, n, y, x) -> (n, y, x)>
#w = affine_map<(p, q, i, o, n, y, x) -> (p, q, i, o)>

// CHECK-LABEL: func.func private @filters(
// CHECK:         %[[NEXT:.*]] = arith.constant 64 : index
// CHECK:         func.call @filters_block({{.*}}, %[[NEXT]], %{{.*}}, %{{.*}}, %{{.*}}) :
// CHECK:       func.func private @filters_block({{.*}}, %[[STEP:.*]]: index, %{{.*}}: index, %{{.*}}: index, %{{.*}}: index)
// CHECK:         %{{.*}}:12 = scf.for
// CHECK:           %{{.*}}:12 = scf.for %[[K:.*]] = %{{.*}} to
// CHECK-NEXT:        arith.muli %[[K]], %[[STEP]] : index
// CHECK:             vector.fma
// WIDE-LABEL:  func.func private @filters(
// WIDE:          %[[IMAGE:.*]] = arith.constant 16384 : index
// WIDE:          func.call @filters_block({{.*}}, %[[IMAGE]]) :
// WIDE:        func.func private @filters_block({{.*}}, %[[STEP:.*]]: index) attributes
// WIDE:          %{{.*}}:24 = scf.for %[[K:.*]] = %{{.*}} to
// WIDE-NEXT:       arith.muli %[[K]], %[[STEP]] : index
// WIDE-NOT:        scf.for
// WIDE:            vector.fma
func.func private @filters(%x: memref<32x16x16x64xf32>, %g: memref<32x14x14x64xf32>, %w: memref<3x3x64x64xf32>) attributes {hlo.kernel = "dot"} {
  %zero = arith.constant 0.0 : f32
  linalg.fill ins(%zero : f32) outs(%w : memref<3x3x64x64xf32>)
  %sums = memref.alloc() : memref<32x14x14xi1>
  linalg.generic {indexing_maps = [#x, #g, #t, #w], iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction", "reduction", "reduction"]} ins(%x, %g, %sums : memref<32x16x16x64xf32>, memref<32x14x14x64xf32>, memref<32x14x14xi1>) outs(%w : memref<3x3x64x64xf32>) attrs = {xhlo.contraction, xhlo.loop_sizes = [3, 3, 64, 64, 32, 14, 14]} {
  ^bb0(%a: f32, %b: f32, %sum: i1, %acc: f32):
    %p = arith.mulf %a, %b : f32
    %s = arith.addf %acc, %p : f32
    linalg.yield %s : f32
  }
  func.return
}
