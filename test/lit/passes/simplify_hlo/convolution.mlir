// RUN: hlo-opt %s --simplify-hlo | filecheck %s
// RUN: hlo-opt %s --pass-pipeline='simplify-hlo{also=scale-filters,scale-difference}' | filecheck %s --check-prefix=FAST

// CHECK-LABEL: func.func @one_by_one(
// CHECK-NEXT:    %[[W:.*]] = hlo.reshape %w : (tensor<1x1x8x16xf32>) -> tensor<8x16xf32>
// CHECK-NEXT:    %[[R:.*]] = hlo.dot_general %x, %[[W]], contracting_dims = [3] x [0]
// CHECK-NEXT:    return %[[R]]
func.func @one_by_one(%x: tensor<2x5x6x8xf32>, %w: tensor<1x1x8x16xf32>) -> tensor<2x5x6x16xf32> {
  %0 = hlo.convolution(%x, %w) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], window = {stride = [1, 1]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<2x5x6x8xf32>, tensor<1x1x8x16xf32>) -> tensor<2x5x6x16xf32>
  return %0 : tensor<2x5x6x16xf32>
}

// Features first, of one image: the factors change places.

// CHECK-LABEL: func.func @features_first(
// CHECK:         hlo.dot_general %{{.*}}, %x, contracting_dims = [1] x [1]
// CHECK-SAME:    -> tensor<16x1x5x6xf32>
// CHECK-NEXT:    hlo.reshape
func.func @features_first(%x: tensor<1x8x5x6xf32>, %w: tensor<16x8x1x1xf32>) -> tensor<1x16x5x6xf32> {
  %0 = hlo.convolution(%x, %w) dim_numbers = [b, f, 0, 1]x[o, i, 0, 1]->[b, f, 0, 1], window = {} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<1x8x5x6xf32>, tensor<16x8x1x1xf32>) -> tensor<1x16x5x6xf32>
  return %0 : tensor<1x16x5x6xf32>
}

// With several images the result would be transposed; windows that move by two would leave elements out.

// CHECK-LABEL: func.func @others(
// CHECK-COUNT-2: hlo.convolution
func.func @others(%x: tensor<2x8x5x6xf32>, %w: tensor<16x8x1x1xf32>) -> (tensor<2x16x5x6xf32>, tensor<2x16x3x3xf32>) {
  %0 = hlo.convolution(%x, %w) dim_numbers = [b, f, 0, 1]x[o, i, 0, 1]->[b, f, 0, 1], window = {} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<2x8x5x6xf32>, tensor<16x8x1x1xf32>) -> tensor<2x16x5x6xf32>
  %1 = hlo.convolution(%x, %w) dim_numbers = [b, f, 0, 1]x[o, i, 0, 1]->[b, f, 0, 1], window = {stride = [2, 2]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<2x8x5x6xf32>, tensor<16x8x1x1xf32>) -> tensor<2x16x3x3xf32>
  return %0, %1 : tensor<2x16x5x6xf32>, tensor<2x16x3x3xf32>
}

// CHECK-LABEL: func.func @whole_input(
// CHECK:         hlo.dot_general %x, %w, contracting_dims = [3, 1, 2] x [2, 0, 1]
func.func @whole_input(%x: tensor<2x5x6x8xf32>, %w: tensor<5x6x8x16xf32>) -> tensor<2x1x1x16xf32> {
  %0 = hlo.convolution(%x, %w) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], window = {} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<2x5x6x8xf32>, tensor<5x6x8x16xf32>) -> tensor<2x1x1x16xf32>
  return %0 : tensor<2x1x1x16xf32>
}

// A dilated window of a slice, as in the gradient of filters that move by two: the slice leaves out more.

