// RUN: hlo-opt %s --fuse-hlo --fuse-remarks -o %t.mlir 2> %t.remarks
// RUN: filecheck %s < %t.mlir
// RUN: filecheck %s --check-prefix=REMARK < %t.remarks
// RUN: hlo-opt %s --fuse-hlo=epilogues=dots | filecheck %s --check-prefix=APART

// A product and the gradient of its weights compute an activation from what it was applied to, which a third reads.

// REMARK: remark: fused hlo.tanh again into the dot fusion of hlo.dot_general: saves 2097.2 KB

// CHECK-LABEL: func.func @activation
// CHECK:       %[[PRE:.*]] = hlo.fusion dot (%[[X:.*]] = %x : tensor<512x256xf32>, %[[U:.*]] = %u : tensor<256x512xf32>) -> tensor<512x512xf32>
// CHECK-NOT:     hlo.tanh
// CHECK:       %[[OUT:.*]] = hlo.fusion dot (%[[P:.*]] = %[[PRE]] : tensor<512x512xf32>, %[[W:.*]] = %w : tensor<512x256xf32>)
// CHECK:         %[[A:.*]] = hlo.tanh %[[P]]
// CHECK:         hlo.dot_general %[[A]], %[[W]]
// CHECK:       hlo.fusion dot (%[[P:.*]] = %[[PRE]] : tensor<512x512xf32>, %[[D:.*]] = %d : tensor<512x256xf32>)
// CHECK:         %[[A:.*]] = hlo.tanh %[[P]]
// CHECK:         hlo.dot_general %[[A]], %[[D]]

// APART-LABEL: func.func @activation
// APART:       hlo.fusion dot
// APART:       hlo.fusion loop
// APART:         hlo.tanh
func.func @activation(%x: tensor<512x256xf32>, %u: tensor<256x512xf32>, %w: tensor<512x256xf32>, %d: tensor<512x256xf32>) -> (tensor<512x256xf32>, tensor<512x256xf32>, tensor<512x512xf32>) {
  %0 = hlo.dot_general %x, %u, contracting_dims = [1] x [0] : (tensor<512x256xf32>, tensor<256x512xf32>) -> tensor<512x512xf32>
  %1 = hlo.tanh %0 : tensor<512x512xf32>
  %2 = hlo.dot_general %1, %w, contracting_dims = [1] x [0] : (tensor<512x512xf32>, tensor<512x256xf32>) -> tensor<512x256xf32>
  %3 = hlo.dot_general %1, %d, contracting_dims = [0] x [0] : (tensor<512x512xf32>, tensor<512x256xf32>) -> tensor<512x256xf32>
  return %2, %3, %0 : tensor<512x256xf32>, tensor<512x256xf32>, tensor<512x512xf32>
}

// Rows that are divided by their sums are computed from both; the row fusion returns the sums alone.

// CHECK-LABEL: func.func @rows
// CHECK:       %[[S:.*]] = hlo.fusion row<1> (%[[X:.*]] = %x : tensor<256x768xf32>) -> tensor<256xf32>
// CHECK:         hlo.reduce
// CHECK-NOT:     hlo.divide
// CHECK:       hlo.fusion dot (%[[T:.*]] = %[[S]] : tensor<256xf32>, %[[X:.*]] = %x : tensor<256x768xf32>, %[[W:.*]] = %w
// CHECK:         %[[B:.*]] = hlo.broadcast_in_dim %[[T]], dims = [0]
// CHECK:         %[[A:.*]] = hlo.divide %[[X]], %[[B]]
// CHECK:         hlo.dot_general %[[A]], %[[W]]
func.func @rows(%x: tensor<256x768xf32>, %w: tensor<768x768xf32>) -> tensor<256x768xf32> {
  %zero = hlo.constant dense<0.0> : tensor<f32>
  %0 = hlo.reduce(%x init: %zero) applies hlo.add across dimensions = [1] : (tensor<256x768xf32>, tensor<f32>) -> tensor<256xf32>
  %1 = hlo.broadcast_in_dim %0, dims = [0] : (tensor<256xf32>) -> tensor<256x768xf32>
  %2 = hlo.divide %x, %1 : tensor<256x768xf32>
  %3 = hlo.dot_general %2, %w, contracting_dims = [1] x [0] : (tensor<256x768xf32>, tensor<768x768xf32>) -> tensor<256x768xf32>
  return %3 : tensor<256x768xf32>
}

