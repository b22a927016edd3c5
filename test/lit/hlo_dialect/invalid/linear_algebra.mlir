// RUN: hlo-opt %s --split-input-file --verify-diagnostics

func.func @cholesky_of_integers(%a: tensor<3x3xi32>) {
  // expected-error@+1 {{cholesky_i1: a has element type i32, expected float or complex}}
  %0 = hlo.cholesky %a : tensor<3x3xi32>
  return
}

// -----

func.func @cholesky_of_another_type(%a: tensor<3x3xf32>) {
  // expected-error@+1 {{cholesky_c1: result has type tensor<3x3xf64>, expected tensor<3x3xf32>}}
  %0 = hlo.cholesky %a : (tensor<3x3xf32>) -> tensor<3x3xf64>
  return
}

// -----

func.func @cholesky_of_a_vector(%a: tensor<3xf32>) {
  // expected-error@+1 {{cholesky_c2: a has rank 1, expected at least 2}}
  %0 = hlo.cholesky %a : tensor<3xf32>
  return
}

// -----

func.func @cholesky_of_a_rectangle(%a: tensor<3x4xf32>) {
  // expected-error@+1 {{cholesky_c3: the matrices (3, 4) are not square}}
  %0 = hlo.cholesky %a : tensor<3x4xf32>
  return
}

// -----

func.func @solve_integers(%a: tensor<3x3xi32>) {
  // expected-error@+1 {{triangular_solve_i1: a has element type i32, expected float or complex}}
  %0 = "hlo.triangular_solve"(%a, %a) {left_side = true, lower = true, unit_diagonal = false, transpose_a = #hlo<transpose NO_TRANSPOSE>} : (tensor<3x3xi32>, tensor<3x3xi32>) -> tensor<3x3xi32>
  return
}

// -----

func.func @solve_for_integers(%a: tensor<3x3xf32>, %b: tensor<3x3xi32>) {
  // expected-error@+1 {{triangular_solve_i2: b has element type i32, expected float or complex}}
  %0 = "hlo.triangular_solve"(%a, %b) {left_side = true, lower = true, unit_diagonal = false, transpose_a = #hlo<transpose NO_TRANSPOSE>} : (tensor<3x3xf32>, tensor<3x3xi32>) -> tensor<3x3xi32>
  return
}

// -----

func.func @solve_mixed(%a: tensor<3x3xf32>, %b: tensor<3x3xf64>) {
  // expected-error@+1 {{triangular_solve_c1: a has elements of type f32, b of f64}}
  %0 = "hlo.triangular_solve"(%a, %b) {left_side = true, lower = true, unit_diagonal = false, transpose_a = #hlo<transpose NO_TRANSPOSE>} : (tensor<3x3xf32>, tensor<3x3xf64>) -> tensor<3x3xf64>
  return
}

// -----

func.func @solve_ranks(%a: tensor<3x3xf32>, %b: tensor<3xf32>) {
  // expected-error@+1 {{triangular_solve_c2: a has rank 2 and b rank 1, expected one of at least 2}}
  %0 = "hlo.triangular_solve"(%a, %b) {left_side = true, lower = true, unit_diagonal = false, transpose_a = #hlo<transpose NO_TRANSPOSE>} : (tensor<3x3xf32>, tensor<3xf32>) -> tensor<3xf32>
  return
}

// -----

func.func @solve_batches(%a: tensor<2x3x3xf32>, %b: tensor<4x3x3xf32>) {
  // expected-error@+1 {{triangular_solve_c3: the batches of a (2, 3, 3) and b (4, 3, 3) differ}}
  %0 = "hlo.triangular_solve"(%a, %b) {left_side = true, lower = true, unit_diagonal = false, transpose_a = #hlo<transpose NO_TRANSPOSE>} : (tensor<2x3x3xf32>, tensor<4x3x3xf32>) -> tensor<4x3x3xf32>
  return
}

// -----

func.func @solve_a_rectangle(%a: tensor<3x4xf32>, %b: tensor<3x4xf32>) {
  // expected-error@+1 {{triangular_solve_c3: the matrices (3, 4) of a are not square}}
  %0 = "hlo.triangular_solve"(%a, %b) {left_side = true, lower = true, unit_diagonal = false, transpose_a = #hlo<transpose NO_TRANSPOSE>} : (tensor<3x4xf32>, tensor<3x4xf32>) -> tensor<3x4xf32>
  return
}

// -----

func.func @solve_sides(%a: tensor<3x3xf32>, %b: tensor<3x4xf32>) {
  // expected-error@+1 {{triangular_solve_c3: the matrices (3, 3) of a do not fit those (3, 4) of b}}
  %0 = "hlo.triangular_solve"(%a, %b) {left_side = false, lower = true, unit_diagonal = false, transpose_a = #hlo<transpose NO_TRANSPOSE>} : (tensor<3x3xf32>, tensor<3x4xf32>) -> tensor<3x4xf32>
  return
}

// -----

func.func @solve_result(%a: tensor<3x3xf32>, %b: tensor<3x4xf32>) {
  // expected-error@+1 {{triangular_solve_c4: result has type tensor<4x3xf32>, expected tensor<3x4xf32>}}
  %0 = "hlo.triangular_solve"(%a, %b) {left_side = true, lower = true, unit_diagonal = false, transpose_a = #hlo<transpose NO_TRANSPOSE>} : (tensor<3x3xf32>, tensor<3x4xf32>) -> tensor<4x3xf32>
  return
}

// -----

func.func @solve_invalid_transpose(%a: tensor<3x3xf32>, %b: tensor<3x4xf32>) {
  // expected-error@+1 {{triangular_solve_i6: transpose_a is not one of NO_TRANSPOSE, TRANSPOSE, ADJOINT}}
  %0 = "hlo.triangular_solve"(%a, %b) {left_side = true, lower = true, unit_diagonal = false, transpose_a = #hlo<transpose TRANSPOSE_INVALID>} : (tensor<3x3xf32>, tensor<3x4xf32>) -> tensor<3x4xf32>
  return
}
