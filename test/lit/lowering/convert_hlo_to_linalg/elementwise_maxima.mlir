// RUN: hlo-opt %s --split-input-file --convert-hlo-to-linalg | filecheck %s

// Exponents from which the maximum of their row was subtracted are not above zero, whatever else is in that maximum.
// CHECK-LABEL: @softmax
// CHECK:         math.exp %{{.*}} {xhlo.not_above_zero} : f32
func.func @softmax(%x: tensor<4x8x16xf32>, %c: tensor<4x16xf32>) -> tensor<4x8x16xf32> {
  %inf = hlo.constant dense<0xFF800000> : tensor<f32>
  %m = hlo.reduce(%x init: %inf) applies hlo.maximum across dimensions = [1] : (tensor<4x8x16xf32>, tensor<f32>) -> tensor<4x16xf32>
  %0 = hlo.maximum %c, %m : tensor<4x16xf32>
  %1 = hlo.reshape %0 : (tensor<4x16xf32>) -> tensor<4x1x16xf32>
  %2 = hlo.broadcast_in_dim %1, dims = [0, 1, 2] : (tensor<4x1x16xf32>) -> tensor<4x8x16xf32>
  %3 = hlo.subtract %x, %2 : tensor<4x8x16xf32>
  %4 = hlo.exponential %3 : tensor<4x8x16xf32>
  return %4 : tensor<4x8x16xf32>
}

// -----

// CHECK-LABEL: @logistic
// CHECK:         math.exp %{{.*}} {xhlo.not_above_zero} : f32
func.func @logistic(%x: tensor<8xf32>) -> tensor<8xf32> {
  %0 = hlo.logistic %x : tensor<8xf32>
  return %0 : tensor<8xf32>
}

// -----

// The maxima of columns say nothing of rows.
// CHECK-LABEL: @transposed
// CHECK-NOT:     xhlo.not_above_zero
func.func @transposed(%x: tensor<8x8xf32>) -> tensor<8x8xf32> {
  %inf = hlo.constant dense<0xFF800000> : tensor<f32>
  %m = hlo.reduce(%x init: %inf) applies hlo.maximum across dimensions = [1] : (tensor<8x8xf32>, tensor<f32>) -> tensor<8xf32>
  %0 = hlo.broadcast_in_dim %m, dims = [1] : (tensor<8xf32>) -> tensor<8x8xf32>
  %1 = hlo.subtract %x, %0 : tensor<8x8xf32>
  %2 = hlo.exponential %1 : tensor<8x8xf32>
  return %2 : tensor<8x8xf32>
}

// -----

// Nor do those of another tensor, sums, or a difference the other way round.
// CHECK-LABEL: @others
// CHECK-NOT:     xhlo.not_above_zero
func.func @others(%x: tensor<8x8xf32>, %y: tensor<8x8xf32>) -> (tensor<8x8xf32>, tensor<8x8xf32>, tensor<8x8xf32>) {
  %inf = hlo.constant dense<0xFF800000> : tensor<f32>
  %m = hlo.reduce(%x init: %inf) applies hlo.maximum across dimensions = [1] : (tensor<8x8xf32>, tensor<f32>) -> tensor<8xf32>
  %s = hlo.reduce(%x init: %inf) applies hlo.add across dimensions = [1] : (tensor<8x8xf32>, tensor<f32>) -> tensor<8xf32>
  %0 = hlo.broadcast_in_dim %m, dims = [0] : (tensor<8xf32>) -> tensor<8x8xf32>
  %1 = hlo.broadcast_in_dim %s, dims = [0] : (tensor<8xf32>) -> tensor<8x8xf32>
  %2 = hlo.subtract %y, %0 : tensor<8x8xf32>
  %3 = hlo.subtract %x, %1 : tensor<8x8xf32>
  %4 = hlo.subtract %0, %x : tensor<8x8xf32>
  %5 = hlo.exponential %2 : tensor<8x8xf32>
  %6 = hlo.exponential %3 : tensor<8x8xf32>
  %7 = hlo.exponential %4 : tensor<8x8xf32>
  return %5, %6, %7 : tensor<8x8xf32>, tensor<8x8xf32>, tensor<8x8xf32>
}
