// RUN: hlo-opt %s -p 'convert-contractions-to-vector{vector-bits=256 l2-bytes=524288}' | filecheck %s
// RUN: hlo-opt %s --convert-contractions-to-vector | filecheck %s --check-prefix=WHOLE
// With 16 registers, passes are so short that a panel's part of 16 columns fits into the L1 cache, and the parts of all
// panels of A for one pass are together, after all rows of the passes before. Tasks pack 16 panels of B, again for the
// other half of the rows, and multiply each panel of A by all of them; each block asks for a part of the next panel of A.
// Higher blocks let whole panels stream.

#a = affine_map<(m, n, k) -> (m, k)>
#b = affine_map<(m, n, k) -> (k, n)>
#c = affine_map<(m, n, k) -> (m, n)>

// CHECK-LABEL: func.func private @product(
// CHECK-DAG:     %[[rows:.*]] = arith.constant 4098 : index
// CHECK-DAG:     %[[pass:.*]] = arith.constant 304 : index
// CHECK-DAG:     %[[mr:.*]] = arith.constant 6 : index
// CHECK-DAG:     %[[across:.*]] = arith.constant 4 : index
// CHECK-DAG:     %[[one:.*]] = arith.constant 1 : index
// CHECK:         %[[a:.*]] = memref.alloc() : memref<8392704xf32>
// CHECK:         func.call @product_pack(%x
// CHECK:         "scf.parallel"
// CHECK:           %[[b:.*]] = memref.alloca() : memref<77824xf32>
// CHECK-NEXT:      arith.remui %{{.*}}, %[[across]] : index
// CHECK:           %[[lower:.*]] = arith.muli %{{.*}}, %[[pass]] : index
// CHECK:           func.call @product_pack_1(%y, %{{.*}}, %[[b]],
// CHECK:           scf.for %[[i:.*]] =
// CHECK-NEXT:        scf.for
// CHECK-NEXT:          %[[next:.*]] = arith.addi %[[i]], %[[one]] : index
// CHECK:               %[[before:.*]] = arith.muli %[[lower]], %[[rows]] : index
// CHECK-NEXT:          %[[size:.*]] = arith.muli %{{.*}}, %[[mr]] : index
// CHECK-NEXT:          %[[at:.*]] = arith.muli %[[next]], %[[size]] : index
// CHECK-NEXT:          arith.addi %[[before]], %[[at]] : index
// CHECK:               memref.reinterpret_cast %[[a]]
// CHECK-COUNT-8:       cpu.prefetch %{{.*}} {second_level}
// CHECK-NOT:           cpu.prefetch
// CHECK:               func.call @product_block(%[[a]], %{{.*}}, %[[b]],
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
