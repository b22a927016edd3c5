// RUN: hlo-opt %s --convert-contractions-to-vector | filecheck %s

// Each tile of rows adds to partial sums of its own when its part of C is complete; these are added in order at the end.
// CHECK-LABEL: func.func private @means
// CHECK-SAME:    {{.*}}, %[[C:.*]]: memref<512x64xf32>, %[[S:.*]]: memref<64xf32>
// CHECK:         %[[P:.*]] = memref.alloc() : memref<{{.*}}xf32>
// CHECK:         "scf.parallel"
// CHECK:           func.call @means_block
// CHECK:           memref.store {{.*}}, %[[T:.*]][%{{.*}}] : memref<64xf32
// CHECK:           memref.load %[[C]]
// CHECK:           arith.addf
// CHECK:         scf.reduce
// CHECK-NOT:     memref.load %[[C]]
// CHECK:         func.call @means_combine(%[[P]], %{{.*}}, %[[S]],
// CHECK-NOT:     linalg
// CHECK:         func.return
func.func private @means(%x: memref<512x128xf32>, %w: memref<128x64xf32>, %c: memref<512x64xf32>, %s: memref<64xf32>) attributes {hlo.kernel = "dot"} {
  %zero = arith.constant 0.0 : f32
  linalg.fill ins(%zero : f32) outs(%c : memref<512x64xf32>)
  linalg.generic {indexing_maps = [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (k, n)>, affine_map<(m, n, k) -> (m, n)>], iterator_types = ["parallel", "parallel", "reduction"]} ins(%x, %w : memref<512x128xf32>, memref<128x64xf32>) outs(%c : memref<512x64xf32>) attrs = {xhlo.contraction} {
  ^bb0(%0: f32, %1: f32, %2: f32):
    %3 = arith.mulf %0, %1 : f32
    %4 = arith.addf %2, %3 : f32
    linalg.yield %4 : f32
  }
  linalg.fill ins(%zero : f32) outs(%s : memref<64xf32>)
  linalg.generic {indexing_maps = [affine_map<(m, n) -> (m, n)>, affine_map<(m, n) -> (n)>], iterator_types = ["reduction", "parallel"]} ins(%c : memref<512x64xf32>) outs(%s : memref<64xf32>) {
  ^bb0(%5: f32, %6: f32):
    %7 = arith.addf %6, %5 : f32
    linalg.yield %7 : f32
  }
  func.return
}

// Sums of rows, and sums that read what is written after the product, are loops of their own.
// CHECK-LABEL: func.func private @apart
// CHECK:         "scf.parallel"
// CHECK:         linalg.generic
// CHECK:         linalg.generic
// CHECK:         linalg.generic
// CHECK:         func.return
func.func private @apart(%x: memref<512x128xf32>, %w: memref<128x64xf32>, %c: memref<512x64xf32>, %s: memref<512xf32>, %t: memref<64xf32>) attributes {hlo.kernel = "dot"} {
  %zero = arith.constant 0.0 : f32
  %scale = memref.alloc() : memref<64xf32>
  linalg.fill ins(%zero : f32) outs(%c : memref<512x64xf32>)
  linalg.generic {indexing_maps = [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (k, n)>, affine_map<(m, n, k) -> (m, n)>], iterator_types = ["parallel", "parallel", "reduction"]} ins(%x, %w : memref<512x128xf32>, memref<128x64xf32>) outs(%c : memref<512x64xf32>) attrs = {xhlo.contraction} {
  ^bb0(%0: f32, %1: f32, %2: f32):
    %3 = arith.mulf %0, %1 : f32
    %4 = arith.addf %2, %3 : f32
    linalg.yield %4 : f32
  }
  linalg.fill ins(%zero : f32) outs(%s : memref<512xf32>)
  linalg.generic {indexing_maps = [affine_map<(m, n) -> (m, n)>, affine_map<(m, n) -> (m)>], iterator_types = ["parallel", "reduction"]} ins(%c : memref<512x64xf32>) outs(%s : memref<512xf32>) {
  ^bb0(%5: f32, %6: f32):
    %7 = arith.addf %6, %5 : f32
    linalg.yield %7 : f32
  }
  linalg.generic {indexing_maps = [affine_map<(n) -> (0, n)>, affine_map<(n) -> (n)>], iterator_types = ["parallel"]} ins(%w : memref<128x64xf32>) outs(%scale : memref<64xf32>) {
  ^bb0(%8: f32, %9: f32):
    linalg.yield %8 : f32
  }
  linalg.fill ins(%zero : f32) outs(%t : memref<64xf32>)
  linalg.generic {indexing_maps = [affine_map<(m, n) -> (m, n)>, affine_map<(m, n) -> (n)>, affine_map<(m, n) -> (n)>], iterator_types = ["reduction", "parallel"]} ins(%c, %scale : memref<512x64xf32>, memref<64xf32>) outs(%t : memref<64xf32>) {
  ^bb0(%10: f32, %11: f32, %12: f32):
    %13 = arith.mulf %10, %11 : f32
    %14 = arith.addf %12, %13 : f32
    linalg.yield %14 : f32
  }
  func.return
}
