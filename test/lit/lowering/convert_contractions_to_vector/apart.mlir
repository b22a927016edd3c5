// RUN: hlo-opt %s --convert-contractions-to-vector | filecheck %s
// Where the elements of a row are apart in a panel, as in the last panel, which has fewer rows, they are copied one by
// one: LLVM is not to make vectors of them, which would be no faster.

#a = affine_map<(m, n, k) -> (m, k)>
#b = affine_map<(m, n, k) -> (n, k)>
#c = affine_map<(m, n, k) -> (m, n)>

// CHECK-LABEL: func.func private @product_pack(
// CHECK:         scf.if
// CHECK:         } else {
// CHECK:           memref.store {{.*}} : memref<512xf32, strided<[32], offset: ?>>
// CHECK-NEXT:    } {xhlo.vectorize = false}
func.func private @product(%x: memref<512x512xf32>, %y: memref<500x512xf32>, %o: memref<512x500xf32>) attributes {hlo.kernel = "dot"} {
  %zero = arith.constant 0.0 : f32
  linalg.fill ins(%zero : f32) outs(%o : memref<512x500xf32>)
  linalg.generic {indexing_maps = [#a, #b, #c], iterator_types = ["parallel", "parallel", "reduction"]} ins(%x, %y : memref<512x512xf32>, memref<500x512xf32>) outs(%o : memref<512x500xf32>) attrs = {xhlo.contraction} {
  ^bb0(%a: f32, %b: f32, %acc: f32):
    %p = arith.mulf %a, %b : f32
    %s = arith.addf %acc, %p : f32
    linalg.yield %s : f32
  }
  func.return
}
