// RUN: hlo-opt %s -p simplify-hlo | filecheck %s

// Gradients of two layers of stacked weights: the sums at each place keep their order, and -0 becomes 0.
// CHECK-LABEL: @layers
// CHECK-NOT:   hlo.pad
// CHECK:       %[[S:.*]] = hlo.add %a, %b
// CHECK:       %[[T:.*]] = hlo.add %[[S]], %d
// CHECK:       %[[C:.*]] = hlo.add %c, %
// CHECK:       %[[D:.*]] = hlo.add %[[T]], %
// CHECK:       hlo.concatenate %[[C]], %[[D]], dim = 0
func.func @layers(%a: tensor<4x4xf32>, %b: tensor<4x4xf32>, %c: tensor<2x4xf32>, %d: tensor<4x4xf32>) -> tensor<6x4xf32> {
  %zero = hlo.constant dense<0.0> : tensor<f32>
  %0 = hlo.pad %a, %zero, low = [2, 0], high = [0, 0], interior = [0, 0] : (tensor<4x4xf32>, tensor<f32>) -> tensor<6x4xf32>
  %1 = hlo.pad %b, %zero, low = [2, 0], high = [0, 0], interior = [0, 0] : (tensor<4x4xf32>, tensor<f32>) -> tensor<6x4xf32>
  %2 = hlo.pad %c, %zero, low = [0, 0], high = [4, 0], interior = [0, 0] : (tensor<2x4xf32>, tensor<f32>) -> tensor<6x4xf32>
  %3 = hlo.pad %d, %zero, low = [2, 0], high = [0, 0], interior = [0, 0] : (tensor<4x4xf32>, tensor<f32>) -> tensor<6x4xf32>
  %4 = hlo.add %0, %1 : tensor<6x4xf32>
  %5 = hlo.add %4, %2 : tensor<6x4xf32>
  %6 = hlo.add %5, %3 : tensor<6x4xf32>
  return %6 : tensor<6x4xf32>
}

// Elements that no operand covers are zero.
// CHECK-LABEL: @gaps
// CHECK:       hlo.concatenate %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}, dim = 0 : (tensor<1x4xf32>, tensor<2x4xf32>, tensor<2x4xf32>, tensor<1x4xf32>)
func.func @gaps(%a: tensor<1x4xf32>, %b: tensor<2x4xf32>) -> tensor<6x4xf32> {
  %zero = hlo.constant dense<0.0> : tensor<f32>
  %0 = hlo.pad %b, %zero, low = [3, 0], high = [1, 0], interior = [0, 0] : (tensor<2x4xf32>, tensor<f32>) -> tensor<6x4xf32>
  %1 = hlo.pad %a, %zero, low = [0, 0], high = [5, 0], interior = [0, 0] : (tensor<1x4xf32>, tensor<f32>) -> tensor<6x4xf32>
  %2 = hlo.add %0, %1 : tensor<6x4xf32>
  return %2 : tensor<6x4xf32>
}

// At one place alone nothing else is added.
// CHECK-LABEL: @one_place
// CHECK:       %[[S:.*]] = hlo.add %a, %b
// CHECK:       %[[P:.*]] = hlo.pad %[[S]]
// CHECK-NEXT:  return %[[P]]
func.func @one_place(%a: tensor<2x4xf32>, %b: tensor<2x4xf32>) -> tensor<6x4xf32> {
  %zero = hlo.constant dense<0.0> : tensor<f32>
  %0 = hlo.pad %a, %zero, low = [3, 0], high = [1, 0], interior = [0, 0] : (tensor<2x4xf32>, tensor<f32>) -> tensor<6x4xf32>
  %1 = hlo.pad %b, %zero, low = [3, 0], high = [1, 0], interior = [0, 0] : (tensor<2x4xf32>, tensor<f32>) -> tensor<6x4xf32>
  %2 = hlo.add %0, %1 : tensor<6x4xf32>
  return %2 : tensor<6x4xf32>
}

// CHECK-LABEL: @integers
// CHECK-NOT:   hlo.add
// CHECK:       hlo.concatenate %a, %b, dim = 0
func.func @integers(%a: tensor<3x4xi32>, %b: tensor<3x4xi32>) -> tensor<6x4xi32> {
  %zero = hlo.constant dense<0> : tensor<i32>
  %0 = hlo.pad %a, %zero, low = [0, 0], high = [3, 0], interior = [0, 0] : (tensor<3x4xi32>, tensor<i32>) -> tensor<6x4xi32>
  %1 = hlo.pad %b, %zero, low = [3, 0], high = [0, 0], interior = [0, 0] : (tensor<3x4xi32>, tensor<i32>) -> tensor<6x4xi32>
  %2 = hlo.add %0, %1 : tensor<6x4xi32>
  return %2 : tensor<6x4xi32>
}

// Places that overlap stay, ...
// CHECK-LABEL: @overlap
// CHECK-NOT:   hlo.concatenate
func.func @overlap(%a: tensor<4x4xf32>, %b: tensor<4x4xf32>) -> tensor<6x4xf32> {
  %zero = hlo.constant dense<0.0> : tensor<f32>
  %0 = hlo.pad %a, %zero, low = [0, 0], high = [2, 0], interior = [0, 0] : (tensor<4x4xf32>, tensor<f32>) -> tensor<6x4xf32>
  %1 = hlo.pad %b, %zero, low = [2, 0], high = [0, 0], interior = [0, 0] : (tensor<4x4xf32>, tensor<f32>) -> tensor<6x4xf32>
  %2 = hlo.add %0, %1 : tensor<6x4xf32>
  return %2 : tensor<6x4xf32>
}

// ... and so does a sum that has other terms, or uses, ...
// CHECK-LABEL: @others
// CHECK-NOT:   hlo.concatenate
func.func @others(%a: tensor<2x4xf32>, %b: tensor<4x4xf32>, %c: tensor<6x4xf32>) -> (tensor<6x4xf32>, tensor<6x4xf32>) {
  %zero = hlo.constant dense<0.0> : tensor<f32>
  %0 = hlo.pad %a, %zero, low = [0, 0], high = [4, 0], interior = [0, 0] : (tensor<2x4xf32>, tensor<f32>) -> tensor<6x4xf32>
  %1 = hlo.pad %b, %zero, low = [2, 0], high = [0, 0], interior = [0, 0] : (tensor<4x4xf32>, tensor<f32>) -> tensor<6x4xf32>
  %2 = hlo.add %0, %c : tensor<6x4xf32>
  %3 = hlo.add %2, %1 : tensor<6x4xf32>
  %4 = hlo.add %3, %1 : tensor<6x4xf32>
  return %3, %4 : tensor<6x4xf32>, tensor<6x4xf32>
}

// ... and one of what is not surrounded by zeros: x + -0 may be -0.
// CHECK-LABEL: @negative_zero
// CHECK-NOT:   hlo.concatenate
func.func @negative_zero(%a: tensor<2x4xf32>, %b: tensor<4x4xf32>) -> tensor<6x4xf32> {
  %zero = hlo.constant dense<-0.0> : tensor<f32>
  %0 = hlo.pad %a, %zero, low = [0, 0], high = [4, 0], interior = [0, 0] : (tensor<2x4xf32>, tensor<f32>) -> tensor<6x4xf32>
  %1 = hlo.pad %b, %zero, low = [2, 0], high = [0, 0], interior = [0, 0] : (tensor<4x4xf32>, tensor<f32>) -> tensor<6x4xf32>
  %2 = hlo.add %0, %1 : tensor<6x4xf32>
  return %2 : tensor<6x4xf32>
}
