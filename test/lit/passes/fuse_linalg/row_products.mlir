// RUN: hlo-opt %s --fuse-linalg | filecheck %s
// RUN: hlo-opt %s --fuse-linalg --print-locations | filecheck %s --check-prefix=LOCATIONS

// A product of rows reads a slice of its factor at other indices, and writes the transpose that alone is wanted.
// CHECK-LABEL: @strided
// CHECK:         linalg.fill {{.*}} -> tensor<8x2xf32>
// CHECK-NEXT:    %[[R:.*]] = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d2)>, affine_map<(d0, d1, d2) -> ((d1 + 2), d2)>, affine_map<(d0, d1, d2) -> (d1, d0)>]
// CHECK-SAME:    ins(%x, %y :
// CHECK-SAME:    outs({{.*}} : tensor<8x2xf32>)
// CHECK-SAME:    xhlo.loop_sizes = array<i64: 2, 8, 4>
// CHECK:         func.return %[[R]]
// LOCATIONS-LABEL: @strided
// LOCATIONS:     linalg.fill {{.*}} -> tensor<8x2xf32> loc(#loc
func.func private @strided(%x: tensor<2x4xf32>, %y: tensor<12x4xf32>, %z: f32) -> tensor<8x2xf32> attributes {hlo.kernel = "row", hlo.row_dims = 1 : i64} {
  %0 = tensor.empty() : tensor<8x4xf32>
  %s = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> ((d0 + 2), d1)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%y : tensor<12x4xf32>) outs(%0 : tensor<8x4xf32>) {
  ^bb0(%1: f32, %2: f32):
    linalg.yield %1 : f32
  } -> tensor<8x4xf32>
  %3 = tensor.empty() : tensor<2x8xf32>
  %4 = linalg.fill ins(%z : f32) outs(%3 : tensor<2x8xf32>) -> tensor<2x8xf32>
  %p = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d2)>, affine_map<(d0, d1, d2) -> (d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1)>], iterator_types = ["parallel", "parallel", "reduction"]} ins(%x, %s : tensor<2x4xf32>, tensor<8x4xf32>) outs(%4 : tensor<2x8xf32>) attrs = {xhlo.contraction} {
  ^bb0(%5: f32, %6: f32, %7: f32):
    %8 = arith.mulf %5, %6 : f32
    %9 = arith.addf %7, %8 : f32
    linalg.yield %9 : f32
  } -> tensor<2x8xf32>
  %10 = tensor.empty() : tensor<8x2xf32>
  %t = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d1, d0)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%p : tensor<2x8xf32>) outs(%10 : tensor<8x2xf32>) {
  ^bb0(%11: f32, %12: f32):
    linalg.yield %11 : f32
  } -> tensor<8x2xf32>
  func.return %t : tensor<8x2xf32>
}
