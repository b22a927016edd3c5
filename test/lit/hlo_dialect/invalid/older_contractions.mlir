// RUN: hlo-opt %s --split-input-file --verify-diagnostics

func.func @ranks(%a: tensor<2x3x4xf32>, %b: tensor<4x5xf32>) {
  // expected-error@+1 {{dot_ranks: operands have ranks 3 and 2, expected 1 or 2}}
  %0 = hlo.dot %a, %b : (tensor<2x3x4xf32>, tensor<4x5xf32>) -> tensor<2x3x5xf32>
  return
}

// -----

func.func @sizes(%a: tensor<3x4xf32>, %b: tensor<3x5xf32>) {
  // expected-error@+1 {{dot_sizes: the last dimension of lhs has size 4, the first of rhs 3}}
  %0 = hlo.dot %a, %b : (tensor<3x4xf32>, tensor<3x5xf32>) -> tensor<3x5xf32>
  return
}

// -----

func.func @types(%a: tensor<3x4xf32>, %b: tensor<4x5xi32>) {
  // expected-error@+1 {{dot_types: operands have element types f32 and i32}}
  %0 = hlo.dot %a, %b : (tensor<3x4xf32>, tensor<4x5xi32>) -> tensor<3x5xf32>
  return
}

// -----

func.func @precision(%a: tensor<3x4xf32>, %b: tensor<4x5xf32>) {
  // expected-error@+1 {{dot_precision: precision_config has 1 entries, expected 2}}
  %0 = hlo.dot %a, %b, precision = [HIGH] : (tensor<3x4xf32>, tensor<4x5xf32>) -> tensor<3x5xf32>
  return
}

// -----

func.func @result(%a: tensor<3x4xf32>, %b: tensor<4x5xf32>) {
  // expected-error@+1 {{dot_result: result has type tensor<5x3xf32>, expected tensor<3x5xf32>}}
  %0 = hlo.dot %a, %b : (tensor<3x4xf32>, tensor<4x5xf32>) -> tensor<5x3xf32>
  return
}

// -----

func.func @no_arrow(%a: tensor<3x4xf32>, %b: tensor<4x5xf32>) {
  // expected-error@+1 {{einsum_config: 'ab,bc' is not of the form ab,bc->ac}}
  %0 = hlo.einsum %a, %b, config = "ab,bc" : (tensor<3x4xf32>, tensor<4x5xf32>) -> tensor<3x5xf32>
  return
}

// -----

func.func @one_operand(%a: tensor<3x4xf32>, %b: tensor<4x5xf32>) {
  // expected-error@+1 {{einsum_config: 'ab->a' is not of the form ab,bc->ac}}
  %0 = hlo.einsum %a, %b, config = "ab->a" : (tensor<3x4xf32>, tensor<4x5xf32>) -> tensor<3x5xf32>
  return
}

// -----

func.func @rank(%a: tensor<3x4xf32>, %b: tensor<4x5xf32>) {
  // expected-error@+1 {{einsum_config: 'abc' names the dimensions of an operand of rank 2}}
  %0 = hlo.einsum %a, %b, config = "abc,bc->ac" : (tensor<3x4xf32>, tensor<4x5xf32>) -> tensor<3x5xf32>
  return
}

// -----

func.func @unknown_label(%a: tensor<3x4xf32>, %b: tensor<4x5xf32>) {
  // expected-error@+1 {{einsum_config: the labels of the result of 'ab,bc->ad' are not labels of operands, each once}}
  %0 = hlo.einsum %a, %b, config = "ab,bc->ad" : (tensor<3x4xf32>, tensor<4x5xf32>) -> tensor<3x5xf32>
  return
}

// -----

func.func @letters(%a: tensor<3x4xf32>, %b: tensor<4x5xf32>) {
  // expected-error@+1 {{einsum_config: 'a1,1c->ac' has labels that are not letters}}
  %0 = hlo.einsum %a, %b, config = "a1,1c->ac" : (tensor<3x4xf32>, tensor<4x5xf32>) -> tensor<3x5xf32>
  return
}

// -----

func.func @label_sizes(%a: tensor<3x4xf32>, %b: tensor<4x5xf32>) {
  // expected-error@+1 {{einsum_sizes: dimensions with the label 'b' have sizes 4 and 5}}
  %0 = hlo.einsum %a, %b, config = "ab,cb->ac" : (tensor<3x4xf32>, tensor<4x5xf32>) -> tensor<3x5xf32>
  return
}

// -----

func.func @einsum_result_type(%a: tensor<3x4xf32>, %b: tensor<4x5xf32>) {
  // expected-error@+1 {{einsum_result: result has type tensor<3x5xf32>, expected tensor<5x3xf32>}}
  %0 = hlo.einsum %a, %b, config = "ab,bc->ca" : (tensor<3x4xf32>, tensor<4x5xf32>) -> tensor<3x5xf32>
  return
}

// -----

func.func @einsum_types(%a: tensor<3x4xf32>, %b: tensor<4x5xi32>) {
  // expected-error@+1 {{einsum_types: operands have element types f32 and i32}}
  %0 = hlo.einsum %a, %b, config = "ab,bc->ac" : (tensor<3x4xf32>, tensor<4x5xi32>) -> tensor<3x5xf32>
  return
}

// -----

func.func @unary_config(%a: tensor<3x4xf32>) {
  // expected-error@+1 {{einsum_config: 'ab,bc->a' is not of the form ab->a}}
  %0 = hlo.unary_einsum %a, config = "ab,bc->a" : (tensor<3x4xf32>) -> tensor<3xf32>
  return
}
