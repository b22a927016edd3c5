// RUN: hlo-opt %s --fuse --lower=linalg --bufferize --convert-contractions-to-vector='vector-bits=512' | filecheck %s

// A convolution whose features come before its places stores columns of each block, as vectors of places.
// CHECK-LABEL: func.func private @dot_0(%x: {{.*}}, %w: {{.*}}, %[[OUT:.*]]: memref<2x32x28x28xf32>)
// CHECK:         func.call @dot_0_block(
// CHECK:       func.func private @dot_0_block(
// CHECK:         vector.fma
// CHECK:         scf.yield
// CHECK:         vector.shuffle
// CHECK:         vector.store %{{.*}} : memref<{{[0-9]+}}xf32, strided<[1], offset: ?>>, vector<8xf32>
// CHECK:         vector.store %{{.*}} : memref<{{[0-9]+}}xf32, strided<[1], offset: ?>>, vector<8xf32>
func.func @main(%x: tensor<2x30x30x16xf32>, %w: tensor<3x3x16x32xf32>) -> tensor<2x32x28x28xf32> {
  %0 = stablehlo.convolution(%x, %w) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, f, 0, 1], window = {} {feature_group_count = 1 : i64, batch_group_count = 1 : i64} : (tensor<2x30x30x16xf32>, tensor<3x3x16x32xf32>) -> tensor<2x32x28x28xf32>
  return %0 : tensor<2x32x28x28xf32>
}
