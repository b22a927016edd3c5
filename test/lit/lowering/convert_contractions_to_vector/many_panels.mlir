// The gradient of the filters of a first layer in three dimensions has nine panels of rows, one for each line of a filter:
// where registers are few, all read a row of the gradient of the results in place; else it is packed beforehand.
// RUN: hlo-opt %s --fuse --lower=linalg --bufferize --convert-contractions-to-vector='vector-bits=256 registers=16' | filecheck %s --check-prefix=FEW
// RUN: hlo-opt %s --fuse --lower=linalg --bufferize --convert-contractions-to-vector='vector-bits=512 registers=32' | filecheck %s --check-prefix=MANY

// FEW-LABEL:  func.func private @dot_0(
// FEW-SAME:       %dy: memref<2x32x32x32x64xf32>
// FEW-NOT:      @dot_0_pack
// FEW:          func.call @dot_0_block(%{{.*}}, %{{.*}}, %dy,

// MANY-LABEL: func.func private @dot_0(
// MANY:         func.call @dot_0_pack(%dy,
func.func @main(%x: tensor<2x32x32x32x1xf32>, %dy: tensor<2x32x32x32x64xf32>) -> tensor<3x3x3x1x64xf32> {
  %0 = stablehlo.convolution(%x, %dy) dim_numbers = [f, 0, 1, 2, b]x[i, 0, 1, 2, o]->[0, 1, 2, b, f], window = {stride = [1, 1, 1], pad = [[1, 1], [1, 1], [1, 1]]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<2x32x32x32x1xf32>, tensor<2x32x32x32x64xf32>) -> tensor<3x3x3x1x64xf32>
  return %0 : tensor<3x3x3x1x64xf32>
}
