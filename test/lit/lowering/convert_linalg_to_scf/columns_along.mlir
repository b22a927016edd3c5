// RUN: hlo-opt %s --convert-linalg-to-scf=vector-bits=256 | filecheck %s
// RUN: hlo-opt %s --convert-linalg-to-scf | filecheck %s --check-prefix=LONG

#a = affine_map<(m, n, k) -> (m, k)>
#b = affine_map<(m, n, k) -> (k, n)>
#c = affine_map<(m, n, k) -> (m, n)>

// Columns that are apart in memory are copied, so that rows and columns are read in vectors: two rows at a time.
// CHECK-LABEL: func.func private @apart(
// CHECK:         %[[copy:.*]] = memref.alloc() {{.*}}: memref<3x128xf32>
// CHECK:         scf.for %[[k:.*]] = %{{.*}} to %{{.*}} step
// CHECK-COUNT-3:   memref.store %{{.*}}, %[[copy]][%{{.*}}, %[[k]]]
// CHECK:         %[[sums:.*]]:6 = scf.for
// CHECK-NOT:       memref.load %y
// CHECK:           memref.load %[[copy]]
// CHECK-COUNT-6: memref.store %[[sums]]#
// LONG-LABEL: func.func private @apart(
// LONG-NOT:     memref.alloc
// LONG:         func.return
func.func private @apart(%x: memref<64x128xf32>, %y: memref<128x3xf32>, %o: memref<64x3xf32>) attributes {hlo.kernel = "dot"} {
  %zero = arith.constant 0.0 : f32
  linalg.fill ins(%zero : f32) outs(%o : memref<64x3xf32>)
  linalg.generic {indexing_maps = [#a, #b, #c], iterator_types = ["parallel", "parallel", "reduction"]} ins(%x, %y : memref<64x128xf32>, memref<128x3xf32>) outs(%o : memref<64x3xf32>) attrs = {xhlo.contraction} {
  ^bb(%p: f32, %q: f32, %z: f32):
    %r = arith.mulf %p, %q fastmath<reassoc,contract> : f32
    %s = arith.addf %z, %r fastmath<reassoc,contract> : f32
    linalg.yield %s : f32
  }
  func.return
}

// Few rows are not worth a copy.
// CHECK-LABEL: func.func private @few_rows(
// CHECK-NOT:     memref.alloc
// CHECK:         func.return
func.func private @few_rows(%x: memref<16x128xf32>, %y: memref<128x3xf32>, %o: memref<16x3xf32>) attributes {hlo.kernel = "dot"} {
  %zero = arith.constant 0.0 : f32
  linalg.fill ins(%zero : f32) outs(%o : memref<16x3xf32>)
  linalg.generic {indexing_maps = [#a, #b, #c], iterator_types = ["parallel", "parallel", "reduction"]} ins(%x, %y : memref<16x128xf32>, memref<128x3xf32>) outs(%o : memref<16x3xf32>) attrs = {xhlo.contraction} {
  ^bb(%p: f32, %q: f32, %z: f32):
    %r = arith.mulf %p, %q fastmath<reassoc,contract> : f32
    %s = arith.addf %z, %r fastmath<reassoc,contract> : f32
    linalg.yield %s : f32
  }
  func.return
}
