// RUN: hlo-opt %s --fuse-hlo --split-input-file | filecheck %s

// A softmax is one kernel over rows.

// CHECK-LABEL: func.func @softmax
// CHECK-NEXT: %[[R:.*]] = hlo.fusion row<2> (%[[X:.*]] = %{{.*}} : tensor<2x8x16xf32>) -> tensor<2x8x16xf32> {
// CHECK-NOT: hlo.fusion
// CHECK: func.return %[[R]]
func.func @softmax(%x: tensor<2x8x16xf32>) -> tensor<2x8x16xf32> {
  %least = hlo.constant dense<0xFF800000> : tensor<f32>
  %zero = hlo.constant dense<0.0> : tensor<f32>
  %0 = hlo.reduce(%x init: %least) applies hlo.maximum across dimensions = [2] : (tensor<2x8x16xf32>, tensor<f32>) -> tensor<2x8xf32>
  %1 = hlo.broadcast_in_dim %0, dims = [0, 1] : (tensor<2x8xf32>) -> tensor<2x8x16xf32>
  %2 = hlo.subtract %x, %1 : tensor<2x8x16xf32>
  %3 = hlo.exponential %2 : tensor<2x8x16xf32>
  %4 = hlo.reduce(%3 init: %zero) applies hlo.add across dimensions = [2] : (tensor<2x8x16xf32>, tensor<f32>) -> tensor<2x8xf32>
  %5 = hlo.broadcast_in_dim %4, dims = [0, 1] : (tensor<2x8xf32>) -> tensor<2x8x16xf32>
  %6 = hlo.divide %3, %5 : tensor<2x8x16xf32>
  return %6 : tensor<2x8x16xf32>
}

// -----

// The reduction runs over columns: rows do not help, the broadcast begins a kernel of its own.

// CHECK-LABEL: func.func @columns
// CHECK: %[[S:.*]] = hlo.fusion reduce
// CHECK: hlo.fusion loop (%{{.*}} = %[[S]] : tensor<16xf32>
func.func @columns(%x: tensor<8x16xf32>) -> tensor<8x16xf32> {
  %zero = hlo.constant dense<0.0> : tensor<f32>
  %0 = hlo.reduce(%x init: %zero) applies hlo.add across dimensions = [0] : (tensor<8x16xf32>, tensor<f32>) -> tensor<16xf32>
  %1 = hlo.broadcast_in_dim %0, dims = [1] : (tensor<16xf32>) -> tensor<8x16xf32>
  %2 = hlo.subtract %x, %1 : tensor<8x16xf32>
  return %2 : tensor<8x16xf32>
}

// -----

// The reshape that the row kernel begins with goes outside, where it is free; the kernel stays.

// CHECK-LABEL: func.func @begins_with_a_reshape
// CHECK-NEXT: %[[A:.*]] = hlo.reshape
// CHECK-NEXT: %[[R:.*]] = hlo.fusion row<1> ({{.*}} = %[[A]] : tensor<5x1xf32>)
// CHECK: func.return %[[R]]
func.func @begins_with_a_reshape(%a: tensor<5xf32>, %x: tensor<5x5xf32>) -> tensor<5x5xf32> {
  %zero = hlo.constant dense<0.0> : tensor<f32>
  %0 = hlo.reshape %a : (tensor<5xf32>) -> tensor<5x1xf32>
  %1 = hlo.exponential %x : tensor<5x5xf32>
  %2 = hlo.reduce(%1 init: %zero) applies hlo.add across dimensions = [1] : (tensor<5x5xf32>, tensor<f32>) -> tensor<5xf32>
  %3 = hlo.reshape %2 : (tensor<5xf32>) -> tensor<5x1xf32>
  %4 = hlo.divide %0, %3 : tensor<5x1xf32>
  %5 = hlo.broadcast_in_dim %4, dims = [0, 1] : (tensor<5x1xf32>) -> tensor<5x5xf32>
  %6 = hlo.multiply %5, %1 : tensor<5x5xf32>
  func.return %6 : tensor<5x5xf32>
}
