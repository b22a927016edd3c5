// RUN: hlo-opt %s --split-input-file --fuse --lower=linalg --bufferize --convert-contractions-to-vector | filecheck %s

// Wide windows with holes: panels at the edges run through the elements of the window that meet the image, unless some
// filter is not finite.
// CHECK-LABEL: func.func private @dot_0(
// CHECK:       func.call @dot_0_finite(
// CHECK:       memref.store %{{.*}}, %[[SUM:.*]][%{{.*}}] : memref<1xf32>
// CHECK:       scf.parallel
// CHECK:         %[[FOUND:.*]] = memref.load %[[SUM]]
// CHECK:         %[[FINITE:.*]] = arith.cmpf oeq, %[[FOUND]], %{{.*}}
// CHECK:         arith.select %[[FINITE]], %{{.*}}, %{{.*}} : index
// CHECK:         func.call @dot_0_block(
func.func @dilated(%x: tensor<2x33x33x16xf32>, %w: tensor<3x3x16x32xf32>) -> tensor<2x33x33x32xf32> {
  %0 = stablehlo.convolution(%x, %w) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], window = {pad = [[12, 12], [12, 12]], rhs_dilate = [12, 12]} {feature_group_count = 1 : i64, batch_group_count = 1 : i64} : (tensor<2x33x33x16xf32>, tensor<3x3x16x32xf32>) -> tensor<2x33x33x32xf32>
  return %0 : tensor<2x33x33x32xf32>
}

// -----

// Few products are with padding: all are multiplied.
// CHECK-LABEL: func.func private @dot_0(
// CHECK-NOT:   @dot_0_finite
func.func @few(%x: tensor<2x40x40x16xf32>, %w: tensor<3x3x16x32xf32>) -> tensor<2x40x40x32xf32> {
  %0 = stablehlo.convolution(%x, %w) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], window = {pad = [[1, 1], [1, 1]]} {feature_group_count = 1 : i64, batch_group_count = 1 : i64} : (tensor<2x40x40x16xf32>, tensor<3x3x16x32xf32>) -> tensor<2x40x40x32xf32>
  return %0 : tensor<2x40x40x32xf32>
}
