// RUN: hlo-opt %s --fuse-hlo --fuse-remarks -o %t.mlir 2> %t.remarks
// RUN: filecheck %s < %t.mlir
// RUN: filecheck %s --check-prefix=REMARK < %t.remarks
// RUN: hlo-opt %s --fuse-hlo=epilogues=dots | filecheck %s --check-prefix=APART

// The mean of each feature is summed where the convolution writes its tiles.

// REMARK: remark: fused hlo.convolution into the dot fusion of hlo.reduce: saves 131.1 KB

// CHECK-LABEL: func.func @mean
// CHECK-NEXT:  %[[R:.*]]:2 = hlo.fusion dot (%[[X:.*]] = %x : {{.*}}, %[[W:.*]] = %w : {{.*}}) -> (tensor<2x16x16x64xf32>, tensor<64xf32>)
// CHECK:         %[[C:.*]] = hlo.convolution
// CHECK:         hlo.reduce(%[[C]] init:
// CHECK:         hlo.divide
// CHECK:       return %[[R]]#0, %[[R]]#1

// APART-LABEL: func.func @mean
// APART:       hlo.fusion custom
// APART:       hlo.fusion reduce
func.func @mean(%x: tensor<2x16x16x64xf32>, %w: tensor<1x1x64x64xf32>) -> (tensor<2x16x16x64xf32>, tensor<64xf32>) {
  %zero = hlo.constant dense<0.0> : tensor<f32>
  %n = hlo.constant dense<512.0> : tensor<64xf32>
  %0 = hlo.convolution(%x, %w) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], window = {} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<2x16x16x64xf32>, tensor<1x1x64x64xf32>) -> tensor<2x16x16x64xf32>
  %1 = hlo.reduce(%0 init: %zero) applies hlo.add across dimensions = [0, 1, 2] : (tensor<2x16x16x64xf32>, tensor<f32>) -> tensor<64xf32>
  %2 = hlo.divide %1, %n : tensor<64xf32>
  return %0, %2 : tensor<2x16x16x64xf32>, tensor<64xf32>
}

// The sums of a gradient, of what the epilogue leaves; %mean and %x move with the result.

// CHECK-LABEL: func.func @gradient
// CHECK:       hlo.fusion dot
// CHECK:         hlo.dot_general
// CHECK:         hlo.select
// CHECK:         hlo.reduce
// CHECK:         hlo.reduce
// CHECK-NOT:   hlo.fusion
// CHECK:       return
func.func @gradient(%d: tensor<512x128xf32>, %w: tensor<64x128xf32>, %kept: tensor<512x64xi1>, %x: tensor<512x64xf32>, %mean: tensor<64xf32>) -> (tensor<512x64xf32>, tensor<64xf32>, tensor<64xf32>) {
  %zero = hlo.constant dense<0.0> : tensor<f32>
  %zeros = hlo.constant dense<0.0> : tensor<512x64xf32>
  %0 = hlo.dot_general %d, %w, contracting_dims = [1] x [1] : (tensor<512x128xf32>, tensor<64x128xf32>) -> tensor<512x64xf32>
  %1 = hlo.select %kept, %0, %zeros : tensor<512x64xi1>, tensor<512x64xf32>
  %2 = hlo.reduce(%1 init: %zero) applies hlo.add across dimensions = [0] : (tensor<512x64xf32>, tensor<f32>) -> tensor<64xf32>
  %3 = hlo.broadcast_in_dim %mean, dims = [1] : (tensor<64xf32>) -> tensor<512x64xf32>
  %4 = hlo.subtract %x, %3 : tensor<512x64xf32>
  %5 = hlo.multiply %1, %4 : tensor<512x64xf32>
  %6 = hlo.reduce(%5 init: %zero) applies hlo.add across dimensions = [0] : (tensor<512x64xf32>, tensor<f32>) -> tensor<64xf32>
  return %1, %2, %6 : tensor<512x64xf32>, tensor<64xf32>, tensor<64xf32>
}

// Features that are not the last dimension where they are summed are the last one of the product.

// CHECK-LABEL: func.func @transposed
// CHECK:       hlo.fusion dot
// CHECK:         hlo.transpose
// CHECK:         hlo.reduce
// CHECK-NOT:   hlo.fusion
// CHECK:       return
func.func @transposed(%x: tensor<8x64x64xf32>, %w: tensor<64x64xf32>) -> (tensor<8x64x64xf32>, tensor<64xf32>) {
  %zero = hlo.constant dense<0.0> : tensor<f32>
  %0 = hlo.dot_general %x, %w, contracting_dims = [2] x [0] : (tensor<8x64x64xf32>, tensor<64x64xf32>) -> tensor<8x64x64xf32>
  %1 = hlo.transpose %0, dims = [0, 2, 1] : (tensor<8x64x64xf32>) -> tensor<8x64x64xf32>
  %2 = hlo.reduce(%1 init: %zero) applies hlo.add across dimensions = [0, 2] : (tensor<8x64x64xf32>, tensor<f32>) -> tensor<64xf32>
  return %0, %2 : tensor<8x64x64xf32>, tensor<64xf32>
}