// A value that one product reads needs no kernel of its own, if it is of no more than one large operand.

// CHECK-LABEL: func.func @alone
// CHECK-NEXT:  hlo.fusion dot
// CHECK:         hlo.negate
func.func @alone(%x: tensor<512x256xf32>, %w: tensor<256x512xf32>) -> tensor<512x512xf32> {
  %0 = hlo.negate %x : tensor<512x256xf32>
  %1 = hlo.dot_general %0, %w, contracting_dims = [1] x [0] : (tensor<512x256xf32>, tensor<256x512xf32>) -> tensor<512x512xf32>
  return %1 : tensor<512x512xf32>
}

// Not what others read too, what products of few rows read, what would be read twice as much, or what takes long.

// CHECK-LABEL: func.func @others
// CHECK:       hlo.fusion loop
// CHECK:         hlo.negate
func.func @others(%x: tensor<512x256xf32>, %w: tensor<256x512xf32>) -> (tensor<512x512xf32>, tensor<512x256xf32>) {
  %0 = hlo.negate %x : tensor<512x256xf32>
  %1 = hlo.dot_general %0, %w, contracting_dims = [1] x [0] : (tensor<512x256xf32>, tensor<256x512xf32>) -> tensor<512x512xf32>
  return %1, %0 : tensor<512x512xf32>, tensor<512x256xf32>
}

// CHECK-LABEL: func.func @few_rows
// CHECK:       hlo.fusion loop
// CHECK:         hlo.negate
func.func @few_rows(%x: tensor<64x512xf32>, %w: tensor<512x512xf32>) -> tensor<64x512xf32> {
  %0 = hlo.negate %x : tensor<64x512xf32>
  %1 = hlo.dot_general %0, %w, contracting_dims = [1] x [0] : (tensor<64x512xf32>, tensor<512x512xf32>) -> tensor<64x512xf32>
  return %1 : tensor<64x512xf32>
}

// CHECK-LABEL: func.func @more_bytes
// CHECK:       hlo.fusion loop
// CHECK:         hlo.add
func.func @more_bytes(%x: tensor<512x256xf32>, %y: tensor<512x256xf32>, %z: tensor<512x256xf32>, %w: tensor<256x512xf32>, %d: tensor<512x512xf32>) -> (tensor<512x512xf32>, tensor<256x512xf32>) {
  %0 = hlo.add %x, %y : tensor<512x256xf32>
  %1 = hlo.multiply %0, %z : tensor<512x256xf32>
  %2 = hlo.dot_general %1, %w, contracting_dims = [1] x [0] : (tensor<512x256xf32>, tensor<256x512xf32>) -> tensor<512x512xf32>
  %3 = hlo.dot_general %1, %d, contracting_dims = [0] x [0] : (tensor<512x256xf32>, tensor<512x512xf32>) -> tensor<256x512xf32>
  return %2, %3 : tensor<512x512xf32>, tensor<256x512xf32>
}

// REMARK: remark: not fused hlo.tanh with hlo.dot_general: computing it in 3 fusions takes longer than keeping it

// CHECK-LABEL: func.func @long
// CHECK:       hlo.fusion loop
// CHECK:         hlo.tanh
func.func @long(%x: tensor<512x256xf32>, %w: tensor<256x160xf32>) -> (tensor<512x160xf32>, tensor<512x160xf32>, tensor<512x160xf32>) {
  %0 = hlo.sine %x : tensor<512x256xf32>
  %1 = hlo.exponential %0 : tensor<512x256xf32>
  %2 = hlo.tanh %1 : tensor<512x256xf32>
  %3 = hlo.negate %w : tensor<256x160xf32>
  %4 = hlo.abs %w : tensor<256x160xf32>
  %5 = hlo.dot_general %2, %w, contracting_dims = [1] x [0] : (tensor<512x256xf32>, tensor<256x160xf32>) -> tensor<512x160xf32>
  %6 = hlo.dot_general %2, %3, contracting_dims = [1] x [0] : (tensor<512x256xf32>, tensor<256x160xf32>) -> tensor<512x160xf32>
  %7 = hlo.dot_general %2, %4, contracting_dims = [1] x [0] : (tensor<512x256xf32>, tensor<256x160xf32>) -> tensor<512x160xf32>
  return %5, %6, %7 : tensor<512x160xf32>, tensor<512x160xf32>, tensor<512x160xf32>
}

