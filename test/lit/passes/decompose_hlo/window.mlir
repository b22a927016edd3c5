// RUN: hlo-opt %s --decompose-hlo | filecheck %s

// Padding and dilation become hlo.pad.
// CHECK-LABEL: func.func @padded
// CHECK:         %[[PAD:.*]] = hlo.pad %x, %c, low = [1, -1], high = [0, 2], interior = [0, 1]
// CHECK:         "hlo.reduce_window"(%[[PAD]], %c) <{window_dimensions = array<i64: 2, 3>}>
func.func @padded(%x: tensor<4x6xf32>, %c: tensor<f32>) -> tensor<4x10xf32> {
  %0 = "hlo.reduce_window"(%x, %c) <{base_dilations = array<i64: 1, 2>, padding = dense<[[1, 0], [-1, 2]]> : tensor<2x2xi64>, window_dimensions = array<i64: 2, 3>}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %m = hlo.maximum %a, %b : tensor<f32>
    hlo.return %m : tensor<f32>
  }) : (tensor<4x6xf32>, tensor<f32>) -> tensor<4x10xf32>
  return %0 : tensor<4x10xf32>
}

// A cumulative sum stays.
// CHECK-LABEL: func.func @cumulative
// CHECK-NOT:     hlo.pad
func.func @cumulative(%x: tensor<4x6xf32>) -> tensor<4x6xf32> {
  %c = hlo.constant dense<0.0> : tensor<f32>
  %0 = "hlo.reduce_window"(%x, %c) <{padding = dense<[[0, 0], [0, 5]]> : tensor<2x2xi64>, window_dimensions = array<i64: 1, 6>}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %m = hlo.add %a, %b : tensor<f32>
    hlo.return %m : tensor<f32>
  }) : (tensor<4x6xf32>, tensor<f32>) -> tensor<4x6xf32>
  return %0 : tensor<4x6xf32>
}

// Windows that move along rows in steps are slices, which one loop combines in the order of the window. Those of
// features, and those with more elements than are combined in registers, stay.
// CHECK-LABEL: func.func @steps
// CHECK:         %[[INIT:.*]] = hlo.broadcast_in_dim %c, dims = [] : (tensor<f32>) -> tensor<2x5x8xf32>
// CHECK-NEXT:    %[[S0:.*]] = hlo.slice %x [0:2, 0:5, 0:15:2]
// CHECK-NEXT:    %[[M0:.*]] = hlo.maximum %[[INIT]], %[[S0]]
// CHECK-NEXT:    %[[S1:.*]] = hlo.slice %x [0:2, 0:5, 1:16:2]
// CHECK-NEXT:    %[[M1:.*]] = hlo.maximum %[[M0]], %[[S1]]
// CHECK-NEXT:    %[[S2:.*]] = hlo.slice %x [0:2, 0:5, 2:17:2]
// CHECK-NEXT:    %[[M2:.*]] = hlo.maximum %[[M1]], %[[S2]]
// CHECK-NEXT:    return %[[M2]]
// CHECK-LABEL: func.func @features
// CHECK:         hlo.reduce_window
// CHECK-LABEL: func.func @large
// CHECK:         hlo.reduce_window
func.func @steps(%x: tensor<2x5x17xf32>, %c: tensor<f32>) -> tensor<2x5x8xf32> {
  %0 = "hlo.reduce_window"(%x, %c) <{window_dimensions = array<i64: 1, 1, 3>, window_strides = array<i64: 1, 1, 2>}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %m = hlo.maximum %a, %b : tensor<f32>
    hlo.return %m : tensor<f32>
  }) : (tensor<2x5x17xf32>, tensor<f32>) -> tensor<2x5x8xf32>
  return %0 : tensor<2x5x8xf32>
}
func.func @features(%x: tensor<2x17x5xf32>, %c: tensor<f32>) -> tensor<2x8x5xf32> {
  %0 = "hlo.reduce_window"(%x, %c) <{window_dimensions = array<i64: 1, 3, 1>, window_strides = array<i64: 1, 2, 1>}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %m = hlo.maximum %a, %b : tensor<f32>
    hlo.return %m : tensor<f32>
  }) : (tensor<2x17x5xf32>, tensor<f32>) -> tensor<2x8x5xf32>
  return %0 : tensor<2x8x5xf32>
}
func.func @large(%x: tensor<9x17xf32>, %c: tensor<f32>) -> tensor<3x7xf32> {
  %0 = "hlo.reduce_window"(%x, %c) <{window_dimensions = array<i64: 5, 5>, window_strides = array<i64: 2, 2>}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %m = hlo.add %a, %b : tensor<f32>
    hlo.return %m : tensor<f32>
  }) : (tensor<9x17xf32>, tensor<f32>) -> tensor<3x7xf32>
  return %0 : tensor<3x7xf32>
}
