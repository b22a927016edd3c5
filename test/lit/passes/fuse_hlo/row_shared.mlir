// A reduction joins the rows that are computed from something costly that it needs too: a loss and its gradient.
// RUN: hlo-opt %s --fuse-hlo | filecheck %s
// RUN: hlo-opt %s --fuse-hlo --fuse-hlo | filecheck %s

// CHECK-LABEL: func.func @loss
// CHECK:         %[[R:.*]]:2 = hlo.fusion row<1> (%{{[^()]*}}) -> (tensor<64xf32>, tensor<64x32xf32>) {
// CHECK-NOT:     hlo.fusion
// CHECK:         return %[[R]]#0, %[[R]]#1
func.func @loss(%x: tensor<64x32xf32>) -> (tensor<64xf32>, tensor<64x32xf32>) {
  %zero = hlo.constant dense<0.0> : tensor<f32>
  %0 = hlo.exponential %x : tensor<64x32xf32>
  %1 = hlo.log_plus_one %0 : tensor<64x32xf32>
  %2 = hlo.reduce(%1 init: %zero) applies hlo.add across dimensions = [1] : (tensor<64x32xf32>, tensor<f32>) -> tensor<64xf32>
  %3 = hlo.subtract %x, %1 : tensor<64x32xf32>
  %4 = hlo.exponential %3 : tensor<64x32xf32>
  func.return %2, %4 : tensor<64xf32>, tensor<64x32xf32>
}

// Cheap operations are computed for both, and short rows stay apart.

// CHECK-LABEL: func.func @apart
// CHECK-NOT:     hlo.fusion row
// CHECK:         return
func.func @apart(%x: tensor<64x32xf32>, %y: tensor<64x8xf32>) -> (tensor<64xf32>, tensor<64x32xf32>, tensor<64xf32>, tensor<64x8xf32>) {
  %zero = hlo.constant dense<0.0> : tensor<f32>
  %0 = hlo.multiply %x, %x : tensor<64x32xf32>
  %1 = hlo.reduce(%0 init: %zero) applies hlo.add across dimensions = [1] : (tensor<64x32xf32>, tensor<f32>) -> tensor<64xf32>
  %2 = hlo.negate %0 : tensor<64x32xf32>
  %3 = hlo.exponential %y : tensor<64x8xf32>
  %4 = hlo.reduce(%3 init: %zero) applies hlo.add across dimensions = [1] : (tensor<64x8xf32>, tensor<f32>) -> tensor<64xf32>
  %5 = hlo.negate %3 : tensor<64x8xf32>
  func.return %1, %2, %4, %5 : tensor<64xf32>, tensor<64x32xf32>, tensor<64xf32>, tensor<64x8xf32>
}
