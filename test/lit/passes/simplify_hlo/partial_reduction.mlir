// RUN: hlo-opt %s --simplify-hlo | filecheck %s
// RUN: hlo-opt %s --pass-pipeline='simplify-hlo{math=fast}' | filecheck %s --check-prefix=FAST

// CHECK-LABEL: func.func @concatenated(
// CHECK-NOT:     hlo.concatenate
// CHECK:         %[[A:.*]] = hlo.reduce(%x init
// CHECK:         %[[B:.*]] = hlo.reduce(%y init
// CHECK:         hlo.maximum %[[A]], %[[B]]
func.func @concatenated(%x: tensor<4x8xf32>, %y: tensor<4x9xf32>) -> tensor<4xf32> {
  %low = hlo.constant dense<0xFF800000> : tensor<f32>
  %0 = hlo.concatenate %x, %y, dim = 1 : (tensor<4x8xf32>, tensor<4x9xf32>) -> tensor<4x17xf32>
  %1 = hlo.reduce(%0 init: %low) applies hlo.maximum across dimensions = [1] : (tensor<4x17xf32>, tensor<f32>) -> tensor<4xf32>
  return %1 : tensor<4xf32>
}

// The sum of floats depends on the order.

// CHECK-LABEL: func.func @concatenated_sum(
// CHECK:         hlo.concatenate
// FAST-LABEL: func.func @concatenated_sum(
// FAST-COUNT-2:  hlo.reduce
// FAST:          hlo.add
func.func @concatenated_sum(%x: tensor<4x8xf32>, %y: tensor<4x9xf32>) -> tensor<4xf32> {
  %zero = hlo.constant dense<0.0> : tensor<f32>
  %0 = hlo.concatenate %x, %y, dim = 1 : (tensor<4x8xf32>, tensor<4x9xf32>) -> tensor<4x17xf32>
  %1 = hlo.reduce(%0 init: %zero) applies hlo.add across dimensions = [1] : (tensor<4x17xf32>, tensor<f32>) -> tensor<4xf32>
  return %1 : tensor<4xf32>
}

// Rows of padding alone are padding of the result.

// CHECK-LABEL: func.func @padded(
// CHECK:         %[[R:.*]] = hlo.reduce(%x init
// CHECK-NEXT:    hlo.pad %[[R]], %zero, low = [1], high = [0], interior = [0]
func.func @padded(%x: tensor<4x8xi32>) -> tensor<5xi32> {
  %zero = hlo.constant dense<0> : tensor<i32>
  %0 = hlo.pad %x, %zero, low = [1, 2], high = [0, 3], interior = [0, 1] : (tensor<4x8xi32>, tensor<i32>) -> tensor<5x20xi32>
  %1 = hlo.reduce(%0 init: %zero) applies hlo.add across dimensions = [1] : (tensor<5x20xi32>, tensor<i32>) -> tensor<5xi32>
  return %1 : tensor<5xi32>
}

// CHECK-LABEL: func.func @padded_sum(
// CHECK:         hlo.pad
// FAST-LABEL: func.func @padded_sum(
// FAST-NOT:      hlo.pad
func.func @padded_sum(%x: tensor<4xf32>) -> tensor<f32> {
  %zero = hlo.constant dense<0.0> : tensor<f32>
  %0 = hlo.pad %x, %zero, low = [1], high = [0], interior = [0] : (tensor<4xf32>, tensor<f32>) -> tensor<5xf32>
  %1 = hlo.reduce(%0 init: %zero) applies hlo.add across dimensions = [0] : (tensor<5xf32>, tensor<f32>) -> tensor<f32>
  return %1 : tensor<f32>
}

// CHECK-LABEL: func.func @repeated(
// CHECK:         %[[C:.*]] = hlo.constant dense<7> : tensor<4xi32>
// CHECK-NEXT:    %[[R:.*]] = hlo.multiply %x, %[[C]]
// CHECK-NEXT:    return %[[R]]
func.func @repeated(%x: tensor<4xi32>) -> tensor<4xi32> {
  %zero = hlo.constant dense<0> : tensor<i32>
  %0 = hlo.broadcast_in_dim %x, dims = [0] : (tensor<4xi32>) -> tensor<4x7xi32>
  %1 = hlo.reduce(%0 init: %zero) applies hlo.add across dimensions = [1] : (tensor<4x7xi32>, tensor<i32>) -> tensor<4xi32>
  return %1 : tensor<4xi32>
}

// CHECK-LABEL: func.func @repeated_floats(
// CHECK:         hlo.reduce
// FAST-LABEL: func.func @repeated_floats(
// FAST-NOT:      hlo.reduce
// FAST:          hlo.multiply %x
func.func @repeated_floats(%x: tensor<4xf32>) -> tensor<4xf32> {
  %zero = hlo.constant dense<0.0> : tensor<f32>
  %0 = hlo.broadcast_in_dim %x, dims = [0] : (tensor<4xf32>) -> tensor<4x7xf32>
  %1 = hlo.reduce(%0 init: %zero) applies hlo.add across dimensions = [1] : (tensor<4x7xf32>, tensor<f32>) -> tensor<4xf32>
  return %1 : tensor<4xf32>
}
