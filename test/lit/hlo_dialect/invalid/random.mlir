// RUN: hlo-opt %s --split-input-file --verify-diagnostics

func.func @state_of_booleans(%s: tensor<2xi1>) {
  // expected-error@+1 {{rng_bit_generator_i2: initial_state has type tensor<2xi1>, expected integers or floats}}
  %0, %1 = hlo.rng_bit_generator %s, algorithm = DEFAULT : (tensor<2xi1>) -> (tensor<2xi1>, tensor<4xui32>)
  return
}

// -----

func.func @state_of_complex_numbers(%s: tensor<2x1xcomplex<f32>>) {
  // expected-error@+1 {{rng_bit_generator_i2: initial_state has type tensor<2x1xcomplex<f32>>}}
  %0, %1 = hlo.rng_bit_generator %s, algorithm = DEFAULT : (tensor<2x1xcomplex<f32>>) -> (tensor<2x1xcomplex<f32>>, tensor<4xui32>)
  return
}

// -----

func.func @state_changes_its_type(%s: tensor<2xui64>) {
  // expected-error@+1 {{rng_bit_generator_c1: output_state has type tensor<3xui64>, initial_state tensor<2xui64>}}
  %0, %1 = hlo.rng_bit_generator %s, algorithm = PHILOX : (tensor<2xui64>) -> (tensor<3xui64>, tensor<4xui32>)
  return
}

// -----

func.func @threefry_of_three_words(%s: tensor<3xui64>) {
  // expected-error@+1 {{rng_bit_generator_c2: initial_state has 3 elements, THREE_FRY takes 2}}
  %0, %1 = hlo.rng_bit_generator %s, algorithm = THREE_FRY : (tensor<3xui64>) -> (tensor<3xui64>, tensor<4xui32>)
  return
}

// -----

func.func @philox_of_four_words(%s: tensor<4xui64>) {
  // expected-error@+1 {{rng_bit_generator_c2: initial_state has 4 elements, PHILOX takes 2 or 3}}
  %0, %1 = hlo.rng_bit_generator %s, algorithm = PHILOX : (tensor<4xui64>) -> (tensor<4xui64>, tensor<4xui32>)
  return
}

// -----

func.func @random_booleans(%s: tensor<2xui64>) {
  // expected-error@+1 {{rng_bit_generator_o2: output has element type i1, expected integer or float}}
  %0, %1 = hlo.rng_bit_generator %s, algorithm = DEFAULT : (tensor<2xui64>) -> (tensor<2xui64>, tensor<4xi1>)
  return
}

// -----

func.func @bounds_of_another_type(%a: tensor<f32>, %b: tensor<f64>, %n: tensor<1xi64>) {
  // expected-error@+1 {{rng_c1: b has element type f64, the result f32}}
  %0 = hlo.rng %a, %b, %n, distribution = UNIFORM : (tensor<f32>, tensor<f64>, tensor<1xi64>) -> tensor<3xf32>
  return
}

// -----

func.func @normal_integers(%a: tensor<i32>, %b: tensor<i32>, %n: tensor<1xi64>) {
  // expected-error@+1 {{rng_c2: a normal distribution of i32, expected float}}
  %0 = hlo.rng %a, %b, %n, distribution = NORMAL : (tensor<i32>, tensor<i32>, tensor<1xi64>) -> tensor<3xi32>
  return
}

// -----

func.func @shape_of_another_rank(%a: tensor<f32>, %b: tensor<f32>, %n: tensor<2xi64>) {
  // expected-error@+1 {{rng_c3: the result has shape (3), shape has (2) elements}}
  %0 = hlo.rng %a, %b, %n, distribution = UNIFORM : (tensor<f32>, tensor<f32>, tensor<2xi64>) -> tensor<3xf32>
  return
}

// -----

func.func @lower_bound_is_no_scalar(%a: tensor<1xf32>, %b: tensor<f32>, %n: tensor<1xi64>) {
  // expected-error@+1 {{rng_i1: a of type tensor<1xf32> is no scalar}}
  %0 = hlo.rng %a, %b, %n, distribution = UNIFORM : (tensor<1xf32>, tensor<f32>, tensor<1xi64>) -> tensor<3xf32>
  return
}

// -----

func.func @complex_numbers(%a: tensor<complex<f32>>, %b: tensor<complex<f32>>, %n: tensor<1xi64>) {
  // expected-error@+1 {{rng_i1: elements of type complex<f32>, expected integer, boolean or float}}
  %0 = hlo.rng %a, %b, %n, distribution = UNIFORM : (tensor<complex<f32>>, tensor<complex<f32>>, tensor<1xi64>) -> tensor<3xcomplex<f32>>
  return
}

// -----

func.func @upper_bound_is_no_scalar(%a: tensor<f32>, %b: tensor<1xf32>, %n: tensor<1xi64>) {
  // expected-error@+1 {{rng_i2: b of type tensor<1xf32> is no scalar}}
  %0 = hlo.rng %a, %b, %n, distribution = UNIFORM : (tensor<f32>, tensor<1xf32>, tensor<1xi64>) -> tensor<3xf32>
  return
}

// -----

func.func @shape_of_floats(%a: tensor<f32>, %b: tensor<f32>, %n: tensor<1xf32>) {
  // expected-error@+1 {{rng_i3: shape has type tensor<1xf32>, expected a vector of integers}}
  %0 = hlo.rng %a, %b, %n, distribution = UNIFORM : (tensor<f32>, tensor<f32>, tensor<1xf32>) -> tensor<3xf32>
  return
}

// -----

func.func @another_shape(%a: tensor<f32>) {
  %n = hlo.constant dense<[3, 4]> : tensor<2xi64>
  // expected-error@+1 {{rng_c3: the result has shape (3, 5), shape is (3, 4)}}
  %0 = hlo.rng %a, %a, %n, distribution = UNIFORM : (tensor<f32>, tensor<f32>, tensor<2xi64>) -> tensor<3x5xf32>
  return
}
