// A convolution's tasks copy the rows that they read, with zeros around them, instead of the whole input before.
// RUN: hlo-opt %s --split-input-file --fuse --lower=linalg | filecheck %s --check-prefix=LINALG
// RUN: hlo-opt %s --split-input-file --fuse --lower=linalg --bufferize --convert-contractions-to-vector | filecheck %s

// LINALG: linalg.generic {{.*}} attrs = {{{.*}}xhlo.padding = array<i64: 0, 1, 1, 0>

// CHECK-LABEL: func.func private @dot_0(
// CHECK-NOT:   memref<2x24x24x16xf32>
// CHECK:       memref.alloca() : memref<1152xf32>
// CHECK:       func.call @dot_0_pad(%x
// CHECK:       func.call @dot_0_block(
// CHECK:     func.func private @dot_0_pad(
// CHECK:       scf.if
// CHECK:       } else {
func.func @main(%x: tensor<2x22x22x16xf32>, %w: tensor<3x3x16x32xf32>) -> tensor<2x22x22x32xf32> {
  %0 = stablehlo.convolution(%x, %w) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], window = {pad = [[1, 1], [1, 1]]} {feature_group_count = 1 : i64, batch_group_count = 1 : i64} : (tensor<2x22x22x16xf32>, tensor<3x3x16x32xf32>) -> tensor<2x22x22x32xf32>
  return %0 : tensor<2x22x22x32xf32>
}

// -----

// The tiles of a larger one have eight rows of the output, which need ten of the input; these are copied once.

// CHECK-LABEL: func.func private @dot_0(
// CHECK:       %[[BAND:.*]] = arith.constant 8 : index
// CHECK:       %[[ROWS:.*]] = memref.alloca() : memref<9280xf32>
// CHECK:       func.call @dot_0_pad(%x, %[[ROWS]],
// CHECK:       scf.for %{{.*}} = %{{.*}} to %[[BAND]] step
// CHECK:         func.call @dot_0_block(%[[ROWS]],
func.func @main(%x: tensor<8x56x56x16xf32>, %w: tensor<3x3x16x32xf32>) -> tensor<8x56x56x32xf32> {
  %0 = stablehlo.convolution(%x, %w) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], window = {pad = [[1, 1], [1, 1]]} {feature_group_count = 1 : i64, batch_group_count = 1 : i64} : (tensor<8x56x56x16xf32>, tensor<3x3x16x32xf32>) -> tensor<8x56x56x32xf32>
  return %0 : tensor<8x56x56x32xf32>
}

// -----

// Few rows are not packed: they are copied as bf16, and widened when they are read.

// CHECK-LABEL: func.func private @dot_0(
// CHECK:       %[[NARROW:.*]] = memref.alloca() : memref<210xbf16>
// CHECK:       func.call @dot_0_pad(%x, %[[NARROW]],
// CHECK:         func.call @dot_0_block(%[[NARROW]],
func.func @main(%x: tensor<2x12x4x3xbf16>, %w: tensor<7x5x3x16xbf16>) -> tensor<2x8x1x16xf32> {
  %0 = stablehlo.convolution(%x, %w) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], window = {pad = [[1, 1], [1, 0]]} {feature_group_count = 1 : i64, batch_group_count = 1 : i64} : (tensor<2x12x4x3xbf16>, tensor<7x5x3x16xbf16>) -> tensor<2x8x1x16xf32>
  return %0 : tensor<2x8x1x16xf32>
}

// -----

// An input that is made for the convolution alone is computed where it would be copied; the zeros around it stay zeros.

