// RUN: hlo-opt %s --convert-contractions-to-vector | filecheck %s

// The columns of B are added up panel by panel, after each is packed; the pieces are added in order at the end.
// CHECK-LABEL: func.func private @gradients
// CHECK-SAME:    %[[X:.*]]: memref<256x176xf32>, %[[D:.*]]: memref<256x192xf32>, {{.*}}, %[[S:.*]]: memref<192xf32>
// CHECK:         %[[P:.*]] = memref.alloc() : memref<192xf32>
// CHECK-NOT:     memref.load %[[D]]
// CHECK:         func.call @gradients_pack{{.*}}(%[[D]],
// CHECK:         func.call @gradients_sums({{.*}}, %[[P]],
// CHECK-NOT:     linalg.fill
// CHECK:         memref.load %[[P]]
// CHECK:         memref.store {{.*}}, %[[S]]
// CHECK:         func.return
func.func private @gradients(%x: memref<256x176xf32>, %d: memref<256x192xf32>, %c: memref<176x192xf32>, %s: memref<192xf32>) attributes {hlo.kernel = "dot"} {
  %zero = arith.constant 0.0 : f32
  linalg.fill ins(%zero : f32) outs(%c : memref<176x192xf32>)
  linalg.generic {indexing_maps = [affine_map<(m, n, k) -> (k, m)>, affine_map<(m, n, k) -> (k, n)>, affine_map<(m, n, k) -> (m, n)>], iterator_types = ["parallel", "parallel", "reduction"]} ins(%x, %d : memref<256x176xf32>, memref<256x192xf32>) outs(%c : memref<176x192xf32>) attrs = {xhlo.contraction} {
  ^bb0(%0: f32, %1: f32, %2: f32):
    %3 = arith.mulf %0, %1 : f32
    %4 = arith.addf %2, %3 : f32
    linalg.yield %4 : f32
  }
  linalg.fill ins(%zero : f32) outs(%s : memref<192xf32>)
  linalg.generic {indexing_maps = [affine_map<(n, k) -> (k, n)>, affine_map<(n, k) -> (n)>], iterator_types = ["parallel", "reduction"]} ins(%d : memref<256x192xf32>) outs(%s : memref<192xf32>) {
  ^bb0(%5: f32, %6: f32):
    %7 = arith.addf %6, %5 : f32
    linalg.yield %7 : f32
  }
  func.return
}
