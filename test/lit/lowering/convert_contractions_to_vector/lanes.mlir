// A depthwise convolution: a task copies the rows that its band reads, with zeros around them; a block of sums takes
// vectors of both factors, and rows share those of the input that they both read.
// All are at known places of one view of a factor.
// RUN: hlo-opt %s --fuse --lower=linalg --bufferize --convert-contractions-to-vector | filecheck %s

// CHECK:     func.func private @dot_0(
// CHECK:       func.call @dot_0_pad(%x
// CHECK:       func.call @dot_0_lanes(
// CHECK:     func.func private @dot_0_lanes(
// CHECK:       scf.for
// CHECK:       memref.reinterpret_cast {{.*}} sizes: [48]
// CHECK-COUNT-3: vector.load {{.*}} : memref<48xf32
// CHECK:       memref.reinterpret_cast {{.*}} sizes: [208]
// CHECK-NEXT:  vector.load
// CHECK-NEXT:  vector.fma
// CHECK-NOT:   memref.reinterpret_cast
// CHECK:       scf.yield
// CHECK-NEXT:  }
// CHECK-NEXT:  memref.reinterpret_cast {{.*}} sizes: [176]
// CHECK-COUNT-11: vector.store
// CHECK-NEXT:  func.return
func.func @main(%x: tensor<2x22x22x16xf32>, %w: tensor<3x3x1x16xf32>) -> tensor<2x22x22x16xf32> {
  %0 = stablehlo.convolution(%x, %w) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], window = {pad = [[1, 1], [1, 1]]} {feature_group_count = 16 : i64, batch_group_count = 1 : i64} : (tensor<2x22x22x16xf32>, tensor<3x3x1x16xf32>) -> tensor<2x22x22x16xf32>
  return %0 : tensor<2x22x22x16xf32>
}

// A vector by a matrix with long rows reads each row of it once: blocks would read strips of the rows.
// CHECK:     func.func private @dot_1(
// CHECK-NOT:   dot_1_lanes
// CHECK:       linalg.generic
func.func @vector_by_matrix(%x: tensor<1x64xf32>, %y: tensor<64x512xf32>) -> tensor<1x512xf32> {
  %0 = stablehlo.dot_general %x, %y, contracting_dims = [1] x [0] : (tensor<1x64xf32>, tensor<64x512xf32>) -> tensor<1x512xf32>
  return %0 : tensor<1x512xf32>
}

// Short rows are strips themselves.
// CHECK:     func.func private @dot_2(
// CHECK:       func.call @dot_2_lanes(
func.func @vector_by_narrow_matrix(%x: tensor<1x256xf32>, %y: tensor<256x64xf32>) -> tensor<1x64xf32> {
  %0 = stablehlo.dot_general %x, %y, contracting_dims = [1] x [0] : (tensor<1x256xf32>, tensor<256x64xf32>) -> tensor<1x64xf32>
  return %0 : tensor<1x64xf32>
}
