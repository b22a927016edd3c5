// RUN: hlo-opt %s --split-input-file --verify-diagnostics

func.func @value_of_another_type() {
  // expected-error@+1 {{constant_c1: result has type tensor<3xi32>, expected tensor<2xi32>}}
  %0 = "hlo.constant"() {value = dense<[1, 2]> : tensor<2xi32>} : () -> tensor<3xi32>
  return
}

// -----

func.func @value_that_is_not_dense() {
  // expected-error@+1 {{expected a dense constant, got "text"}}
  %0 = hlo.constant "text"
  return
}

// -----

func.func @dimension_past_the_last() {
  // expected-error@+1 {{iota_c1: iota_dimension 2 is not in [0, 2), the result's dimensions}}
  %0 = hlo.iota dim = 2 : tensor<2x3xi32>
  return
}

// -----

func.func @iota_of_a_scalar() {
  // expected-error@+1 {{iota_c1: iota_dimension 0 is not in [0, 0), the result's dimensions}}
  %0 = hlo.iota dim = 0 : tensor<i32>
  return
}

// -----

func.func @iota_of_booleans() {
  // expected-error@+1 {{iota_o1: result has element type i1, expected integer, float or complex}}
  %0 = hlo.iota dim = 0 : tensor<4xi1>
  return
}