// CHECK-LABEL: func.func private @dot_0(
// CHECK-NOT:   memref<8x56x56x16xf32>{{$}}
// CHECK:       %[[ROWS:.*]] = memref.alloca() : memref<9280xf32>
// CHECK:       scf.if
// CHECK:         %[[E:.*]] = math.exp
// CHECK:         memref.store %[[E]], %{{.*}} : memref<56x16xf32, strided<[16, 1], offset: ?>>
// CHECK:       } else {
// CHECK:       func.call @dot_0_block(%[[ROWS]],
// CHECK-NOT:   @dot_0_pad
func.func @main(%x: tensor<8x56x56x16xf32>, %w: tensor<3x3x16x32xf32>) -> tensor<8x56x56x32xf32> {
  %0 = stablehlo.exponential %x : tensor<8x56x56x16xf32>
  %1 = stablehlo.convolution(%0, %w) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], window = {pad = [[1, 1], [1, 1]]} {feature_group_count = 1 : i64, batch_group_count = 1 : i64} : (tensor<8x56x56x16xf32>, tensor<3x3x16x32xf32>) -> tensor<8x56x56x32xf32>
  return %1 : tensor<8x56x56x32xf32>
}

// -----

// A first layer that moves by two multiplies each element that it copies 23 times for one row, and up to 34 for a band.
// CHECK-LABEL: func.func private @dot_0(
// CHECK-SAME:      %x: memref<8x56x56x3xf32>,
// CHECK-NOT:     memref<8x58x58x3xf32>
// CHECK:         memref.alloca() : memref<{{.*}}xf32>
// CHECK:         func.call @dot_0_pad(%x,
func.func @main(%x: tensor<8x56x56x3xf32>, %w: tensor<3x3x3x16xf32>) -> tensor<8x28x28x16xf32> {
  %0 = hlo.convolution(%x, %w) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], window = {stride = [2, 2], pad = [[1, 1], [1, 1]]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<8x56x56x3xf32>, tensor<3x3x3x16xf32>) -> tensor<8x28x28x16xf32>
  return %0 : tensor<8x28x28x16xf32>
}

// -----

// The features of a group, which lie 64 elements apart, are copied and padded by themselves: rows of 58 * 16 elements.

// CHECK-LABEL: func.func private @dot_0(
// CHECK-SAME:      %x: memref<8x56x56x64xf32>,
// CHECK-NOT:     memref<8x58x58x64xf32>
// CHECK:         %[[ROWS:.*]] = memref.alloca() : memref<14848xf32>
// CHECK:         func.call @dot_0_pad(%x, %[[ROWS]],
// CHECK:         func.call @dot_0_block(%[[ROWS]],
// CHECK:       func.func private @dot_0_pad(
// CHECK:         memref.reinterpret_cast %{{.*}} sizes: [56, 16], strides: [64, 1]
// CHECK:         memref.reinterpret_cast %{{.*}} sizes: [56, 16], strides: [16, 1]
func.func @main(%x: tensor<8x56x56x64xf32>, %w: tensor<3x3x16x64xf32>) -> tensor<8x56x56x64xf32> {
  %0 = stablehlo.convolution(%x, %w) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], window = {pad = [[1, 1], [1, 1]]} {feature_group_count = 4 : i64, batch_group_count = 1 : i64} : (tensor<8x56x56x64xf32>, tensor<3x3x16x64xf32>) -> tensor<8x56x56x64xf32>
  return %0 : tensor<8x56x56x64xf32>
}

// -----

// So is an input that is made for it, if the features of a group of the result fill vectors.

// CHECK-LABEL: func.func private @dot_0(
// CHECK-NOT:     memref<8x56x56x64xf32>{{$}}
// CHECK:         %[[ROWS:.*]] = memref.alloca() : memref<{{.*}}xf32>
// CHECK:         %[[E:.*]] = math.exp
// CHECK:         memref.store %[[E]], %{{.*}} : memref<56x32xf32, strided<[32, 1], offset: ?>>
// CHECK:         func.call @dot_0_block(%[[ROWS]],
func.func @main(%x: tensor<8x56x56x64xf32>, %w: tensor<3x3x32x64xf32>) -> tensor<8x56x56x64xf32> {
  %0 = stablehlo.exponential %x : tensor<8x56x56x64xf32>
  %1 = stablehlo.convolution(%0, %w) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], window = {pad = [[1, 1], [1, 1]]} {feature_group_count = 2 : i64, batch_group_count = 1 : i64} : (tensor<8x56x56x64xf32>, tensor<3x3x32x64xf32>) -> tensor<8x56x56x64xf32>
  return %1 : tensor<8x56x56x64xf32>
}
