// RUN: hlo-opt %s --convert-contractions-to-vector='bfloat-dots=true vector-bits=512 registers=32' | filecheck %s
// RUN: hlo-opt %s --convert-contractions-to-vector='bfloat-dots=false vector-bits=512 registers=32' | filecheck %s --check-prefix=WIDE
// A convolution of bf16 reads pairs of its input's features in place, and filters that are packed in pairs. What the dot
// product would take for zeros it cannot meet where the least numbers of both are large enough.

#x = affine_map<(m, n, p, k) -> (m + p, k)>
#w = affine_map<(m, n, p, k) -> (p, k, n)>
#t = affine_map<(m, n, p, k) -> (p)>
#y = affine_map<(m, n, p, k) -> (m, n)>

// CHECK-LABEL: func.func private @convolution(
// CHECK:         func.call @convolution_pack(%w,
// CHECK:         func.call @convolution_least(
// CHECK:         func.call @convolution_least_1(%x,
// CHECK:         arith.minui {{.*}} : i16
// CHECK:         arith.minui {{.*}} : i16
// CHECK:         "scf.parallel"
// CHECK:           scf.if
// CHECK-NEXT:        func.call @convolution_block(%x,
// CHECK-NEXT:      } else {
// CHECK-NEXT:        func.call @convolution_block_1(%x,
// CHECK:       func.func private @convolution_block(
// CHECK:         %[[PAIR:.*]] = memref.reinterpret_cast %0 to {{.*}} sizes: [2], strides: [1]
// CHECK:         vector.load %[[PAIR]]{{.*}}, vector<2xbf16>
// CHECK:         cpu.dot
// WIDE-NOT:    cpu.dot
func.func private @convolution(%x: memref<200x64xbf16>, %w: memref<9x64x64xbf16>, %y: memref<192x64xf32>) attributes {hlo.kernel = "dot"} {
  %zero = arith.constant 0.0 : f32
  linalg.fill ins(%zero : f32) outs(%y : memref<192x64xf32>)
  %taps = memref.alloc() : memref<9xi1>
  linalg.generic {indexing_maps = [#x, #w, #t, #y], iterator_types = ["parallel", "parallel", "reduction", "reduction"]} ins(%x, %w, %taps : memref<200x64xbf16>, memref<9x64x64xbf16>, memref<9xi1>) outs(%y : memref<192x64xf32>) attrs = {xhlo.contraction, xhlo.loop_sizes = [192, 64, 9, 64]} {
  ^bb0(%a: bf16, %b: bf16, %tap: i1, %acc: f32):
    %l = arith.extf %a : bf16 to f32
    %r = arith.extf %b : bf16 to f32
    %p = arith.mulf %l, %r : f32
    %s = arith.addf %acc, %p : f32
    linalg.yield %s : f32
  }
  func.return
}
