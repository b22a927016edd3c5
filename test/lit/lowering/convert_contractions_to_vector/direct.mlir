// RUN: hlo-opt %s --convert-contractions-to-vector | filecheck %s

// Overlapping windows are read in place: only the kernel is packed, 192 rows of 192.
// CHECK-LABEL: @kernel
// CHECK:         memref.alloc() : memref<36864xf32>
// CHECK-NOT:     memref.alloc
// CHECK:         "scf.parallel"
// CHECK:           func.call @kernel_block(%x,
// CHECK-NOT:     linalg.generic
// CHECK:       func.func private @kernel_block({{.*}}, %[[ROW:.*]]: index) attributes
// CHECK:         %[[FIRST:.*]] = arith.addi %{{.*}}, %{{.*}} : index
// CHECK:         vector.fma
// CHECK:         %[[SECOND:.*]] = arith.addi %[[FIRST]], %[[ROW]] : index
// CHECK-NEXT:    memref.reinterpret_cast %{{.*}} to offset: [%[[SECOND]]], sizes: [1], strides: [1] : memref<8x66x64xf32>
func.func private @kernel(%x: memref<8x66x64xf32>, %w: memref<3x64x192xf32>, %0: memref<8x64x192xf32>) attributes {hlo.kernel = "custom"} {
  %1 = arith.constant 0.000000e+00 : f32
  linalg.fill ins(%1 : f32) outs(%0 : memref<8x64x192xf32>)
  %2 = memref.alloc() : memref<1xi1>
  linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3, d4, d5) -> (d0, (d1 + d4), d5)>, affine_map<(d0, d1, d2, d3, d4, d5) -> (d4, d5, d3)>, affine_map<(d0, d1, d2, d3, d4, d5) -> (d2)>, affine_map<(d0, d1, d2, d3, d4, d5) -> (d0, d1, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction", "reduction"]} ins(%x, %w, %2 : memref<8x66x64xf32>, memref<3x64x192xf32>, memref<1xi1>) outs(%0 : memref<8x64x192xf32>) attrs =  {xhlo.contraction, xhlo.loop_sizes = array<i64: 8, 64, 1, 192, 3, 64>} {
  ^bb0(%3: f32, %4: f32, %5: i1, %6: f32):
    %7 = arith.mulf %3, %4 fastmath<reassoc,contract> : f32
    %8 = arith.addf %6, %7 fastmath<reassoc,contract> : f32
    linalg.yield %8 : f32
  }
  func.return
}