// Rows of a table that is converted for two products are picked of the table itself.

// CHECK-LABEL: func.func @table
// CHECK:       %[[E:.*]] = hlo.fusion loop (%[[T:.*]] = %t : tensor<16384x192xf32>, %[[I:.*]] = %i : tensor<256x1xi32>) -> tensor<256x192xbf16>
// CHECK:         %[[R:.*]] = "hlo.gather"(%[[T]], %[[I]])
// CHECK:         hlo.convert %[[R]] : (tensor<256x192xf32>) -> tensor<256x192xbf16>
// CHECK:       hlo.fusion dot (%[[T:.*]] = %t : tensor<16384x192xf32>
// CHECK:         hlo.convert %[[T]]
// CHECK:       hlo.fusion dot (%[[T:.*]] = %t : tensor<16384x192xf32>
// CHECK:         hlo.convert %[[T]]

// APART-LABEL: func.func @table
// APART:       hlo.fusion loop (%{{.*}} = %t : tensor<16384x192xf32>) -> tensor<16384x192xbf16>
func.func @table(%t: tensor<16384x192xf32>, %i: tensor<256x1xi32>, %d: tensor<256x16384xbf16>) -> (tensor<256x192xbf16>, tensor<256x16384xbf16>, tensor<256x192xbf16>) {
  %0 = hlo.convert %t : (tensor<16384x192xf32>) -> tensor<16384x192xbf16>
  %1 = "hlo.gather"(%0, %i) <{dimension_numbers = #hlo.gather<offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>, indices_are_sorted = false, slice_sizes = array<i64: 1, 192>}> : (tensor<16384x192xbf16>, tensor<256x1xi32>) -> tensor<256x192xbf16>
  %2 = hlo.dot_general %1, %0, contracting_dims = [1] x [1] : (tensor<256x192xbf16>, tensor<16384x192xbf16>) -> tensor<256x16384xbf16>
  %3 = hlo.dot_general %d, %0, contracting_dims = [1] x [0] : (tensor<256x16384xbf16>, tensor<16384x192xbf16>) -> tensor<256x192xbf16>
  return %1, %2, %3 : tensor<256x192xbf16>, tensor<256x16384xbf16>, tensor<256x192xbf16>
}

// A convolution pads what it computes, and so does the gradient of its filters.

// CHECK-LABEL: func.func @convolved
// CHECK-NOT:   hlo.fusion loop
// CHECK:       hlo.fusion dot (%{{.*}} = %x : tensor<8x20x20x64xf32>, %{{.*}} = %w : tensor<3x3x64x64xf32>)
// CHECK:         hlo.maximum
// CHECK:         hlo.pad
// CHECK:         hlo.convolution
// CHECK:       hlo.fusion dot (%{{.*}} = %x : tensor<8x20x20x64xf32>, %{{.*}} = %d : tensor<8x20x20x64xf32>)
// CHECK:         hlo.maximum
// CHECK:         hlo.pad
// CHECK:         hlo.convolution
func.func @convolved(%x: tensor<8x20x20x64xf32>, %w: tensor<3x3x64x64xf32>, %d: tensor<8x20x20x64xf32>) -> (tensor<8x20x20x64xf32>, tensor<3x3x64x64xf32>) {
  %zero = hlo.constant dense<0.0> : tensor<8x20x20x64xf32>
  %none = hlo.constant dense<0.0> : tensor<f32>
  %0 = hlo.maximum %x, %zero : tensor<8x20x20x64xf32>
  %1 = hlo.pad %0, %none, low = [0, 1, 1, 0], high = [0, 1, 1, 0], interior = [0, 0, 0, 0] : (tensor<8x20x20x64xf32>, tensor<f32>) -> tensor<8x22x22x64xf32>
  %2 = hlo.convolution(%1, %w) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], window = {} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<8x22x22x64xf32>, tensor<3x3x64x64xf32>) -> tensor<8x20x20x64xf32>
  %3 = hlo.convolution(%1, %d) dim_numbers = [f, 0, 1, b]x[i, 0, 1, o]->[0, 1, b, f], window = {} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<8x22x22x64xf32>, tensor<8x20x20x64xf32>) -> tensor<3x3x64x64xf32>
  return %2, %3 : tensor<8x20x20x64xf32>, tensor<3x3x64x64xf32>
}

