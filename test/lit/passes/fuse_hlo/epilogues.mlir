// Elementwise operations on a product are part of the dot's fusion, unless the target's kernels cannot apply them.
// RUN: hlo-opt %s --fuse-hlo=epilogues=dots --fuse-remarks -o %t.mlir 2> %t.remarks
// RUN: filecheck %s < %t.mlir
// RUN: filecheck %s --check-prefix=REMARK < %t.remarks
// RUN: hlo-opt %s --fuse-hlo | filecheck %s --check-prefix=CONVOLUTION
// RUN: hlo-opt %s --fuse-hlo --fuse-hlo | filecheck %s --check-prefix=CONVOLUTION
// RUN: hlo-opt %s --fuse-hlo=epilogues=none --fuse-hlo | filecheck %s --check-prefix=APART
// RUN: hlo-opt %s --fuse-hlo="strategy=none epilogues=dots" | filecheck %s --check-prefix=APART

// REMARK: remark: fused hlo.dot_general with hlo.add, its epilogue: saves 41.0 KB

// CHECK-LABEL: func.func @bias
// CHECK:         %[[R:.*]] = hlo.fusion dot (%[[X:.*]] = %x : {{.*}}, %[[W:.*]] = %w : {{.*}}, %[[B:.*]] = %b : {{.*}}) -> tensor<64x80xf32> {
// CHECK-NEXT:      %[[D:.*]] = hlo.dot_general %[[X]], %[[W]]
// CHECK-NEXT:      %[[BIAS:.*]] = hlo.broadcast_in_dim %[[B]]
// CHECK-NEXT:      %[[SUM:.*]] = hlo.add %[[D]], %[[BIAS]]
// CHECK-NEXT:      %[[T:.*]] = hlo.tanh %[[SUM]]
// CHECK-NEXT:      hlo.return %[[T]]
// CHECK:         return %[[R]]

// APART-LABEL: func.func @bias
// APART:         hlo.fusion dot
// APART:         hlo.fusion loop
func.func @bias(%x: tensor<64x96xf32>, %w: tensor<96x80xf32>, %b: tensor<80xf32>) -> tensor<64x80xf32> {
  %0 = hlo.dot_general %x, %w, contracting_dims = [1] x [0] : (tensor<64x96xf32>, tensor<96x80xf32>) -> tensor<64x80xf32>
  %1 = hlo.broadcast_in_dim %b, dims = [1] : (tensor<80xf32>) -> tensor<64x80xf32>
  %2 = hlo.add %0, %1 : tensor<64x80xf32>
  %3 = hlo.tanh %2 : tensor<64x80xf32>
  func.return %3 : tensor<64x80xf32>
}

// An element that is read at another index is not available when the product is stored.

// CHECK-LABEL: func.func @transposed
// CHECK:         hlo.fusion dot
// CHECK:         hlo.fusion loop
// CHECK:           hlo.transpose
func.func @transposed(%x: tensor<64x96xf32>, %w: tensor<96x64xf32>) -> tensor<64x64xf32> {
  %0 = hlo.dot_general %x, %w, contracting_dims = [1] x [0] : (tensor<64x96xf32>, tensor<96x64xf32>) -> tensor<64x64xf32>
  %1 = hlo.negate %0 : tensor<64x64xf32>
  %2 = hlo.transpose %1, dims = [1, 0] : (tensor<64x64xf32>) -> tensor<64x64xf32>
  %3 = hlo.add %1, %2 : tensor<64x64xf32>
  func.return %3 : tensor<64x64xf32>
}

// A product with another user goes to memory.

// CHECK-LABEL: func.func @twice
// CHECK:         %[[D:.*]] = hlo.fusion dot
// CHECK:         %[[T:.*]] = hlo.fusion loop
// CHECK:         return %[[D]], %[[T]]
func.func @twice(%x: tensor<64x96xf32>, %w: tensor<96x64xf32>) -> (tensor<64x64xf32>, tensor<64x64xf32>) {
  %0 = hlo.dot_general %x, %w, contracting_dims = [1] x [0] : (tensor<64x96xf32>, tensor<96x64xf32>) -> tensor<64x64xf32>
  %1 = hlo.tanh %0 : tensor<64x64xf32>
  func.return %0, %1 : tensor<64x64xf32>, tensor<64x64xf32>
}

// By default a convolution has an epilogue too.

// CONVOLUTION-LABEL: func.func @convolution
// CONVOLUTION:         %[[R:.*]] = hlo.fusion dot
// CONVOLUTION-NEXT:      hlo.convolution
// CONVOLUTION-NEXT:      hlo.broadcast_in_dim
// CONVOLUTION-NEXT:      hlo.add
// CONVOLUTION:         return %[[R]]

// CHECK-LABEL: func.func @convolution
// CHECK:         hlo.fusion custom
// CHECK:         hlo.fusion loop
func.func @convolution(%x: tensor<1x10x4xf32>, %w: tensor<3x4x8xf32>, %b: tensor<8xf32>) -> tensor<1x8x8xf32> {
  %0 = hlo.convolution(%x, %w) dim_numbers = [b, 0, f]x[0, i, o]->[b, 0, f], window = {} {feature_group_count = 1 : i64, batch_group_count = 1 : i64} : (tensor<1x10x4xf32>, tensor<3x4x8xf32>) -> tensor<1x8x8xf32>
  %1 = hlo.broadcast_in_dim %b, dims = [2] : (tensor<8xf32>) -> tensor<1x8x8xf32>
  %2 = hlo.add %0, %1 : tensor<1x8x8xf32>
  func.return %2 : tensor<1x8x8xf32>
}