// CHECK-LABEL: func.func @dilated_input(
// CHECK-NEXT:    %[[X:.*]] = hlo.slice %x [0:2, 0:7:2, 0:9:2, 0:8]
// CHECK-NEXT:    %[[R:.*]] = hlo.dot_general %[[X]], %d, contracting_dims = [0, 1, 2] x [0, 1, 2]
func.func @dilated_input(%x: tensor<2x8x10x8xf32>, %d: tensor<2x4x5x16xf32>) -> tensor<1x1x8x16xf32> {
  %0 = hlo.slice %x [0:2, 0:7, 0:9, 0:8] : (tensor<2x8x10x8xf32>) -> tensor<2x7x9x8xf32>
  %1 = hlo.convolution(%0, %d) dim_numbers = [f, 0, 1, b]x[i, 0, 1, o]->[0, 1, b, f], window = {rhs_dilate = [2, 2]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<2x7x9x8xf32>, tensor<2x4x5x16xf32>) -> tensor<1x1x8x16xf32>
  return %1 : tensor<1x1x8x16xf32>
}

// Without a slice the input is not copied.

// CHECK-LABEL: func.func @dilated_whole_input(
// CHECK-NEXT:    hlo.convolution(%x, %d)
func.func @dilated_whole_input(%x: tensor<2x7x9x8xf32>, %d: tensor<2x4x5x16xf32>) -> tensor<1x1x8x16xf32> {
  %0 = hlo.convolution(%x, %d) dim_numbers = [f, 0, 1, b]x[i, 0, 1, o]->[0, 1, b, f], window = {rhs_dilate = [2, 2]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<2x7x9x8xf32>, tensor<2x4x5x16xf32>) -> tensor<1x1x8x16xf32>
  return %0 : tensor<1x1x8x16xf32>
}

// CHECK-LABEL: func.func @transposes(
// CHECK-NEXT:    %[[R:.*]] = hlo.convolution(%x, %w) dim_numbers = [b, f, 0, 1]x[o, i, 0, 1]->[b, f, 0, 1]
// CHECK-NEXT:    return %[[R]]
func.func @transposes(%x: tensor<2x4x5x6xf32>, %w: tensor<3x4x2x2xf32>) -> tensor<2x3x4x5xf32> {
  %0 = hlo.transpose %x, dims = [0, 2, 3, 1] : (tensor<2x4x5x6xf32>) -> tensor<2x5x6x4xf32>
  %1 = hlo.transpose %w, dims = [2, 3, 1, 0] : (tensor<3x4x2x2xf32>) -> tensor<2x2x4x3xf32>
  %2 = hlo.convolution(%0, %1) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], window = {} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<2x5x6x4xf32>, tensor<2x2x4x3xf32>) -> tensor<2x4x5x3xf32>
  %3 = hlo.transpose %2, dims = [0, 3, 1, 2] : (tensor<2x4x5x3xf32>) -> tensor<2x3x4x5xf32>
  return %3 : tensor<2x3x4x5xf32>
}

// A normalization with known statistics is folded into the filters.

// FAST-LABEL: func.func @normalized(
// FAST:         %[[W:.*]] = hlo.multiply %w
// FAST:         %[[C:.*]] = hlo.convolution(%x, %[[W]])
// FAST:         hlo.multiply %mean, %scale
// FAST:         hlo.subtract %[[C]]
// CHECK-LABEL: func.func @normalized(
// CHECK:         hlo.convolution(%x, %w)
func.func @normalized(%x: tensor<2x9x9x4xf32>, %w: tensor<2x2x4x4xf32>, %mean: tensor<4xf32>, %scale: tensor<4xf32>) -> tensor<2x8x8x4xf32> {
  %0 = hlo.convolution(%x, %w) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], window = {} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<2x9x9x4xf32>, tensor<2x2x4x4xf32>) -> tensor<2x8x8x4xf32>
  %1 = hlo.broadcast_in_dim %mean, dims = [3] : (tensor<4xf32>) -> tensor<2x8x8x4xf32>
  %2 = hlo.broadcast_in_dim %scale, dims = [3] : (tensor<4xf32>) -> tensor<2x8x8x4xf32>
  %3 = hlo.subtract %0, %1 : tensor<2x8x8x4xf32>
  %4 = hlo.multiply %3, %2 : tensor<2x8x8x4xf32>
  return %4 : tensor<2x8x8x4xf32>
}
