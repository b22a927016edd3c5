// RUN: hlo-opt %s --split-input-file --verify-diagnostics

func.func @operands_of_two_types(%x: tensor<4xf32>, %i: tensor<4xi32>) {
  // expected-error@+1 {{add_c1: lhs and rhs have different types: tensor<4xf32> and tensor<4xi32>}}
  %0 = hlo.add %x, %i : (tensor<4xf32>, tensor<4xi32>) -> tensor<4xf32>
  return
}

// -----

func.func @operands_of_two_shapes(%x: tensor<4xf32>, %y: tensor<5xf32>) {
  // expected-error@+1 {{subtract_c1: lhs and rhs have different shapes: tensor<4xf32> and tensor<5xf32>}}
  %0 = hlo.subtract %x, %y : (tensor<4xf32>, tensor<5xf32>) -> tensor<4xf32>
  return
}

// -----

func.func @result_of_another_type(%x: tensor<4xf32>) {
  // expected-error@+1 {{multiply_c1: result has type tensor<4xf64>, expected tensor<4xf32>}}
  %0 = hlo.multiply %x, %x : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf64>
  return
}

// -----

func.func @bits_of_a_float(%x: tensor<4xf32>) {
  // expected-error@+1 {{and_i1: lhs has element type f32, expected boolean or integer}}
  %0 = hlo.and %x, %x : tensor<4xf32>
  return
}

// -----

func.func @difference_of_booleans(%p: tensor<4xi1>) {
  // expected-error@+1 {{subtract_i1: lhs has element type i1, expected integer, float or complex}}
  %0 = hlo.subtract %p, %p : tensor<4xi1>
  return
}

// -----

func.func @unsigned_magnitude(%u: tensor<4xui8>) {
  // expected-error@+1 {{abs_i1: operand has element type ui8, expected signed integer, float or complex}}
  %0 = hlo.abs %u : tensor<4xui8>
  return
}

// -----

func.func @complex_magnitude_of_a_complex(%z: tensor<4xcomplex<f32>>) {
  // expected-error@+1 {{abs_c2: result has type tensor<4xcomplex<f32>>, expected tensor<4xf32>}}
  %0 = hlo.abs %z : tensor<4xcomplex<f32>>
  return
}

// -----

func.func @exponential_of_an_integer(%i: tensor<4xi32>) {
  // expected-error@+1 {{exponential_i1: operand has element type i32, expected float or complex}}
  %0 = hlo.exponential %i : tensor<4xi32>
  return
}

// -----

func.func @result_of_another_shape(%x: tensor<4xf32>) {
  // expected-error@+1 {{tanh_c1: result has type tensor<5xf32>, expected tensor<4xf32>}}
  %0 = hlo.tanh %x : (tensor<4xf32>) -> tensor<5xf32>
  return
}

// -----

func.func @finite_as_a_float(%x: tensor<4xf32>) {
  // expected-error@+1 {{is_finite_o1: result has type tensor<4xf32>, expected tensor<4xi1>}}
  %0 = hlo.is_finite %x : (tensor<4xf32>) -> tensor<4xf32>
  return
}

// -----

func.func @floor_of_an_integer(%i: tensor<4xi32>) {
  // expected-error@+1 {{floor_i1: operand has element type i32, expected float}}
  %0 = hlo.floor %i : tensor<4xi32>
  return
}

// -----

func.func @error_function_of_an_integer(%i: tensor<4xi32>) {
  // expected-error@+1 {{erf_i1: operand has element type i32, expected float}}
  %0 = chlo.erf %i : tensor<4xi32> -> tensor<4xi32>
  return
}

// -----

func.func @one_operand_missing(%x: tensor<4xf32>) {
  // expected-error@+1 {{expected ','}}
  %0 = hlo.add %x : tensor<4xf32>
  return
}
