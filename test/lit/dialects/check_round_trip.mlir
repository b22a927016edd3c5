// RUN: hlo-opt %s --verify-roundtrip | filecheck %s

// CHECK-LABEL: func.func @checks
func.func @checks(%x: tensor<2xf32>, %y: tensor<2xf32>) {
  // CHECK: check.expect_eq %[[X:.*]], %[[Y:.*]] : tensor<2xf32>
  check.expect_eq %x, %y : tensor<2xf32>
  // CHECK: check.expect_eq_const %[[X]], dense<[1.000000e+00, 2.000000e+00]> : tensor<2xf32>
  check.expect_eq_const %x, dense<[1.0, 2.0]> : tensor<2xf32>
  // CHECK: check.expect_close %[[X]], %[[Y]], max_ulp_difference = 5, min_ulp_difference = 1 : tensor<2xf32>, tensor<2xf32>
  check.expect_close %x, %y, max_ulp_difference = 5, min_ulp_difference = 1 : tensor<2xf32>, tensor<2xf32>
  // CHECK: check.expect_almost_eq %[[X]], %[[Y]], tolerance = 0.5 : tensor<2xf32>
  "check.expect_almost_eq"(%x, %y) <{tolerance = 0.5 : f64}> : (tensor<2xf32>, tensor<2xf32>) -> ()
  // CHECK: check.expect_almost_eq_const %[[X]], dense<1.000000e+00> : tensor<2xf32>
  check.expect_almost_eq_const %x, dense<1.0> : tensor<2xf32>
  return
}

// Shapes agree where both are known.
// CHECK-LABEL: func.func @checks_of_open_sizes
func.func @checks_of_open_sizes(%x: tensor<?x3xi64>, %y: tensor<2x3xi64>) {
  // CHECK: check.expect_eq %{{.*}}, %{{.*}} : tensor<?x3xi64>, tensor<2x3xi64>
  "check.expect_eq"(%x, %y) : (tensor<?x3xi64>, tensor<2x3xi64>) -> ()
  return
}
