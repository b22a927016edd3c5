// The gradient of depthwise filters, channels first: both images have rows along which it sums. A task pads the planes
// that its sums go over; a block keeps the lanes of a window's nine sums in registers, where rows of 14 are two vectors
// that overlap, and adds them in the end without those that both have.
// RUN: hlo-opt %s --fuse --lower=linalg --bufferize --convert-contractions-to-vector='vector-bits=256 registers=32' | filecheck %s

// CHECK:     func.func private @dot_0(
// CHECK:         memref.alloca() : memref<512xf32>
// CHECK:         func.call @dot_0_pad(%x
// CHECK:         func.call @dot_0_lanes(
// CHECK:     func.func private @dot_0_lanes(
// CHECK:       scf.for {{.*}} -> (vector<8xf32>, vector<8xf32>
// CHECK-COUNT-14: vector.load {{.*}} : memref<98xf32
// CHECK:         memref.reinterpret_cast {{.*}} sizes: [144]
// CHECK-COUNT-4: vector.fma
// CHECK-NOT:   scf.for
// CHECK:       vector.shuffle {{.*}} [0, 1, 10, 11, 12, 13, 14, 15]
// CHECK:       vector.store {{.*}} vector<1xf32>
func.func @main(%x: tensor<2x32x14x14xf32>, %dy: tensor<2x32x14x14xf32>) -> tensor<32x1x3x3xf32> {
  %0 = hlo.convolution(%x, %dy) dim_numbers = [f, b, 0, 1]x[i, o, 0, 1]->[f, b, 0, 1], window = {pad = [[1, 1], [1, 1]]} {batch_group_count = 32 : i64, feature_group_count = 1 : i64} : (tensor<2x32x14x14xf32>, tensor<2x32x14x14xf32>) -> tensor<32x1x3x3xf32>
  return %0 : tensor<32x1x3x3xf32>
}

// Rows that are read once are loops: nothing is read again in registers.
// CHECK:     func.func private @dot_1(
// CHECK-NOT:   dot_1_lanes
// CHECK:       linalg.generic
func.func @rows(%x: tensor<64x16x32xf32>, %y: tensor<64x16x32xf32>) -> tensor<64xf32> {
  %0 = stablehlo.dot_general %x, %y, batching_dims = [0] x [0], contracting_dims = [1, 2] x [1, 2] : (tensor<64x16x32xf32>, tensor<64x16x32xf32>) -> tensor<64xf32>
  return %0 : tensor<64xf32>
}

// The gradient of a convolution's input, channels last, sums along rows of both factors too. Where its features are two
// whole vectors, the filters, of fewer elements than the result, are packed as the columns of a matrix product.
// CHECK:     func.func private @dot_2(
// CHECK-NOT:   dot_2_lanes
// CHECK:       func.call @dot_2_block
func.func @input(%dy: tensor<1x9x9x8xf32>, %w: tensor<3x3x16x8xf32>) -> tensor<1x9x9x16xf32> {
  %0 = hlo.convolution(%dy, %w) dim_numbers = [b, 0, 1, f]x[0, 1, o, i]->[b, 0, 1, f], window = {pad = [[1, 1], [1, 1]]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<1x9x9x8xf32>, tensor<3x3x16x8xf32>) -> tensor<1x9x9x16xf32>
  return %0 : tensor<1x9x9x16xf32>
}

// One vector of features is faster along the rows.
// CHECK:     func.func private @dot_3(
// CHECK:       func.call @dot_3_lanes
func.func @eight_features(%dy: tensor<1x9x9x16xf32>, %w: tensor<3x3x8x16xf32>) -> tensor<1x9x9x8xf32> {
  %0 = hlo.convolution(%dy, %w) dim_numbers = [b, 0, 1, f]x[0, 1, o, i]->[b, 0, 1, f], window = {pad = [[1, 1], [1, 1]]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<1x9x9x16xf32>, tensor<3x3x8x16xf32>) -> tensor<1x9x9x8xf32>
  return %0 : tensor<1x9x9x8xf32>
}
