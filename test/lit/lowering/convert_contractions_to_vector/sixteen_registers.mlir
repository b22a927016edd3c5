// Sixteen registers hold blocks of few rows, whose panels of B are narrow. One vector a row would load more than it
// multiplies, so that each row has two; and all elements of a window are summed before C is written, where 32 registers
// of 512 bits, whose panels are three times as wide, write it for each row of the window.
// RUN: hlo-opt %s --convert-contractions-to-vector='vector-bits=256' | filecheck %s
// RUN: hlo-opt %s --convert-contractions-to-vector='vector-bits=512' | filecheck %s --check-prefix=WIDE

#x = affine_map<(n, y, x, o, p, q, i) -> (n, y + p, x + q, i)>
#w = affine_map<(n, y, x, o, p, q, i) -> (p, q, i, o)>
#t = affine_map<(n, y, x, o, p, q, i) -> (p, q)>
#y = affine_map<(n, y, x, o, p, q, i) -> (n, y, x, o)>

// The rows of a panel are places of an image, 512 bytes apart, though there are more images than places in a row.
// A row of 16 is a panel of six and two of five: three of six would multiply two rows for nothing.
// CHECK-LABEL: func.func private @convolution(
// CHECK:         %[[IS_HIGH:.*]] = arith.cmpi ult, %{{.*}}, %{{.*}} : index
// CHECK-NEXT:    scf.if %[[IS_HIGH]] {
// CHECK:           func.call @convolution_block(
// CHECK:         } else {
// CHECK:           func.call @convolution_block_1(
// CHECK-LABEL: func.func private @convolution_block_1(
// CHECK:         %{{.*}}:10 = scf.for
// CHECK:           %{{.*}}:10 = scf.for
// CHECK:             memref.reinterpret_cast %{{.*}} sizes: [16], strides: [1] : memref<73728xf32>
// CHECK-COUNT-10:    vector.fma
// CHECK-NOT:         vector.fma
// CHECK-LABEL: func.func private @convolution_block(
// CHECK:         %{{.*}}:12 = scf.for
// CHECK:           %{{.*}}:12 = scf.for
// CHECK-COUNT-12:    vector.fma
// CHECK-NOT:         vector.fma
// WIDE-LABEL:  func.func private @convolution_block(
// WIDE:          %{{.*}}:16 = scf.for
// WIDE-NOT:        scf.for
// WIDE-NOT:        scf.for
// WIDE:            vector.fma
func.func private @convolution(%x: memref<30x18x18x128xf32>, %w: memref<3x3x128x64xf32>, %y: memref<30x16x16x64xf32>) attributes {hlo.kernel = "dot"} {
  %zero = arith.constant 0.0 : f32
  linalg.fill ins(%zero : f32) outs(%y : memref<30x16x16x64xf32>)
  %taps = memref.alloc() : memref<3x3xi1>
  linalg.generic {indexing_maps = [#x, #w, #t, #y], iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction", "reduction", "reduction"]} ins(%x, %w, %taps : memref<30x18x18x128xf32>, memref<3x3x128x64xf32>, memref<3x3xi1>) outs(%y : memref<30x16x16x64xf32>) attrs = {xhlo.contraction, xhlo.loop_sizes = [30, 16, 16, 64, 3, 3, 128]} {
  ^bb0(%a: f32, %b: f32, %tap: i1, %acc: f32):
    %p = arith.mulf %a, %b : f32
    %s = arith.addf %acc, %p : f32
    linalg.yield %s : f32
  }
  func.return
}
