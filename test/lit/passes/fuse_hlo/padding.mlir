// The zeros around a convolution's input belong to its kernel, unless something else reads the padded tensor.
// RUN: hlo-opt %s --fuse-hlo --fuse-remarks -o %t.mlir 2> %t.remarks
// RUN: filecheck %s < %t.mlir
// RUN: filecheck %s --check-prefix=REMARK < %t.remarks
// RUN: hlo-opt %s --fuse-hlo --fuse-hlo | filecheck %s
// RUN: hlo-opt %s --fuse-hlo=epilogues=dots | filecheck %s --check-prefix=APART
// RUN: hlo-opt %s --fuse-hlo=epilogues=dots --fuse-hlo | filecheck %s --check-prefix=APART

// REMARK: remark: fused hlo.pad into the dot fusion of hlo.convolution: saves 1440 bytes

// CHECK-LABEL: func.func @twice
// CHECK-NEXT:    hlo.fusion dot (%[[X:.*]] = %x
// CHECK-NEXT:      hlo.constant
// CHECK-NEXT:      %[[P:.*]] = hlo.pad %[[X]]
// CHECK-NEXT:      %[[C:.*]] = hlo.convolution(%[[P]],
// CHECK-NEXT:      hlo.tanh %[[C]]
// CHECK:         hlo.fusion dot
// CHECK:           hlo.pad
// CHECK-NEXT:      hlo.convolution

// APART-LABEL: func.func @twice
// APART:         hlo.fusion loop
// APART:           hlo.pad
// APART-NEXT:      hlo.return
func.func @twice(%x: tensor<1x8x12xf32>, %w: tensor<3x12x8xf32>, %v: tensor<5x12x4xf32>) -> (tensor<1x8x8xf32>, tensor<1x6x4xf32>) {
  %zero = hlo.constant dense<0.0> : tensor<f32>
  %0 = hlo.pad %x, %zero, low = [0, 1, 0], high = [0, 1, 0], interior = [0, 0, 0] : (tensor<1x8x12xf32>, tensor<f32>) -> tensor<1x10x12xf32>
  %1 = hlo.convolution(%0, %w) dim_numbers = [b, 0, f]x[0, i, o]->[b, 0, f], window = {} {feature_group_count = 1 : i64, batch_group_count = 1 : i64} : (tensor<1x10x12xf32>, tensor<3x12x8xf32>) -> tensor<1x8x8xf32>
  %2 = hlo.tanh %1 : tensor<1x8x8xf32>
  %3 = hlo.convolution(%0, %v) dim_numbers = [b, 0, f]x[0, i, o]->[b, 0, f], window = {} {feature_group_count = 1 : i64, batch_group_count = 1 : i64} : (tensor<1x10x12xf32>, tensor<5x12x4xf32>) -> tensor<1x6x4xf32>
  func.return %2, %3 : tensor<1x8x8xf32>, tensor<1x6x4xf32>
}

// CHECK-LABEL: func.func @returned
// CHECK:         %[[P:.*]] = hlo.fusion loop
// CHECK:         hlo.fusion custom ({{.*}} = %[[P]]
func.func @returned(%x: tensor<1x8x12xf32>, %w: tensor<3x12x8xf32>) -> (tensor<1x10x12xf32>, tensor<1x8x8xf32>) {
  %zero = hlo.constant dense<0.0> : tensor<f32>
  %0 = hlo.pad %x, %zero, low = [0, 1, 0], high = [0, 1, 0], interior = [0, 0, 0] : (tensor<1x8x12xf32>, tensor<f32>) -> tensor<1x10x12xf32>
  %1 = hlo.convolution(%0, %w) dim_numbers = [b, 0, f]x[0, i, o]->[b, 0, f], window = {} {feature_group_count = 1 : i64, batch_group_count = 1 : i64} : (tensor<1x10x12xf32>, tensor<3x12x8xf32>) -> tensor<1x8x8xf32>
  func.return %0, %1 : tensor<1x10x12xf32>, tensor<1x8x8xf32>
}

// Another number than zero is written to memory.

// CHECK-LABEL: func.func @ones
// CHECK:         hlo.fusion loop
// CHECK:           hlo.pad
// CHECK:         hlo.fusion custom
// CHECK-NEXT:      hlo.convolution
func.func @ones(%x: tensor<1x8x12xf32>, %w: tensor<3x12x8xf32>) -> tensor<1x8x8xf32> {
  %one = hlo.constant dense<1.0> : tensor<f32>
  %0 = hlo.pad %x, %one, low = [0, 1, 0], high = [0, 1, 0], interior = [0, 0, 0] : (tensor<1x8x12xf32>, tensor<f32>) -> tensor<1x10x12xf32>
  %1 = hlo.convolution(%0, %w) dim_numbers = [b, 0, f]x[0, i, o]->[b, 0, f], window = {} {feature_group_count = 1 : i64, batch_group_count = 1 : i64} : (tensor<1x10x12xf32>, tensor<3x12x8xf32>) -> tensor<1x8x8xf32>
  func.return %1 : tensor<1x8x8xf32>
}

