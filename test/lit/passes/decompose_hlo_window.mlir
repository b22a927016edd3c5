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
