// A convolution of overlapping windows writes its features before its places, with what is computed of each result.
// RUN: hlo-opt %s --fuse-hlo | filecheck %s
// RUN: hlo-opt %s --fuse-hlo=epilogues=dots | filecheck %s --check-prefix=DOTS

// CHECK-LABEL: func.func @features_first
// CHECK:         hlo.fusion dot {{.*}} -> tensor<2x32x20x20xf32> {
// CHECK:           %[[C:.*]] = hlo.convolution
// CHECK-NEXT:      %[[T:.*]] = hlo.transpose %[[C]], dims = [0, 3, 1, 2]
// CHECK:           hlo.add %[[T]]
// CHECK-NOT:     hlo.fusion loop
// DOTS-LABEL:  func.func @features_first
// DOTS:          hlo.convolution
// DOTS:          hlo.fusion loop
// DOTS-NEXT:       hlo.transpose
func.func @features_first(%x: tensor<2x22x22x8xf32>, %w: tensor<3x3x8x32xf32>, %b: tensor<32xf32>) -> tensor<2x32x20x20xf32> {
  %0 = hlo.convolution(%x, %w) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], window = {} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<2x22x22x8xf32>, tensor<3x3x8x32xf32>) -> tensor<2x20x20x32xf32>
  %1 = hlo.transpose %0, dims = [0, 3, 1, 2] : (tensor<2x20x20x32xf32>) -> tensor<2x32x20x20xf32>
  %2 = hlo.broadcast_in_dim %b, dims = [1] : (tensor<32xf32>) -> tensor<2x32x20x20xf32>
  %3 = hlo.add %1, %2 : tensor<2x32x20x20xf32>
  return %3 : tensor<2x32x20x20xf32>
}

// Windows that do not overlap, rows of few places, and results in another order are transposed afterwards.
// CHECK-LABEL: func.func @apart
// CHECK:         hlo.fusion loop
// CHECK-NEXT:      hlo.transpose
func.func @apart(%x: tensor<2x80x80x8xf32>, %w: tensor<4x4x8x32xf32>) -> tensor<2x32x20x20xf32> {
  %0 = hlo.convolution(%x, %w) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], window = {stride = [4, 4]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<2x80x80x8xf32>, tensor<4x4x8x32xf32>) -> tensor<2x20x20x32xf32>
  %1 = hlo.transpose %0, dims = [0, 3, 1, 2] : (tensor<2x20x20x32xf32>) -> tensor<2x32x20x20xf32>
  return %1 : tensor<2x32x20x20xf32>
}

// CHECK-LABEL: func.func @short_rows
// CHECK:         hlo.fusion loop
// CHECK-NEXT:      hlo.transpose
func.func @short_rows(%x: tensor<20x9x9x32xf32>, %w: tensor<3x3x32x32xf32>) -> tensor<20x32x7x7xf32> {
  %0 = hlo.convolution(%x, %w) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], window = {} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<20x9x9x32xf32>, tensor<3x3x32x32xf32>) -> tensor<20x7x7x32xf32>
  %1 = hlo.transpose %0, dims = [0, 3, 1, 2] : (tensor<20x7x7x32xf32>) -> tensor<20x32x7x7xf32>
  return %1 : tensor<20x32x7x7xf32>
}

// CHECK-LABEL: func.func @columns_last
// CHECK:         hlo.fusion loop
// CHECK-NEXT:      hlo.transpose
func.func @columns_last(%x: tensor<2x22x22x8xf32>, %w: tensor<3x3x8x32xf32>) -> tensor<2x32x20x20xf32> {
  %0 = hlo.convolution(%x, %w) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], window = {} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<2x22x22x8xf32>, tensor<3x3x8x32xf32>) -> tensor<2x20x20x32xf32>
  %1 = hlo.transpose %0, dims = [0, 3, 2, 1] : (tensor<2x20x20x32xf32>) -> tensor<2x32x20x20xf32>
  return %1 : tensor<2x32x20x20xf32>
}

// A product keeps long rows whole where it writes them elsewhere, as a convolution of single elements whose features
// come first; short ones, and columns, are transposed afterwards.
// CHECK-LABEL: func.func @rows_elsewhere
// CHECK:         hlo.fusion dot {{.*}} -> tensor<8x64x14x14xf32> {
// CHECK:           %[[D:.*]] = hlo.dot_general
// CHECK-NEXT:      %[[R:.*]] = hlo.transpose %[[D]], dims = [1, 0, 2, 3]
// CHECK:           hlo.maximum %[[R]]
// CHECK-NOT:     hlo.fusion loop
// DOTS-LABEL:  func.func @rows_elsewhere
// DOTS:          hlo.fusion loop
// DOTS-NEXT:       hlo.transpose
func.func @rows_elsewhere(%x: tensor<8x32x14x14xf32>, %w: tensor<64x32xf32>, %y: tensor<8x64x14x14xf32>) -> tensor<8x64x14x14xf32> {
  %0 = hlo.dot_general %w, %x, contracting_dims = [1] x [1] : (tensor<64x32xf32>, tensor<8x32x14x14xf32>) -> tensor<64x8x14x14xf32>
  %1 = hlo.transpose %0, dims = [1, 0, 2, 3] : (tensor<64x8x14x14xf32>) -> tensor<8x64x14x14xf32>
  %2 = hlo.maximum %1, %y : tensor<8x64x14x14xf32>
  return %2 : tensor<8x64x14x14xf32>
}

// CHECK-LABEL: func.func @rows_too_short
// CHECK:         hlo.fusion loop
// CHECK-NEXT:      hlo.transpose
func.func @rows_too_short(%x: tensor<64x32x4x14xf32>, %w: tensor<64x32xf32>) -> tensor<64x64x4x14xf32> {
  %0 = hlo.dot_general %w, %x, contracting_dims = [1] x [1] : (tensor<64x32xf32>, tensor<64x32x4x14xf32>) -> tensor<64x64x4x14xf32>
  %1 = hlo.transpose %0, dims = [1, 0, 2, 3] : (tensor<64x64x4x14xf32>) -> tensor<64x64x4x14xf32>
  return %1 : tensor<64x64x4x14xf32>
}
