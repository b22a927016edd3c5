// RUN: hlo-opt %s --fuse-hlo --split-input-file | filecheck %s
// RUN: hlo-opt %s --fuse-hlo --fuse-hlo --split-input-file | filecheck %s

// One kernel reads the scale of each block, which is not repeated in memory.

// CHECK-LABEL: func.func @blocks
// CHECK:         %[[SUM:.*]] = hlo.fusion loop
// CHECK:           hlo.broadcast_in_dim %{{.*}}, dims = [0] : (tensor<64xf32>) -> tensor<64x32xf32>
// CHECK:           hlo.add %{{.*}}, %{{.*}} : tensor<64x32xf32>
// CHECK:         %[[JOINED:.*]] = hlo.reshape %[[SUM]] : (tensor<64x32xf32>) -> tensor<2048xf32>
// CHECK-NEXT:    func.return %[[JOINED]]
func.func @blocks(%scale: tensor<64xf32>, %x: tensor<2048xf32>) -> tensor<2048xf32> {
  %0 = hlo.broadcast_in_dim %scale, dims = [0] : (tensor<64xf32>) -> tensor<64x32xf32>
  %1 = hlo.reshape %0 : (tensor<64x32xf32>) -> tensor<2048xf32>
  %2 = hlo.multiply %1, %x : tensor<2048xf32>
  %3 = hlo.constant dense<2.0> : tensor<2048xf32>
  %4 = hlo.add %2, %3 : tensor<2048xf32>
  func.return %4 : tensor<2048xf32>
}

// -----

// The mean of each group, and a gain for each channel: the row fusion writes the result.

// CHECK-LABEL: func.func @groups
// CHECK:         hlo.fusion row<2>
// CHECK:           hlo.reduce
// CHECK:           hlo.broadcast_in_dim %{{.*}}, dims = [1, 2] : (tensor<4x2xf32>) -> tensor<2x4x2x256xf32>
// CHECK-NEXT:      hlo.multiply
// CHECK-NEXT:      hlo.return
// CHECK-NOT:     hlo.fusion
func.func @groups(%x: tensor<2x4x2x256xf32>, %gain: tensor<8xf32>) -> tensor<2x8x256xf32> {
  %zero = hlo.constant dense<0.0> : tensor<f32>
  %0 = hlo.reduce(%x init: %zero) applies hlo.add across dimensions = [2, 3] : (tensor<2x4x2x256xf32>, tensor<f32>) -> tensor<2x4xf32>
  %1 = hlo.broadcast_in_dim %0, dims = [0, 1] : (tensor<2x4xf32>) -> tensor<2x4x2x256xf32>
  %2 = hlo.subtract %x, %1 : tensor<2x4x2x256xf32>
  %3 = hlo.reshape %2 : (tensor<2x4x2x256xf32>) -> tensor<2x8x256xf32>
  %4 = hlo.broadcast_in_dim %gain, dims = [1] : (tensor<8xf32>) -> tensor<2x8x256xf32>
  %5 = hlo.multiply %3, %4 : tensor<2x8x256xf32>
  func.return %5 : tensor<2x8x256xf32>
}

// -----

// Sums of joined dimensions are those of the dimensions before; the differences are not in memory. A reshape that
// splits them again is the other's end.

// CHECK-LABEL: func.func @distances
// CHECK:         hlo.fusion reduce
// CHECK:           hlo.subtract
// CHECK:           hlo.reduce(%{{.*}}) applies hlo.add across dimensions = [2] : (tensor<16x16x32xf32>, tensor<f32>) -> tensor<16x16xf32>
// CHECK-NOT:     hlo.fusion
// CHECK:         hlo.reshape %{{.*}} : (tensor<16x16xf32>) -> tensor<256xf32>
func.func @distances(%a: tensor<16x32xf32>, %b: tensor<16x32xf32>) -> tensor<256xf32> {
  %zero = hlo.constant dense<0.0> : tensor<f32>
  %0 = hlo.broadcast_in_dim %a, dims = [0, 2] : (tensor<16x32xf32>) -> tensor<16x16x32xf32>
  %1 = hlo.broadcast_in_dim %b, dims = [1, 2] : (tensor<16x32xf32>) -> tensor<16x16x32xf32>
  %2 = hlo.subtract %0, %1 : tensor<16x16x32xf32>
  %3 = hlo.reshape %2 : (tensor<16x16x32xf32>) -> tensor<256x32xf32>
  %4 = hlo.multiply %3, %3 : tensor<256x32xf32>
  %5 = hlo.reduce(%4 init: %zero) applies hlo.add across dimensions = [1] : (tensor<256x32xf32>, tensor<f32>) -> tensor<256xf32>
  func.return %5 : tensor<256xf32>
}

// -----

// Nothing is saved where a product takes in what is joined, or a gather reads the result as it stands; elements that are
// repeated a few times would have to be interleaved.

// CHECK-LABEL: func.func @stays
// CHECK:         hlo.add %{{.*}}, %{{.*}} : tensor<64x64xf32>
// CHECK:         hlo.add %{{.*}}, %{{.*}} : tensor<64x64xf32>
// CHECK:         hlo.multiply %{{.*}}, %{{.*}} : tensor<2048xf32>
func.func @stays(%s: tensor<64x4xf32>, %x: tensor<64x64xf32>, %at: tensor<8x1xi32>, %few: tensor<512xf32>, %y: tensor<2048xf32>)
    -> (tensor<64x64xf32>, tensor<8x64xf32>, tensor<2048xf32>) {
  %0 = hlo.broadcast_in_dim %s, dims = [0, 1] : (tensor<64x4xf32>) -> tensor<64x4x16xf32>
  %1 = hlo.reshape %0 : (tensor<64x4x16xf32>) -> tensor<64x64xf32>
  %2 = hlo.dot_general %x, %x, contracting_dims = [1] x [0] : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
  %3 = hlo.add %2, %1 : tensor<64x64xf32>
  %4 = hlo.exponential %s : tensor<64x4xf32>
  %5 = hlo.broadcast_in_dim %4, dims = [0, 1] : (tensor<64x4xf32>) -> tensor<64x4x16xf32>
  %6 = hlo.reshape %5 : (tensor<64x4x16xf32>) -> tensor<64x64xf32>
  %7 = hlo.add %6, %x : tensor<64x64xf32>
  %8 = "hlo.gather"(%7, %at) <{dimension_numbers = #hlo.gather<offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>, slice_sizes = array<i64: 1, 64>}> : (tensor<64x64xf32>, tensor<8x1xi32>) -> tensor<8x64xf32>
  %9 = hlo.broadcast_in_dim %few, dims = [0] : (tensor<512xf32>) -> tensor<512x4xf32>
  %10 = hlo.reshape %9 : (tensor<512x4xf32>) -> tensor<2048xf32>
  %11 = hlo.multiply %10, %y : tensor<2048xf32>
  func.return %3, %8, %11 : tensor<64x64xf32>, tensor<8x64xf32>, tensor<2048xf32>
}