// A product that contracts several dimensions, which a reshape had joined, computes what was reshaped.

// CHECK-LABEL: func.func @joined
// CHECK-NOT:   hlo.fusion loop
// CHECK:       hlo.fusion dot (%{{.*}} = %x : tensor<8x10x10x128xf32>, %{{.*}} = %w
// CHECK:         hlo.negate
// CHECK:       %[[D:.*]] = hlo.reshape %d : (tensor<800x128xf32>) -> tensor<8x10x10x128xf32>
// CHECK:       hlo.fusion dot (%{{.*}} = %x : tensor<8x10x10x128xf32>, %{{.*}} = %[[D]] : tensor<8x10x10x128xf32>)
// CHECK:         %[[N:.*]] = hlo.negate
// CHECK:         hlo.dot_general %[[N]], %{{.*}}, contracting_dims = [0, 1, 2] x [0, 1, 2]
func.func @joined(%x: tensor<8x10x10x128xf32>, %w: tensor<128x128xf32>, %d: tensor<800x128xf32>) -> (tensor<8x10x10x128xf32>, tensor<128x128xf32>) {
  %0 = hlo.negate %x : tensor<8x10x10x128xf32>
  %1 = hlo.dot_general %0, %w, contracting_dims = [3] x [0] : (tensor<8x10x10x128xf32>, tensor<128x128xf32>) -> tensor<8x10x10x128xf32>
  %2 = hlo.reshape %0 : (tensor<8x10x10x128xf32>) -> tensor<800x128xf32>
  %3 = hlo.dot_general %2, %d, contracting_dims = [0] x [0] : (tensor<800x128xf32>, tensor<800x128xf32>) -> tensor<128x128xf32>
  return %1, %3 : tensor<8x10x10x128xf32>, tensor<128x128xf32>
}

// What others need in memory is computed again where everything that it follows from is read anyway.

// CHECK-LABEL: func.func @beside
// CHECK:       %[[A:.*]] = hlo.fusion loop (%{{.*}} = %x : tensor<512x256xf32>) -> tensor<512x256xf32>
// CHECK:       %[[O:.*]] = hlo.fusion dot (%{{.*}} = %[[A]] : tensor<512x256xf32>, %{{.*}} = %w
// CHECK:       hlo.fusion dot (%{{.*}} = %x : tensor<512x256xf32>, %{{.*}} = %[[O]] : tensor<512x8xf32>, %{{.*}} = %w
// CHECK:         hlo.negate
func.func @beside(%x: tensor<512x256xf32>, %w: tensor<256x8xf32>) -> tensor<512x256xf32> {
  %0 = hlo.negate %x : tensor<512x256xf32>
  %1 = hlo.dot_general %0, %w, contracting_dims = [1] x [0] : (tensor<512x256xf32>, tensor<256x8xf32>) -> tensor<512x8xf32>
  %2 = hlo.dot_general %1, %w, contracting_dims = [1] x [1] : (tensor<512x8xf32>, tensor<256x8xf32>) -> tensor<512x256xf32>
  %3 = hlo.multiply %2, %0 : tensor<512x256xf32>
  %4 = hlo.add %3, %x : tensor<512x256xf32>
  return %4 : tensor<512x256xf32>
}
