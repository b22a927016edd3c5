// RUN: hlo-opt %s -p 'convert-contractions-to-vector{vector-bits=256 l2-bytes=524288}' | filecheck %s
// RUN: hlo-opt %s --convert-contractions-to-vector | filecheck %s --check-prefix=WHOLE
// With 16 registers, passes are so short that a panel's part of 16 columns fits into the L1 cache, and the parts of all
// panels for one pass are together, after all rows of the passes before. Higher blocks let whole panels stream.

#a = affine_map<(m, n, k) -> (m, k)>
#b = affine_map<(m, n, k) -> (k, n)>
#c = affine_map<(m, n, k) -> (m, n)>

// CHECK-LABEL: func.func private @product(
// CHECK-DAG:     %[[rows:.*]] = arith.constant 1024 : index
// CHECK-DAG:     %[[pass:.*]] = arith.constant 304 : index
// CHECK-DAG:     %[[nr:.*]] = arith.constant 16 : index
// CHECK:         func.call @product_pack_1
// CHECK:         %[[lower:.*]] = arith.muli %{{.*}}, %[[pass]] : index
// CHECK-NEXT:    arith.addi %[[lower]], %[[pass]] : index
// CHECK-NEXT:    %[[upper:.*]] = arith.minsi
// CHECK-NEXT:    scf.for %[[j:.*]] =
// CHECK-NEXT:      %[[count:.*]] = arith.subi %[[upper]], %[[lower]] : index
// CHECK-NEXT:      %[[before:.*]] = arith.muli %[[lower]], %[[rows]] : index
// CHECK-NEXT:      %[[size:.*]] = arith.muli %[[count]], %[[nr]] : index
// CHECK-NEXT:      %[[at:.*]] = arith.muli %[[j]], %[[size]] : index
// CHECK-NEXT:      %[[b:.*]] = arith.addi %[[before]], %[[at]] : index
// CHECK:           func.call @product_block(%{{.*}}, %{{.*}}, %{{.*}}, %[[b]],
// WHOLE-LABEL: func.func private @product(
// WHOLE-NOT:     arith.constant 304 : index
func.func private @product(%x: memref<4096x2048xf32>, %y: memref<2048x1024xf32>, %o: memref<4096x1024xf32>) attributes {hlo.kernel = "dot"} {
  %zero = arith.constant 0.0 : f32
  linalg.fill ins(%zero : f32) outs(%o : memref<4096x1024xf32>)
  linalg.generic {indexing_maps = [#a, #b, #c], iterator_types = ["parallel", "parallel", "reduction"]} ins(%x, %y : memref<4096x2048xf32>, memref<2048x1024xf32>) outs(%o : memref<4096x1024xf32>) attrs = {xhlo.contraction} {
  ^bb(%p: f32, %q: f32, %z: f32):
    %r = arith.mulf %p, %q fastmath<reassoc,contract> : f32
    %s = arith.addf %z, %r fastmath<reassoc,contract> : f32
    linalg.yield %s : f32
  }
  func.return
}
