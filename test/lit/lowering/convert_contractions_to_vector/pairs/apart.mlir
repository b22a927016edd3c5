// RUN: hlo-opt %s --convert-contractions-to-vector='bfloat-dots=true vector-bits=512 registers=32' | filecheck %s
// A gradient of filters is summed along its images, whose features are contiguous. Its input is copied so that each
// element has the next one along the image beside it, and is read in place.

#x = affine_map<(p, i, o, n, m) -> (n, m + p, i)>
#g = affine_map<(p, i, o, n, m) -> (n, m, o)>
#t = affine_map<(p, i, o, n, m) -> (p)>
#w = affine_map<(p, i, o, n, m) -> (p, i, o)>

// CHECK-LABEL: func.func private @gradient(
// CHECK:         %[[PAIRS:.*]] = memref.alloc() : memref<52992xbf16>
// CHECK:         func.call @gradient_pairs(%x, %[[PAIRS]],
// CHECK:         func.call @gradient_pack(%g,
// CHECK:         "scf.parallel"
// CHECK:           func.call @gradient_block(%[[PAIRS]],
// CHECK:       func.func private @gradient_block(
// CHECK:         memref.reinterpret_cast %0 to {{.*}} sizes: [2], strides: [1]
// CHECK:         cpu.dot
func.func private @gradient(%x: memref<2x104x128xbf16>, %g: memref<2x96x128xbf16>, %w: memref<9x128x128xf32>) attributes {hlo.kernel = "dot"} {
  %zero = arith.constant 0.0 : f32
  linalg.fill ins(%zero : f32) outs(%w : memref<9x128x128xf32>)
  %taps = memref.alloc() : memref<9xi1>
  linalg.generic {indexing_maps = [#x, #g, #t, #w], iterator_types = ["parallel", "parallel", "parallel", "reduction", "reduction"]} ins(%x, %g, %taps : memref<2x104x128xbf16>, memref<2x96x128xbf16>, memref<9xi1>) outs(%w : memref<9x128x128xf32>) attrs = {xhlo.contraction, xhlo.loop_sizes = [9, 128, 128, 2, 96]} {
  ^bb0(%a: bf16, %b: bf16, %tap: i1, %acc: f32):
    %l = arith.extf %a : bf16 to f32
    %r = arith.extf %b : bf16 to f32
    %p = arith.mulf %l, %r : f32
    %s = arith.addf %acc, %p : f32
    linalg.yield %s : f32
  }
  func.return
}
