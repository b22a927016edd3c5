// RUN: hlo-opt %s --simplify-hlo | filecheck %s

// CHECK-LABEL: func.func @unsigned(
// CHECK-DAG:     hlo.shift_right_logical %x
// CHECK-DAG:     hlo.and %x
// CHECK-NOT:     hlo.divide
// CHECK-NOT:     hlo.remainder
func.func @unsigned(%x: tensor<8xui32>) -> (tensor<8xui32>, tensor<8xui32>) {
  %c = hlo.constant dense<16> : tensor<8xui32>
  %0 = hlo.divide %x, %c : tensor<8xui32>
  %1 = hlo.remainder %x, %c : tensor<8xui32>
  return %0, %1 : tensor<8xui32>, tensor<8xui32>
}

// CHECK-LABEL: func.func @signed(
// CHECK-NOT:     hlo.divide
// CHECK-NOT:     hlo.remainder
// CHECK:         hlo.shift_right_arithmetic
// CHECK:         hlo.and
// CHECK:         hlo.subtract %x
func.func @signed(%x: tensor<8xi32>) -> (tensor<8xi32>, tensor<8xi32>) {
  %c = hlo.constant dense<8> : tensor<8xi32>
  %0 = hlo.divide %x, %c : tensor<8xi32>
  %1 = hlo.remainder %x, %c : tensor<8xi32>
  return %0, %1 : tensor<8xi32>, tensor<8xi32>
}

// CHECK-LABEL: func.func @power(
// CHECK-NEXT:    %[[S:.*]] = hlo.multiply %x, %x
// CHECK-NEXT:    %[[F:.*]] = hlo.multiply %[[S]], %[[S]]
// CHECK-NEXT:    hlo.multiply %{{x, %.*|.*, %x}}
func.func @power(%x: tensor<8xi32>) -> tensor<8xi32> {
  %c = hlo.constant dense<5> : tensor<8xi32>
  %0 = hlo.power %x, %c : tensor<8xi32>
  return %0 : tensor<8xi32>
}