// A pooling reads the tensor itself and has its padding computed, which the gradient beside it reads from memory.

// CHECK-LABEL: func.func @pooled
// CHECK:         %[[PADDED:.*]] = hlo.fusion loop
// CHECK:         hlo.fusion custom (%{{.*}} = %x : tensor<8x12x32xf32>)
// CHECK:           %[[P:.*]] = hlo.pad
// CHECK:           "hlo.reduce_window"(%[[P]],
// CHECK:         hlo.fusion custom (%{{.*}} = %[[PADDED]] : tensor<8x13x32xf32>
// CHECK:           "hlo.select_and_scatter"
// APART-LABEL: func.func @pooled
// APART:         hlo.fusion loop
func.func @pooled(%x: tensor<8x12x32xf32>, %y: tensor<8x6x32xf32>) -> (tensor<8x6x32xf32>, tensor<8x13x32xf32>) {
  %low = hlo.constant dense<0xFF800000> : tensor<f32>
  %zero = hlo.constant dense<0.0> : tensor<f32>
  %0 = hlo.pad %x, %low, low = [0, 0, 0], high = [0, 1, 0], interior = [0, 0, 0] : (tensor<8x12x32xf32>, tensor<f32>) -> tensor<8x13x32xf32>
  %1 = "hlo.reduce_window"(%0, %low) <{window_dimensions = array<i64: 1, 3, 1>, window_strides = array<i64: 1, 2, 1>}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %m = hlo.maximum %a, %b : tensor<f32>
    hlo.return %m : tensor<f32>
  }) : (tensor<8x13x32xf32>, tensor<f32>) -> tensor<8x6x32xf32>
  %2 = "hlo.select_and_scatter"(%0, %y, %zero) <{window_dimensions = array<i64: 1, 3, 1>, window_strides = array<i64: 1, 2, 1>}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %c = hlo.compare GE, %a, %b : (tensor<f32>, tensor<f32>) -> tensor<i1>
    hlo.return %c : tensor<i1>
  }, {
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %s = hlo.add %a, %b : tensor<f32>
    hlo.return %s : tensor<f32>
  }) : (tensor<8x13x32xf32>, tensor<8x6x32xf32>, tensor<f32>) -> tensor<8x13x32xf32>
  func.return %1, %2 : tensor<8x6x32xf32>, tensor<8x13x32xf32>
}

// Few columns fill no vectors, and each element of a padded row would be checked.

// CHECK-LABEL: func.func @few_columns
// CHECK:         hlo.fusion loop
// CHECK:         hlo.fusion custom
// CHECK-LABEL: func.func @padded_columns
// CHECK:         hlo.fusion loop
// CHECK:         hlo.fusion custom
func.func @few_columns(%x: tensor<8x12x3xf32>) -> tensor<8x6x3xf32> {
  %low = hlo.constant dense<0xFF800000> : tensor<f32>
  %0 = hlo.pad %x, %low, low = [0, 0, 0], high = [0, 1, 0], interior = [0, 0, 0] : (tensor<8x12x3xf32>, tensor<f32>) -> tensor<8x13x3xf32>
  %1 = "hlo.reduce_window"(%0, %low) <{window_dimensions = array<i64: 1, 3, 1>, window_strides = array<i64: 1, 2, 1>}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %m = hlo.maximum %a, %b : tensor<f32>
    hlo.return %m : tensor<f32>
  }) : (tensor<8x13x3xf32>, tensor<f32>) -> tensor<8x6x3xf32>
  func.return %1 : tensor<8x6x3xf32>
}

func.func @padded_columns(%x: tensor<8x12x64xf32>) -> tensor<8x6x65xf32> {
  %low = hlo.constant dense<0xFF800000> : tensor<f32>
  %0 = hlo.pad %x, %low, low = [0, 0, 0], high = [0, 1, 1], interior = [0, 0, 0] : (tensor<8x12x64xf32>, tensor<f32>) -> tensor<8x13x65xf32>
  %1 = "hlo.reduce_window"(%0, %low) <{window_dimensions = array<i64: 1, 3, 1>, window_strides = array<i64: 1, 2, 1>}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %m = hlo.maximum %a, %b : tensor<f32>
    hlo.return %m : tensor<f32>
  }) : (tensor<8x13x65xf32>, tensor<f32>) -> tensor<8x6x65xf32>
  func.return %1 : tensor<8x6x65xf32>
}
