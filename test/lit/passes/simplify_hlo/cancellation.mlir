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
