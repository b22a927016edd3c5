// RUN: hlo-opt %s -p simplify-hlo --verify-each | filecheck %s

// Sizes that only the sum's type states are no places.
// CHECK-LABEL: @unknown_sizes
// CHECK-NOT:   hlo.concatenate
func.func @unknown_sizes(%a: tensor<?x4xf32>, %b: tensor<2x4xf32>) -> tensor<6x4xf32> {
  %zero = hlo.constant dense<0.0> : tensor<f32>
  %0 = hlo.pad %a, %zero, low = [0, 0], high = [2, 0], interior = [0, 0] : (tensor<?x4xf32>, tensor<f32>) -> tensor<6x4xf32>
  %1 = hlo.pad %b, %zero, low = [4, 0], high = [0, 0], interior = [0, 0] : (tensor<2x4xf32>, tensor<f32>) -> tensor<6x4xf32>
  %2 = hlo.add %0, %1 : tensor<6x4xf32>
  return %2 : tensor<6x4xf32>
}
