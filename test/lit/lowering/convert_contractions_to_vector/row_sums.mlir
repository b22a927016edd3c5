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
