// RUN: hlo-opt %s -p 'convert-contractions-to-vector{l2-bytes=65536}' | filecheck %s
// RUN: hlo-opt %s -p 'convert-contractions-to-vector' | filecheck %s --check-prefix=NEAR
// Few rows by a matrix that is larger than the caches nearby: a pass goes along some of its rows, which are not packed.

#a = affine_map<(m, n, k) -> (m, k)>
#b = affine_map<(m, n, k) -> (k, n)>
#c = affine_map<(m, n, k) -> (m, n)>

// CHECK-LABEL: func.func private @rows
// CHECK-NOT:     func.call @rows_pack
// CHECK:         "scf.parallel"
// CHECK:           scf.for
// CHECK:             scf.for
// What the next blocks read is asked for: beside these, or below the beginning of the tile; by the first rows alone.
// CHECK:                 %[[IS_BESIDE:.*]] = arith.cmpi slt
// CHECK-NEXT:            %[[NEXT:.*]] = arith.select %[[IS_BESIDE]], %{{.*}}, %{{.*}} : index
// CHECK-NEXT:            %[[IS_FIRST:.*]] = arith.cmpi eq
// CHECK-NEXT:            %[[AHEAD:.*]] = arith.select %[[IS_FIRST]], %[[NEXT]], %{{.*}} : index
// CHECK:                 func.call @rows_block(%x, %{{.*}}, %y, {{.*}}, %[[AHEAD]], %{{[^,]*}})
// Bfloats are widened as they are read.
// CHECK-LABEL: func.func private @rows_block(
// CHECK:         vector.load %{{.*}} : memref<48xbf16, strided<[1], offset: ?>>, vector<16xbf16>
// CHECK-NEXT:    arith.extf %{{.*}} : vector<16xbf16> to vector<16xf32>
// CHECK:         cpu.prefetch
// CHECK:         vector.fma
// The first pass stores, the others add.
// CHECK:         %[[FIRST:.*]] = arith.cmpi eq
// CHECK-NEXT:    scf.if %[[FIRST]]
// CHECK-NOT:     arith.addf
// CHECK:         } else {
// CHECK:         arith.addf

// Two rows stay plain loops where the matrix is in the caches.
// NEAR-LABEL: func.func private @rows
// NEAR:         linalg.generic
func.func private @rows(%x: memref<2x512xf32>, %y: memref<512x768xbf16>, %o: memref<2x768xf32>) attributes {hlo.kernel = "dot"} {
  %zero = arith.constant 0.0 : f32
  linalg.fill ins(%zero : f32) outs(%o : memref<2x768xf32>)
  linalg.generic {indexing_maps = [#a, #b, #c], iterator_types = ["parallel", "parallel", "reduction"]} ins(%x, %y : memref<2x512xf32>, memref<512x768xbf16>) outs(%o : memref<2x768xf32>) attrs = {xhlo.contraction} {
  ^bb(%p: f32, %q: bf16, %s: f32):
    %w = arith.extf %q : bf16 to f32
    %r = arith.mulf %p, %w fastmath<reassoc,contract> : f32
    %t = arith.addf %s, %r fastmath<reassoc,contract> : f32
    linalg.yield %t : f32
  }
  func.return
}

// A matrix that comes from memory: 16 of its rows at a time.
// NEAR-LABEL: func.func private @far(
// NEAR:         %[[ROWS:.*]] = arith.constant 16 : index
// NEAR:         scf.for %[[PASS:.*]] = %{{.*}} to %{{.*}} step
// NEAR-NEXT:      arith.muli %[[PASS]], %[[ROWS]] : index
// NEAR:           func.call @far_block(%x, %{{.*}}, %y,
func.func private @far(%x: memref<4x2048xf32>, %y: memref<2048x2048xf32>, %o: memref<4x2048xf32>) attributes {hlo.kernel = "dot"} {
  %zero = arith.constant 0.0 : f32
  linalg.fill ins(%zero : f32) outs(%o : memref<4x2048xf32>)
  linalg.generic {indexing_maps = [#a, #b, #c], iterator_types = ["parallel", "parallel", "reduction"]} ins(%x, %y : memref<4x2048xf32>, memref<2048x2048xf32>) outs(%o : memref<4x2048xf32>) attrs = {xhlo.contraction} {
  ^bb(%p: f32, %q: f32, %s: f32):
    %r = arith.mulf %p, %q fastmath<reassoc,contract> : f32
    %t = arith.addf %s, %r fastmath<reassoc,contract> : f32
    linalg.yield %t : f32
  }
  func.return
}
