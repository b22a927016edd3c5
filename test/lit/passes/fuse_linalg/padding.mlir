// What makes the input that a convolution pads stays apart, so that tasks compute the rows that they pad; a small image
// is padded as it is computed.
// RUN: hlo-opt %s --split-input-file --fuse --outline-kernels --convert-hlo-to-linalg --fuse-linalg | filecheck %s

// CHECK-LABEL: func.func private @dot_0(
// CHECK:       linalg.generic
// CHECK:         math.exp
// CHECK:       linalg.generic {{.*}}xhlo.padding = array<i64: 0, 1, 1, 0>
// CHECK-NOT:     math.exp
// CHECK:       linalg.generic {{.*}}xhlo.contraction
func.func @main(%x: tensor<8x56x56x16xf32>, %w: tensor<3x3x16x32xf32>) -> tensor<8x56x56x32xf32> {
  %0 = stablehlo.exponential %x : tensor<8x56x56x16xf32>
  %1 = stablehlo.convolution(%0, %w) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], window = {pad = [[1, 1], [1, 1]]} {feature_group_count = 1 : i64, batch_group_count = 1 : i64} : (tensor<8x56x56x16xf32>, tensor<3x3x16x32xf32>) -> tensor<8x56x56x32xf32>
  return %1 : tensor<8x56x56x32xf32>
}

// -----

// CHECK-LABEL: func.func private @dot_0(
// CHECK-NOT:   xhlo.padding
// CHECK:       math.exp
// CHECK:       linalg.generic {{.*}}xhlo.contraction
func.func @main(%x: tensor<8x20x20x16xf32>, %w: tensor<3x3x16x32xf32>) -> tensor<8x20x20x32xf32> {
  %0 = stablehlo.exponential %x : tensor<8x20x20x16xf32>
  %1 = stablehlo.convolution(%0, %w) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], window = {pad = [[1, 1], [1, 1]]} {feature_group_count = 1 : i64, batch_group_count = 1 : i64} : (tensor<8x20x20x16xf32>, tensor<3x3x16x32xf32>) -> tensor<8x20x20x32xf32>
  return %1 : tensor<8x20x20x32xf32>
}
