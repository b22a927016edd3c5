// RUN: hlo-opt %s -p 'convert-contractions-to-vector{vector-bits=256 l2-bytes=524288}' | filecheck %s
// RUN: hlo-opt %s -p 'convert-contractions-to-vector' | filecheck %s --check-prefix=MANY
// Rows by a distant matrix: with 16 registers, each task packs 8 rows of a run of columns at a time, a short pass over
// k. With 32 the matrix is read in place.

#a = affine_map<(m, n, k) -> (m, k)>
#b = affine_map<(m, n, k) -> (k, n)>
#c = affine_map<(m, n, k) -> (m, n)>

// CHECK-LABEL: func.func private @rows(
// CHECK:         %[[ROWS:.*]] = arith.constant 8 : index
// CHECK:         %[[PASS:.*]] = arith.constant 64 : index
// CHECK:         "scf.parallel"
// CHECK:           func.call @rows_pack(%x,
// CHECK:         "scf.parallel"
// CHECK:           memref.alloca() : memref<33792xf32>
// CHECK:           arith.muli %{{.*}}, %[[PASS]] : index
// CHECK:           scf.for %{{.*}} = %{{.*}} to %{{.*}} step %[[ROWS]] {
// CHECK:             func.call @rows_pack_1(%y,
// CHECK:           func.call @rows_block(
// CHECK-LABEL: func.func private @rows_block(
// CHECK:         vector.load %{{.*}} : memref<24xf32, strided<[1], offset: ?>>, vector<8xf32>

// MANY-LABEL: func.func private @rows(
// MANY-NOT:     func.call @rows_pack
// MANY:         func.call @rows_block(%x, %{{.*}}, %y,
func.func private @rows(%x: memref<32x2048xf32>, %y: memref<2048x2048xf32>, %o: memref<32x2048xf32>) attributes {hlo.kernel = "dot"} {
  %zero = arith.constant 0.0 : f32
  linalg.fill ins(%zero : f32) outs(%o : memref<32x2048xf32>)
  linalg.generic {indexing_maps = [#a, #b, #c], iterator_types = ["parallel", "parallel", "reduction"]} ins(%x, %y : memref<32x2048xf32>, memref<2048x2048xf32>) outs(%o : memref<32x2048xf32>) attrs = {xhlo.contraction} {
  ^bb(%p: f32, %q: f32, %s: f32):
    %r = arith.mulf %p, %q fastmath<reassoc,contract> : f32
    %t = arith.addf %s, %r fastmath<reassoc,contract> : f32
    linalg.yield %t : f32
  }
  func.return
}
