// RUN: hlo-opt %s --split-input-file --verify-diagnostics

func.func @sizes(%x: tensor<?x3xi64>, %y: tensor<2x4xi64>) {
  // expected-error@+1 {{check.expect_eq: compares values of different types tensor<?x3xi64> and tensor<2x4xi64>}}
  "check.expect_eq"(%x, %y) : (tensor<?x3xi64>, tensor<2x4xi64>) -> ()
  return
}

// -----

func.func @elements(%x: tensor<2xf32>, %y: tensor<2xf64>) {
  // expected-error@+1 {{check.expect_close: compares values of different types tensor<2xf32> and tensor<2xf64>}}
  check.expect_close %x, %y : tensor<2xf32>, tensor<2xf64>
  return
}

// -----

func.func @constant(%x: tensor<?xi64>) {
  // expected-error@+1 {{check.expect_eq_const: compares values of different types tensor<?xi64> and tensor<2xi64>}}
  "check.expect_eq_const"(%x) <{value = dense<1> : tensor<2xi64>}> : (tensor<?xi64>) -> ()
  return
}
