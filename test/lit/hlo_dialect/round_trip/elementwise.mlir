// RUN: hlo-opt %s --verify-roundtrip | filecheck %s

// CHECK-LABEL: func.func @unary
func.func @unary(%x: tensor<4xf32>, %i: tensor<4xi32>, %u: tensor<2x3xui8>, %z: tensor<4xcomplex<f32>>, %d: tensor<?x3xbf16>) {
  // CHECK: hlo.abs %{{.*}} : tensor<4xf32>
  %0 = stablehlo.abs %x : tensor<4xf32>
  // CHECK: hlo.abs %{{.*}} : (tensor<4xcomplex<f32>>) -> tensor<4xf32>
  %1 = hlo.abs %z : (tensor<4xcomplex<f32>>) -> tensor<4xf32>
  // CHECK: hlo.cbrt %{{.*}} : tensor<4xf32>
  %2 = hlo.cbrt %x : tensor<4xf32>
  // CHECK: hlo.ceil %{{.*}} : tensor<4xf32>
  %3 = hlo.ceil %x : tensor<4xf32>
  // CHECK: hlo.cosine %{{.*}} : tensor<4xf32>
  %4 = hlo.cosine %x : tensor<4xf32>
  // CHECK: hlo.count_leading_zeros %{{.*}} : tensor<2x3xui8>
  %5 = hlo.count_leading_zeros %u : tensor<2x3xui8>
  // CHECK: hlo.exponential %{{.*}} : tensor<?x3xbf16>
  %6 = hlo.exponential %d : tensor<?x3xbf16>
  // CHECK: hlo.exponential_minus_one %{{.*}} : tensor<4xf32>
  %7 = hlo.exponential_minus_one %x : tensor<4xf32>
  // CHECK: hlo.floor %{{.*}} : tensor<4xf32>
  %8 = hlo.floor %x : tensor<4xf32>
  // CHECK: hlo.is_finite %{{.*}} : (tensor<4xf32>) -> tensor<4xi1>
  %9 = hlo.is_finite %x : (tensor<4xf32>) -> tensor<4xi1>
  // CHECK: hlo.log %{{.*}} : tensor<4xf32>
  %10 = hlo.log %x : tensor<4xf32>
  // CHECK: hlo.log_plus_one %{{.*}} : tensor<4xf32>
  %11 = hlo.log_plus_one %x : tensor<4xf32>
  // CHECK: hlo.logistic %{{.*}} : tensor<4xf32>
  %12 = hlo.logistic %x : tensor<4xf32>
  // CHECK: hlo.negate %{{.*}} {mine = 1 : i32} : tensor<4xi32>
  %13 = hlo.negate %i {mine = 1 : i32} : tensor<4xi32>
  // CHECK: hlo.not %{{.*}} : tensor<4xi32>
  %14 = hlo.not %i : tensor<4xi32>
  // CHECK: hlo.popcnt %{{.*}} : tensor<4xi32>
  %15 = hlo.popcnt %i : tensor<4xi32>
  // CHECK: hlo.round_nearest_afz %{{.*}} : tensor<4xf32>
  %16 = hlo.round_nearest_afz %x : tensor<4xf32>
  // CHECK: hlo.round_nearest_even %{{.*}} : tensor<4xf32>
  %17 = hlo.round_nearest_even %x : tensor<4xf32>
  // CHECK: hlo.rsqrt %{{.*}} : tensor<4xf32>
  %18 = hlo.rsqrt %x : tensor<4xf32>
  // CHECK: hlo.sign %{{.*}} : tensor<4xf32>
  %19 = hlo.sign %x : tensor<4xf32>
  // CHECK: hlo.sine %{{.*}} : tensor<4xcomplex<f32>>
  %20 = hlo.sine %z : tensor<4xcomplex<f32>>
  // CHECK: hlo.sqrt %{{.*}} : tensor<4xf32>
  %21 = hlo.sqrt %x : tensor<4xf32>
  // CHECK: hlo.tan %{{.*}} : tensor<4xf32>
  %22 = hlo.tan %x : tensor<4xf32>
  // CHECK: hlo.tanh %{{.*}} : tensor<4xf32>
  %23 = "stablehlo.tanh"(%x) : (tensor<4xf32>) -> tensor<4xf32>
  return
}