// The gradient of a pooling whose windows tile its operand makes each element once, too; windows that overlap do not.

// CONVOLUTION-LABEL: func.func @pooling
// CONVOLUTION:         hlo.fusion custom
// CONVOLUTION:           select_and_scatter
// CONVOLUTION:           hlo.broadcast_in_dim
// CONVOLUTION:           hlo.multiply
// CONVOLUTION:         hlo.fusion custom
// CONVOLUTION:           select_and_scatter
// CONVOLUTION:         hlo.fusion loop
// CONVOLUTION:           hlo.multiply
func.func @pooling(%x: tensor<4x8xf32>, %g: tensor<2x8xf32>, %o: tensor<3x8xf32>, %b: tensor<8xf32>) -> (tensor<4x8xf32>, tensor<4x8xf32>) {
  %zero = hlo.constant dense<0.0> : tensor<f32>
  %0 = "hlo.select_and_scatter"(%x, %g, %zero) <{window_dimensions = array<i64: 2, 1>, window_strides = array<i64: 2, 1>}> ({
  ^bb0(%a: tensor<f32>, %c: tensor<f32>):
    %p = hlo.compare GE, %a, %c, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
    hlo.return %p : tensor<i1>
  }, {
  ^bb0(%a: tensor<f32>, %c: tensor<f32>):
    %s = hlo.add %a, %c : tensor<f32>
    hlo.return %s : tensor<f32>
  }) : (tensor<4x8xf32>, tensor<2x8xf32>, tensor<f32>) -> tensor<4x8xf32>
  %1 = hlo.broadcast_in_dim %b, dims = [1] : (tensor<8xf32>) -> tensor<4x8xf32>
  %2 = hlo.multiply %0, %1 : tensor<4x8xf32>
  %3 = "hlo.select_and_scatter"(%x, %o, %zero) <{window_dimensions = array<i64: 2, 1>, window_strides = array<i64: 1, 1>}> ({
  ^bb0(%a: tensor<f32>, %c: tensor<f32>):
    %p = hlo.compare GE, %a, %c, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
    hlo.return %p : tensor<i1>
  }, {
  ^bb0(%a: tensor<f32>, %c: tensor<f32>):
    %s = hlo.add %a, %c : tensor<f32>
    hlo.return %s : tensor<f32>
  }) : (tensor<4x8xf32>, tensor<3x8xf32>, tensor<f32>) -> tensor<4x8xf32>
  %4 = hlo.multiply %3, %3 : tensor<4x8xf32>
  func.return %2, %4 : tensor<4x8xf32>, tensor<4x8xf32>
}

// A loop that reads the product reshaped works in the product's shape; its other operand and its result are reshaped.

// CHECK-LABEL: func.func @reshaped
// CHECK-NEXT:    %[[B:.*]] = hlo.reshape %b : (tensor<1x1x96x64xf32>) -> tensor<96x64xf32>
// CHECK-NEXT:    %[[R:.*]] = hlo.fusion dot {{.*}}%[[B]] : tensor<96x64xf32>) -> tensor<96x64xf32> {
// CHECK-NEXT:      hlo.dot_general
// CHECK-NEXT:      hlo.constant dense<9.000000e-01> : tensor<96x64xf32>
// CHECK-NEXT:      hlo.multiply
// CHECK-NEXT:      hlo.add {{.*}} : tensor<96x64xf32>
// CHECK:         %[[O:.*]] = hlo.reshape %[[R]] : (tensor<96x64xf32>) -> tensor<1x1x96x64xf32>
// CHECK:         return %[[O]]
func.func @reshaped(%x: tensor<80x96xf32>, %y: tensor<80x64xf32>, %b: tensor<1x1x96x64xf32>) -> tensor<1x1x96x64xf32> {
  %c = hlo.constant dense<0.9> : tensor<1x1x96x64xf32>
  %0 = hlo.dot_general %x, %y, contracting_dims = [0] x [0] : (tensor<80x96xf32>, tensor<80x64xf32>) -> tensor<96x64xf32>
  %1 = hlo.reshape %0 : (tensor<96x64xf32>) -> tensor<1x1x96x64xf32>
  %2 = hlo.multiply %b, %c : tensor<1x1x96x64xf32>
  %3 = hlo.add %2, %1 : tensor<1x1x96x64xf32>
  func.return %3 : tensor<1x1x96x64xf32>
}

// A broadcast along the new dimensions cannot be stated in the product's shape.

// CHECK-LABEL: func.func @reshaped_bias
// CHECK:         hlo.fusion dot
// CHECK:         hlo.reshape
// CHECK:         hlo.fusion loop
func.func @reshaped_bias(%x: tensor<80x96xf32>, %y: tensor<80x64xf32>, %b: tensor<8xf32>) -> tensor<12x8x64xf32> {
  %0 = hlo.dot_general %x, %y, contracting_dims = [0] x [0] : (tensor<80x96xf32>, tensor<80x64xf32>) -> tensor<96x64xf32>
  %1 = hlo.reshape %0 : (tensor<96x64xf32>) -> tensor<12x8x64xf32>
  %2 = hlo.broadcast_in_dim %b, dims = [1] : (tensor<8xf32>) -> tensor<12x8x64xf32>
  %3 = hlo.add %2, %1 : tensor<12x8x64xf32>
  func.return %3 : tensor<12x8x64xf32>
}
