// RUN: hlo-opt %s --verify-roundtrip | filecheck %s

// CHECK-LABEL: func.func @bits
func.func @bits(%s: tensor<2xui64>, %t: tensor<3xui64>, %u: tensor<?xui64>, %v: tensor<1x2xf32>) {
  // CHECK: hlo.rng_bit_generator %{{.*}}, algorithm = DEFAULT : (tensor<2xui64>) -> (tensor<2xui64>, tensor<3x5xui32>)
  %0, %1 = stablehlo.rng_bit_generator %s, algorithm = DEFAULT : (tensor<2xui64>) -> (tensor<2xui64>, tensor<3x5xui32>)
  // CHECK: hlo.rng_bit_generator %{{.*}}, algorithm = PHILOX : (tensor<3xui64>) -> (tensor<3xui64>, tensor<i8>)
  %2:2 = "stablehlo.rng_bit_generator"(%t) <{rng_algorithm = #stablehlo<rng_algorithm PHILOX>}> : (tensor<3xui64>) -> (tensor<3xui64>, tensor<i8>)
  // CHECK: hlo.rng_bit_generator %{{.*}}, algorithm = THREE_FRY : (tensor<?xui64>) -> (tensor<?xui64>, tensor<?xf32, #hlo.bounds<4>>)
  %3:2 = hlo.rng_bit_generator %u, algorithm = THREE_FRY : (tensor<?xui64>) -> (tensor<?xui64>, tensor<?xf32, #hlo.bounds<4>>)
  // CHECK: hlo.rng_bit_generator %v, algorithm = DEFAULT : (tensor<1x2xf32>) -> (tensor<1x2xf32>, tensor<2x2xui32>)
  %4:2 = hlo.rng_bit_generator %v, algorithm = DEFAULT : (tensor<1x2xf32>) -> (tensor<1x2xf32>, tensor<2x2xui32>)
  return
}

// CHECK-LABEL: func.func @numbers
func.func @numbers(%a: tensor<f32>, %b: tensor<f32>, %i: tensor<i1>, %n: tensor<2xi64>) {
  // CHECK: hlo.rng %{{.*}}, %{{.*}}, %{{.*}}, distribution = NORMAL : (tensor<f32>, tensor<f32>, tensor<2xi64>) -> tensor<3x?xf32>
  %0 = stablehlo.rng %a, %b, %n, distribution = NORMAL : (tensor<f32>, tensor<f32>, tensor<2xi64>) -> tensor<3x?xf32>
  // CHECK: hlo.rng %{{.*}}, distribution = UNIFORM : (tensor<i1>, tensor<i1>, tensor<2xi64>) -> tensor<3x3xi1>
  %1 = "hlo.rng"(%i, %i, %n) <{rng_distribution = #hlo<rng_distribution UNIFORM>}> : (tensor<i1>, tensor<i1>, tensor<2xi64>) -> tensor<3x3xi1>
  return
}