// CHECK-LABEL: func.func @accuracy
func.func @accuracy(%x: tensor<4xf32>) {
  // CHECK: hlo.exponential %{{.*}} {result_accuracy = #hlo.result_accuracy<mode = #hlo.result_accuracy_mode<HIGHEST>>} : tensor<4xf32>
  %0 = stablehlo.exponential %x {result_accuracy = #stablehlo.result_accuracy<mode = #stablehlo.result_accuracy_mode<HIGHEST>>} : tensor<4xf32>
  // CHECK: hlo.log %{{.*}} {result_accuracy = #hlo.result_accuracy<atol = 1.000000e+00, rtol = 0.000000e+00, ulps = 3, mode = #hlo.result_accuracy_mode<TOLERANCE>>} : tensor<4xf32>
  %1 = stablehlo.log %x {result_accuracy = #stablehlo.result_accuracy<atol = 1.0, ulps = 3, mode = #stablehlo.result_accuracy_mode<TOLERANCE>>} : tensor<4xf32>
  return
}

// CHECK-LABEL: func.func @binary
func.func @binary(%x: tensor<4xf32>, %i: tensor<4xi32>, %p: tensor<i1>, %d: tensor<?xf32>) {
  // CHECK: hlo.add %{{.*}}, %{{.*}} : tensor<4xf32>
  %0 = stablehlo.add %x, %x : tensor<4xf32>
  // CHECK: hlo.add %{{.*}}, %{{.*}} : (tensor<4xf32>, tensor<?xf32>) -> tensor<4xf32>
  %1 = hlo.add %x, %d : (tensor<4xf32>, tensor<?xf32>) -> tensor<4xf32>
  // CHECK: hlo.and %{{.*}}, %{{.*}} : tensor<i1>
  %2 = hlo.and %p, %p : tensor<i1>
  // CHECK: hlo.atan2 %{{.*}}, %{{.*}} : tensor<4xf32>
  %3 = hlo.atan2 %x, %x : tensor<4xf32>
  // CHECK: hlo.divide %{{.*}}, %{{.*}} : tensor<4xi32>
  %4 = hlo.divide %i, %i : tensor<4xi32>
  // CHECK: hlo.maximum %{{.*}}, %{{.*}} : tensor<4xf32>
  %5 = hlo.maximum %x, %x : tensor<4xf32>
  // CHECK: hlo.minimum %{{.*}}, %{{.*}} : tensor<4xf32>
  %6 = hlo.minimum %x, %x : tensor<4xf32>
  // CHECK: hlo.multiply %{{.*}}, %{{.*}} : tensor<4xf32>
  %7 = "hlo.multiply"(%x, %x) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  // CHECK: hlo.or %{{.*}}, %{{.*}} : tensor<4xi32>
  %8 = hlo.or %i, %i : tensor<4xi32>
  // CHECK: hlo.power %{{.*}}, %{{.*}} : tensor<4xf32>
  %9 = hlo.power %x, %x : tensor<4xf32>
  // CHECK: hlo.remainder %{{.*}}, %{{.*}} : tensor<4xi32>
  %10 = hlo.remainder %i, %i : tensor<4xi32>
  // CHECK: hlo.shift_left %{{.*}}, %{{.*}} : tensor<4xi32>
  %11 = hlo.shift_left %i, %i : tensor<4xi32>
  // CHECK: hlo.shift_right_arithmetic %{{.*}}, %{{.*}} : tensor<4xi32>
  %12 = hlo.shift_right_arithmetic %i, %i : tensor<4xi32>
  // CHECK: hlo.shift_right_logical %{{.*}}, %{{.*}} : tensor<4xi32>
  %13 = hlo.shift_right_logical %i, %i : tensor<4xi32>
  // CHECK: hlo.subtract %{{.*}}, %{{.*}} : tensor<4xf32>
  %14 = hlo.subtract %x, %x : tensor<4xf32>
  // CHECK: hlo.xor %{{.*}}, %{{.*}} : tensor<i1>
  %15 = hlo.xor %p, %p : tensor<i1>
  return
}

// CHECK-LABEL: func.func @chlo
func.func @chlo(%x: tensor<4xf32>) {
  // CHECK: chlo.square %{{.*}} : tensor<4xf32> -> tensor<4xf32>
  %0 = chlo.square %x : tensor<4xf32> -> tensor<4xf32>
  // CHECK: chlo.erf %{{.*}} : tensor<4xf32> -> tensor<4xf32>
  %1 = chlo.erf %x : tensor<4xf32> -> tensor<4xf32>
  // CHECK: chlo.erfc %{{.*}} : tensor<4xf32> -> tensor<4xf32>
  %2 = "chlo.erfc"(%x) : (tensor<4xf32>) -> tensor<4xf32>
  return
}