// The same sum without the transpose is one over the features.

// CHECK-LABEL: func.func @other_dimension
// CHECK:       hlo.fusion reduce
func.func @other_dimension(%x: tensor<8x64x64xf32>, %w: tensor<64x64xf32>) -> (tensor<8x64x64xf32>, tensor<64xf32>) {
  %zero = hlo.constant dense<0.0> : tensor<f32>
  %0 = hlo.dot_general %x, %w, contracting_dims = [2] x [0] : (tensor<8x64x64xf32>, tensor<64x64xf32>) -> tensor<8x64x64xf32>
  %2 = hlo.reduce(%0 init: %zero) applies hlo.add across dimensions = [0, 2] : (tensor<8x64x64xf32>, tensor<f32>) -> tensor<64xf32>
  return %0, %2 : tensor<8x64x64xf32>, tensor<64xf32>
}

// The variance around the mean waits for it, so it is a kernel of its own.

// CHECK-LABEL: func.func @variance
// CHECK:       hlo.fusion dot
// CHECK:         hlo.reduce
// CHECK:       hlo.fusion reduce
// CHECK:         hlo.subtract
// CHECK:         hlo.reduce
func.func @variance(%x: tensor<512x64xf32>, %w: tensor<64x64xf32>) -> (tensor<512x64xf32>, tensor<64xf32>) {
  %zero = hlo.constant dense<0.0> : tensor<f32>
  %n = hlo.constant dense<512.0> : tensor<64xf32>
  %0 = hlo.dot_general %x, %w, contracting_dims = [1] x [0] : (tensor<512x64xf32>, tensor<64x64xf32>) -> tensor<512x64xf32>
  %1 = hlo.reduce(%0 init: %zero) applies hlo.add across dimensions = [0] : (tensor<512x64xf32>, tensor<f32>) -> tensor<64xf32>
  %2 = hlo.divide %1, %n : tensor<64xf32>
  %3 = hlo.broadcast_in_dim %2, dims = [1] : (tensor<64xf32>) -> tensor<512x64xf32>
  %4 = hlo.subtract %0, %3 : tensor<512x64xf32>
  %5 = hlo.multiply %4, %4 : tensor<512x64xf32>
  %6 = hlo.reduce(%5 init: %zero) applies hlo.add across dimensions = [0] : (tensor<512x64xf32>, tensor<f32>) -> tensor<64xf32>
  return %0, %6 : tensor<512x64xf32>, tensor<64xf32>
}

// Sums of rows, sums of few columns, and sums of a result that is summed up in chunks.

// CHECK-LABEL: func.func @rows
// CHECK:       hlo.fusion reduce
func.func @rows(%x: tensor<512x64xf32>, %w: tensor<64x64xf32>) -> (tensor<512x64xf32>, tensor<512xf32>) {
  %zero = hlo.constant dense<0.0> : tensor<f32>
  %0 = hlo.dot_general %x, %w, contracting_dims = [1] x [0] : (tensor<512x64xf32>, tensor<64x64xf32>) -> tensor<512x64xf32>
  %1 = hlo.reduce(%0 init: %zero) applies hlo.add across dimensions = [1] : (tensor<512x64xf32>, tensor<f32>) -> tensor<512xf32>
  return %0, %1 : tensor<512x64xf32>, tensor<512xf32>
}

// CHECK-LABEL: func.func @few_columns
// CHECK:       hlo.fusion reduce
func.func @few_columns(%x: tensor<8192x64xf32>, %w: tensor<64x8xf32>) -> (tensor<8192x8xf32>, tensor<8xf32>) {
  %zero = hlo.constant dense<0.0> : tensor<f32>
  %0 = hlo.dot_general %x, %w, contracting_dims = [1] x [0] : (tensor<8192x64xf32>, tensor<64x8xf32>) -> tensor<8192x8xf32>
  %1 = hlo.reduce(%0 init: %zero) applies hlo.add across dimensions = [0] : (tensor<8192x8xf32>, tensor<f32>) -> tensor<8xf32>
  return %0, %1 : tensor<8192x8xf32>, tensor<8xf32>
}

// CHECK-LABEL: func.func @in_chunks
// CHECK:       hlo.fusion reduce
func.func @in_chunks(%x: tensor<64x16384xf32>, %w: tensor<16384x64xf32>) -> (tensor<64x64xf32>, tensor<64xf32>) {
  %zero = hlo.constant dense<0.0> : tensor<f32>
  %0 = hlo.dot_general %x, %w, contracting_dims = [1] x [0] : (tensor<64x16384xf32>, tensor<16384x64xf32>) -> tensor<64x64xf32>
  %1 = hlo.reduce(%0 init: %zero) applies hlo.add across dimensions = [0] : (tensor<64x64xf32>, tensor<f32>) -> tensor<64xf32>
  return %0, %1 : tensor<64x64xf32>, tensor<64xf32>
}
