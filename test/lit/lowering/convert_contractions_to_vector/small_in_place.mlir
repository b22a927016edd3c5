// Where registers are few, a small A is read in place: six and two times five rows, where its panels would have 18.
// RUN: hlo-opt %s --convert-contractions-to-vector='vector-bits=256 registers=16' | filecheck %s

#a = affine_map<(m, n, k) -> (m, k)>
#b = affine_map<(m, n, k) -> (k, n)>
#c = affine_map<(m, n, k) -> (m, n)>

// CHECK-LABEL: func.func private @rows(
// CHECK-NOT:     _pack(%x
// CHECK:         func.call @rows_block(%x,
// CHECK:         func.call @rows_block_1(%x,
// CHECK-LABEL: func.func private @rows_block_1(
// CHECK:         %{{.*}}:10 = scf.for
// CHECK-LABEL: func.func private @rows_block(
// CHECK:         %{{.*}}:12 = scf.for
func.func private @rows(%x: memref<16x128xf32>, %w: memref<128x128xf32>, %y: memref<16x128xf32>) attributes {hlo.kernel = "dot"} {
  %zero = arith.constant 0.0 : f32
  linalg.fill ins(%zero : f32) outs(%y : memref<16x128xf32>)
  linalg.generic {indexing_maps = [#a, #b, #c], iterator_types = ["parallel", "parallel", "reduction"]} ins(%x, %w : memref<16x128xf32>, memref<128x128xf32>) outs(%y : memref<16x128xf32>) attrs = {xhlo.contraction} {
  ^bb0(%a: f32, %b: f32, %acc: f32):
    %p = arith.mulf %a, %b : f32
    %s = arith.addf %acc, %p : f32
    linalg.yield %s : f32
  }
  func.return
}
