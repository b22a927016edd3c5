// The gradient of a convolution reads its filters backwards where they are.
// RUN: hlo-opt %s --fuse-hlo | filecheck %s
// RUN: hlo-opt %s --fuse-hlo --fuse-hlo | filecheck %s
// RUN: hlo-opt %s --fuse-hlo=epilogues=dots | filecheck %s --check-prefix=DOTS
// RUN: hlo-opt %s --fuse-hlo --outline-kernels --convert-hlo-to-linalg --fuse-linalg | filecheck %s --check-prefix=LINALG

// The step that reads the same filters is not a reason to write them reversed.

// CHECK-LABEL: func.func @gradient
// CHECK:         hlo.fusion dot (%{{.*}} = %w : tensor<3x3x64x64xf32>, {{.*}}) -> tensor<2x14x14x64xf32> {
// CHECK:           hlo.reverse
// CHECK:           hlo.convolution
// CHECK:         hlo.fusion loop
// CHECK-NOT:     hlo.reverse

// Where kernels do not read factors through others, what reads the filters anyway reverses them.

// DOTS-LABEL: func.func @gradient
// DOTS:         hlo.fusion loop (%{{.*}} = %w : tensor<3x3x64x64xf32>) -> (tensor<3x3x64x64xf32>, tensor<3x3x64x64xf32>) {
// DOTS:         hlo.fusion custom

// LINALG-LABEL: func.func private @dot_0
// LINALG-NOT:     tensor.empty() : tensor<3x3x64x64xf32>
// LINALG:         linalg.generic {indexing_maps = [{{.*}}, affine_map<(d0, d1, d2, d3, d4, d5, d6, d7) -> (((d5 * -1) + 2), ((d6 * -1) + 2),
func.func @gradient(%g: tensor<2x16x16x64xf32>, %w: tensor<3x3x64x64xf32>) -> (tensor<2x14x14x64xf32>, tensor<3x3x64x64xf32>) {
  %0 = hlo.reverse %w, dims = [0, 1] : tensor<3x3x64x64xf32>
  %1 = hlo.convolution(%g, %0) dim_numbers = [b, 0, 1, f]x[0, 1, o, i]->[b, 0, 1, f], window = {} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<2x16x16x64xf32>, tensor<3x3x64x64xf32>) -> tensor<2x14x14x64xf32>
  %2 = hlo.multiply %w, %w : tensor<3x3x64x64xf32>
  func.return %1, %2 : tensor<2x14x14x64xf32>, tensor<3x3x64x64xf32>
}

// With few channels the kernel copies the filters, in no time.

// CHECK-LABEL: func.func @few_channels

// LINALG-LABEL: func.func private @dot_1
// LINALG:         -> (((d0 * -1) + 63), ((d1 * -1) + 63), d2, d3)
func.func @few_channels(%g: tensor<1x70x70x8xf32>, %w: tensor<64x64x1x8xf32>) -> tensor<1x7x7x1xf32> {
  %0 = hlo.reverse %w, dims = [0, 1] : tensor<64x64x1x8xf32>
  %1 = hlo.convolution(%g, %0) dim_numbers = [b, 0, 1, f]x[0, 1, o, i]->[b, 0, 1, f], window = {} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<1x70x70x8xf32>, tensor<64x64x1x8xf32>) -> tensor<1x7x7x1xf32>
  func.return %1 : tensor<1x7x7x1xf32>
}
