// RUN: hlo-opt %s --convert-hlo-to-linalg | filecheck %s

// A generic over (batch, height, width, group, output feature, window.., input feature).
// CHECK-LABEL: @kernel
// CHECK:         %[[ZERO:.*]] = linalg.fill ins(%{{.*}} : f32)
// CHECK:         linalg.generic
// CHECK-SAME:      affine_map<(d0, d1, d2, d3, d4, d5, d6, d7) -> (d0, ((d1 * 2) + d5), (d2 + (d6 * 4)), ((d3 * 3) + d7))>
// CHECK-SAME:      affine_map<(d0, d1, d2, d3, d4, d5, d6, d7) -> (d5, d6, d7, ((d3 * 2) + d4))>
// CHECK-SAME:      affine_map<(d0, d1, d2, d3, d4, d5, d6, d7) -> (d0, d1, d2, ((d3 * 2) + d4))>
// CHECK-SAME:      outs(%[[ZERO]] : tensor<2x4x4x4xf32>)
// CHECK-SAME:      xhlo.contraction, xhlo.loop_sizes = array<i64: 2, 4, 4, 2, 2, 3, 2, 3>
// CHECK:           %[[PRODUCT:[0-9]+]] = arith.mulf %{{[0-9]+}}, %{{[0-9]+}} fastmath<reassoc,contract>
// CHECK:           arith.addf %{{[0-9]+}}, %[[PRODUCT]] fastmath<reassoc,contract>
func.func private @kernel(%x: tensor<2x9x8x6xf32>, %w: tensor<3x2x3x4xf32>) -> tensor<2x4x4x4xf32> attributes {hlo.kernel = "custom"} {
  %0 = hlo.convolution(%x, %w) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], window = {stride = [2, 1], rhs_dilate = [1, 4]} {batch_group_count = 1 : i64, feature_group_count = 2 : i64} : (tensor<2x9x8x6xf32>, tensor<3x2x3x4xf32>) -> tensor<2x4x4x4xf32>
  return %0 : tensor<2x4x4x4xf32>
}
