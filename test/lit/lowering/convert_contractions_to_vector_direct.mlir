// RUN: hlo-opt %s --convert-hlo-to-linalg --bufferize --convert-contractions-to-vector | filecheck %s

// Windows that overlap are read where they lie: only the kernel is packed, 192 rows of 96.
// CHECK-LABEL: @kernel
// CHECK:         memref.alloc() : memref<18432xf32>
// CHECK-NOT:     memref.alloc
// CHECK:         "scf.parallel"
// CHECK:           func.call @kernel_block(%x,
// CHECK-NOT:     linalg.generic
// CHECK-LABEL: func.func private @kernel_block(
// CHECK:         memref.reinterpret_cast %{{.*}} sizes: [8], strides: [64] : memref<8x66x64xf32>
// CHECK:         vector.fma
func.func private @kernel(%x: tensor<8x66x64xf32>, %w: tensor<3x64x96xf32>) -> tensor<8x64x96xf32> attributes {hlo.kernel = "custom"} {
  %0 = hlo.convolution(%x, %w) dim_numbers = [b, 0, f]x[0, i, o]->[b, 0, f], window = {} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<8x66x64xf32>, tensor<3x64x96xf32>) -> tensor<8x64x96xf32>
  return %0 : tensor<8x64x96xf32>
}
