// RUN: hlo-opt %s --decompose-hlo | filecheck %s

// CHECK-LABEL: func.func @bits
// CHECK:         %[[KEY:.*]] = hlo.slice %s [0:1]
// CHECK:         hlo.iota dim = 0 : tensor<5xui64>
// CHECK:         hlo.constant dense<3528531795> : tensor<5xui64>
// CHECK:         hlo.xor
// CHECK-NOT:     hlo.rng_bit_generator
func.func @bits(%s: tensor<2xui64>) -> (tensor<2xui64>, tensor<5xui8>) {
  %0, %1 = hlo.rng_bit_generator %s, algorithm = PHILOX : (tensor<2xui64>) -> (tensor<2xui64>, tensor<5xui8>)
  return %0, %1 : tensor<2xui64>, tensor<5xui8>
}

// Each operation has its own counters.
// CHECK-LABEL: func.func @numbers
// CHECK:         hlo.constant dense<104372256180753> : tensor<ui64>
// CHECK-NEXT:    hlo.constant dense<0> : tensor<ui64>
// CHECK-NEXT:    hlo.constant dense<0> : tensor<ui64>
// CHECK:         hlo.constant dense<104372256180753> : tensor<ui64>
// CHECK-NEXT:    hlo.constant dense<0> : tensor<ui64>
// CHECK-NEXT:    hlo.constant dense<1> : tensor<ui64>
// CHECK-NOT:     hlo.rng
func.func @numbers(%a: tensor<f32>, %b: tensor<f32>) -> (tensor<5xf32>, tensor<5xf32>) {
  %n = hlo.constant dense<5> : tensor<1xi64>
  %0 = hlo.rng %a, %b, %n, distribution = UNIFORM : (tensor<f32>, tensor<f32>, tensor<1xi64>) -> tensor<5xf32>
  %1 = hlo.rng %a, %b, %n, distribution = NORMAL : (tensor<f32>, tensor<f32>, tensor<1xi64>) -> tensor<5xf32>
  return %0, %1 : tensor<5xf32>, tensor<5xf32>
}
