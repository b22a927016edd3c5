// RUN: hlo-opt %s --fuse-hlo | filecheck %s
// RUN: hlo-opt %s --fuse-hlo --fuse-remarks -o %t 2>&1 | filecheck %s --check-prefix=REMARK
// RUN: hlo-opt %s --pass-pipeline='fuse-hlo{epilogues=dots}' | filecheck %s --check-prefix=APART

// What follows an image's convolution at other indices is computed in its kernel.

// REMARK-DAG: remark: fused hlo.convolution with hlo.slice, its epilogue: saves 8192 bytes
// CHECK-LABEL: func.func @pooled(
// CHECK:         hlo.fusion dot
// CHECK:           hlo.convolution
// CHECK:           hlo.maximum
// CHECK-NOT:     hlo.fusion
// APART-LABEL: func.func @pooled(
// APART:         hlo.fusion custom
// APART:         hlo.fusion loop
func.func @pooled(%x: tensor<4x8x4x8xf32>, %w: tensor<1x1x8x8xf32>) -> tensor<4x4x4x8xf32> {
  %0 = hlo.convolution(%x, %w) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], window = {} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<4x8x4x8xf32>, tensor<1x1x8x8xf32>) -> tensor<4x8x4x8xf32>
  %1 = hlo.slice %0 [0:4, 0:8:2, 0:4, 0:8] : (tensor<4x8x4x8xf32>) -> tensor<4x4x4x8xf32>
  %2 = hlo.slice %0 [0:4, 1:8:2, 0:4, 0:8] : (tensor<4x8x4x8xf32>) -> tensor<4x4x4x8xf32>
  %3 = hlo.maximum %1, %2 : tensor<4x4x4x8xf32>
  return %3 : tensor<4x4x4x8xf32>
}

// What makes a convolution's operand, and nothing else reads, too: here of a gradient that sums over the images, which
// are in the first dimension of both.

// REMARK-DAG: remark: fused hlo.negate into the dot fusion of hlo.convolution: saves 8192 bytes
// CHECK-LABEL: func.func @spread(
// CHECK:         hlo.fusion dot
// CHECK:           hlo.broadcast_in_dim
// CHECK:           hlo.reshape
// CHECK:           hlo.convolution
// CHECK-NOT:     hlo.fusion
func.func @spread(%x: tensor<4x8x4x8xf32>, %g: tensor<4x4x4x8xf32>) -> tensor<1x1x8x8xf32> {
  %0 = hlo.broadcast_in_dim %g, dims = [0, 1, 3, 4] : (tensor<4x4x4x8xf32>) -> tensor<4x4x2x4x8xf32>
  %1 = hlo.negate %0 : tensor<4x4x2x4x8xf32>
  %2 = hlo.reshape %1 : (tensor<4x4x2x4x8xf32>) -> tensor<4x8x4x8xf32>
  %3 = hlo.convolution(%x, %2) dim_numbers = [f, 0, 1, b]x[i, 0, 1, o]->[0, 1, b, f], window = {} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<4x8x4x8xf32>, tensor<4x8x4x8xf32>) -> tensor<1x1x8x8xf32>
  return %3 : tensor<1x1x8x8xf32>
}

// Not what mixes images, what has channels first, and images that are too large for the cache.

// CHECK-LABEL: func.func @reversed(
// CHECK-COUNT-2: hlo.fusion
func.func @reversed(%x: tensor<4x8x4x8xf32>, %w: tensor<1x1x8x8xf32>) -> tensor<4x8x4x8xf32> {
  %0 = hlo.convolution(%x, %w) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], window = {} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<4x8x4x8xf32>, tensor<1x1x8x8xf32>) -> tensor<4x8x4x8xf32>
  %1 = hlo.reverse %0, dims = [0] : tensor<4x8x4x8xf32>
  return %1 : tensor<4x8x4x8xf32>
}

// CHECK-LABEL: func.func @channels_first(
// CHECK-COUNT-2: hlo.fusion
func.func @channels_first(%x: tensor<4x8x8x4xf32>, %w: tensor<1x1x8x8xf32>) -> tensor<4x8x4x4xf32> {
  %0 = hlo.convolution(%x, %w) dim_numbers = [b, f, 0, 1]x[0, 1, i, o]->[b, f, 0, 1], window = {} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<4x8x8x4xf32>, tensor<1x1x8x8xf32>) -> tensor<4x8x8x4xf32>
  %1 = hlo.slice %0 [0:4, 0:8, 0:8:2, 0:4] : (tensor<4x8x8x4xf32>) -> tensor<4x8x4x4xf32>
  return %1 : tensor<4x8x4x4xf32>
}

// CHECK-LABEL: func.func @large(
// CHECK-COUNT-2: hlo.fusion
func.func @large(%x: tensor<2x128x64x8xf32>, %w: tensor<1x1x8x8xf32>) -> tensor<2x64x64x8xf32> {
  %0 = hlo.convolution(%x, %w) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], window = {} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<2x128x64x8xf32>, tensor<1x1x8x8xf32>) -> tensor<2x128x64x8xf32>
  %1 = hlo.slice %0 [0:2, 0:128:2, 0:64, 0:8] : (tensor<2x128x64x8xf32>) -> tensor<2x64x64x8xf32>
  return %1 : tensor<2x64x64x8xf32>
}
