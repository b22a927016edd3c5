// RUN: hlo-opt %s --fuse --lower=linalg --bufferize --convert-contractions-to-vector | filecheck %s

// Each task takes images through the convolution and what follows. Only one image of the convolution's result is in
// memory: a buffer on the stack.

// CHECK-LABEL: func.func private @dot_0(
// CHECK:         func.call @dot_0_pack(%w
// CHECK:         "scf.parallel"
// CHECK-DAG:       memref.alloca() : memref<8x8x16xf32>
// CHECK-DAG:       memref.alloca() : memref<10x10x16xf32>
// CHECK:           func.call @dot_0_block(
// CHECK:           arith.maximumf
// CHECK:         return
// CHECK-LABEL: func.func private @dot_0_block(
func.func @pooled(%x: tensor<8x8x8x16xf32>, %w: tensor<3x3x16x16xf32>) -> tensor<8x4x8x16xf32> {
  %0 = hlo.convolution(%x, %w) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], window = {pad = [[1, 1], [1, 1]]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<8x8x8x16xf32>, tensor<3x3x16x16xf32>) -> tensor<8x8x8x16xf32>
  %1 = hlo.slice %0 [0:8, 0:8:2, 0:8, 0:16] : (tensor<8x8x8x16xf32>) -> tensor<8x4x8x16xf32>
  %2 = hlo.slice %0 [0:8, 1:8:2, 0:8, 0:16] : (tensor<8x8x8x16xf32>) -> tensor<8x4x8x16xf32>
  %3 = hlo.maximum %1, %2 : tensor<8x4x8x16xf32>
  return %3 : tensor<8x4x8x16xf32>
}
