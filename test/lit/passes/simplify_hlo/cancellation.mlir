// RUN: hlo-opt %s --simplify-hlo | filecheck %s

// CHECK-LABEL: func.func @transposes(
// CHECK-NEXT:    %[[C:.*]] = hlo.constant dense<2.000000e+00> : tensor<4x5xf32>
// CHECK-NEXT:    %[[M:.*]] = hlo.multiply %x, %[[C]]
// CHECK-NEXT:    %[[A:.*]] = hlo.add %[[M]], %y
// CHECK-NEXT:    return %[[A]]
func.func @transposes(%x: tensor<4x5xf32>, %y: tensor<4x5xf32>) -> tensor<4x5xf32> {
  %two = hlo.constant dense<2.0> : tensor<5x4xf32>
  %0 = hlo.transpose %x, dims = [1, 0] : (tensor<4x5xf32>) -> tensor<5x4xf32>
  %1 = hlo.multiply %0, %two : tensor<5x4xf32>
  %2 = hlo.transpose %1, dims = [1, 0] : (tensor<5x4xf32>) -> tensor<4x5xf32>
  %3 = hlo.transpose %2, dims = [1, 0] : (tensor<4x5xf32>) -> tensor<5x4xf32>
  %4 = hlo.transpose %y, dims = [1, 0] : (tensor<4x5xf32>) -> tensor<5x4xf32>
  %5 = hlo.add %3, %4 : tensor<5x4xf32>
  %6 = hlo.transpose %5, dims = [1, 0] : (tensor<5x4xf32>) -> tensor<4x5xf32>
  return %6 : tensor<4x5xf32>
}

// CHECK-LABEL: func.func @reverses(
// CHECK-NEXT:    %[[N:.*]] = hlo.negate %x
// CHECK-NEXT:    return %[[N]]
func.func @reverses(%x: tensor<4x5xi32>) -> tensor<4x5xi32> {
  %0 = hlo.reverse %x, dims = [1, 0] : tensor<4x5xi32>
  %1 = hlo.negate %0 : tensor<4x5xi32>
  %2 = hlo.reverse %1, dims = [0, 1] : tensor<4x5xi32>
  return %2 : tensor<4x5xi32>
}

// Another order does not cancel.

// CHECK-LABEL: func.func @others(
// CHECK-COUNT-2: hlo.transpose
func.func @others(%x: tensor<4x5x6xf32>) -> tensor<6x4x5xf32> {
  %0 = hlo.transpose %x, dims = [1, 0, 2] : (tensor<4x5x6xf32>) -> tensor<5x4x6xf32>
  %1 = hlo.negate %0 : tensor<5x4x6xf32>
  %2 = hlo.transpose %1, dims = [2, 1, 0] : (tensor<5x4x6xf32>) -> tensor<6x4x5xf32>
  return %2 : tensor<6x4x5xf32>
}

// Movements and what is made in either order, such as the border of an image whose channels are last, too.

// CHECK-LABEL: func.func @borders(
// CHECK-NOT:     hlo.transpose
// CHECK:         hlo.slice %x [0:2, 0:6, 0:1, 0:3]
// CHECK:         hlo.slice %x [0:2, 0:6, 1:7, 0:3]
// CHECK:         hlo.reverse %{{.*}}, dims = [1, 2]
// CHECK:         hlo.concatenate %{{.*}}, dim = 2 : ({{.*}}) -> tensor<2x6x7x3xf32>
// CHECK:         hlo.pad %{{.*}}, %p, low = [0, 1, 2, 0], high = [0, 3, -1, 0], interior = [0, 1, 0, 0]
// CHECK-NOT:     hlo.transpose
// CHECK:         return
func.func @borders(%x: tensor<2x6x7x3xf32>, %p: tensor<f32>, %c: tensor<3xf32>) -> tensor<2x15x8x3xf32> {
  %0 = hlo.transpose %x, dims = [0, 3, 1, 2] : (tensor<2x6x7x3xf32>) -> tensor<2x3x6x7xf32>
  %1 = hlo.slice %0 [0:2, 0:3, 0:6, 0:1] : (tensor<2x3x6x7xf32>) -> tensor<2x3x6x1xf32>
  %2 = hlo.slice %0 [0:2, 0:3, 0:6, 1:7] : (tensor<2x3x6x7xf32>) -> tensor<2x3x6x6xf32>
  %3 = hlo.reverse %2, dims = [2, 3] : tensor<2x3x6x6xf32>
  %4 = hlo.concatenate %1, %3, dim = 3 : (tensor<2x3x6x1xf32>, tensor<2x3x6x6xf32>) -> tensor<2x3x6x7xf32>
  %5 = hlo.broadcast_in_dim %c, dims = [1] : (tensor<3xf32>) -> tensor<2x3x6x7xf32>
  %6 = hlo.iota dim = 3 : tensor<2x3x6x7xf32>
  %7 = hlo.multiply %4, %5 : tensor<2x3x6x7xf32>
  %8 = hlo.add %7, %6 : tensor<2x3x6x7xf32>
  %9 = hlo.pad %8, %p, low = [0, 0, 1, 2], high = [0, 0, 3, -1], interior = [0, 0, 1, 0] : (tensor<2x3x6x7xf32>, tensor<f32>) -> tensor<2x3x15x8xf32>
  %10 = hlo.transpose %9, dims = [0, 2, 3, 1] : (tensor<2x3x15x8xf32>) -> tensor<2x15x8x3xf32>
  return %10 : tensor<2x15x8x3xf32>
}

// Transposes stay where something else reads the value between them.

// CHECK-LABEL: func.func @needed(
// CHECK:         hlo.transpose %x
// CHECK:         hlo.transpose
func.func @needed(%x: tensor<4x5x6xf32>) -> (tensor<4x4x6xf32>, tensor<5x6xf32>) {
  %zero = hlo.constant dense<0.0> : tensor<f32>
  %0 = hlo.transpose %x, dims = [1, 0, 2] : (tensor<4x5x6xf32>) -> tensor<5x4x6xf32>
  %1 = hlo.exponential %0 : tensor<5x4x6xf32>
  %2 = hlo.slice %1 [0:4, 0:4, 0:6] : (tensor<5x4x6xf32>) -> tensor<4x4x6xf32>
  %3 = hlo.transpose %2, dims = [1, 0, 2] : (tensor<4x4x6xf32>) -> tensor<4x4x6xf32>
  %4 = hlo.reduce(%1 init: %zero) applies hlo.add across dimensions = [1] : (tensor<5x4x6xf32>, tensor<f32>) -> tensor<5x6xf32>
  return %3, %4 : tensor<4x4x6xf32>, tensor<5x6xf32>
}
