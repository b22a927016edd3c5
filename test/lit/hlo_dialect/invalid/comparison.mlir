// RUN: hlo-opt %s --split-input-file --verify-diagnostics

func.func @two_element_types(%x: tensor<4xf32>, %i: tensor<4xi32>) {
  // expected-error@+1 {{compare_c1: lhs and rhs have different element types: tensor<4xf32> and tensor<4xi32>}}
  %0 = hlo.compare LT, %x, %i : (tensor<4xf32>, tensor<4xi32>) -> tensor<4xi1>
  return
}

// -----

func.func @two_shapes(%x: tensor<4xf32>, %y: tensor<5xf32>) {
  // expected-error@+1 {{compare_c2: lhs and rhs have different shapes: tensor<4xf32> and tensor<5xf32>}}
  %0 = hlo.compare LT, %x, %y : (tensor<4xf32>, tensor<5xf32>) -> tensor<4xi1>
  return
}

// -----

func.func @result_of_another_shape(%x: tensor<4xf32>) {
  // expected-error@+1 {{compare_c2: result has type tensor<5xi1>, expected tensor<4xi1>}}
  %0 = hlo.compare LT, %x, %x : (tensor<4xf32>, tensor<4xf32>) -> tensor<5xi1>
  return
}

// -----

func.func @result_that_is_no_boolean(%x: tensor<4xf32>) {
  // expected-error@+1 {{compare_o1: result has type tensor<4xf32>, expected tensor<4xi1>}}
  %0 = hlo.compare LT, %x, %x : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  return
}

// -----

func.func @no_direction(%x: tensor<4xf32>) {
  // expected-error@+1 {{EQ}}
  %0 = hlo.compare LESS, %x, %x : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xi1>
  return
}

// -----

func.func @predicate_that_is_no_boolean(%x: tensor<4xf32>) {
  // expected-error@+1 {{select_i1: pred has element type f32, expected boolean}}
  %0 = hlo.select %x, %x, %x : tensor<4xf32>, tensor<4xf32>
  return
}

// -----

func.func @predicate_of_another_shape(%p: tensor<3xi1>, %x: tensor<4xf32>) {
  // expected-error@+1 {{select_c1: pred has type tensor<3xi1>, which is neither of rank 0 nor of on_true's shape in tensor<4xf32>}}
  %0 = hlo.select %p, %x, %x : tensor<3xi1>, tensor<4xf32>
  return
}

// -----

func.func @choices_of_two_types(%p: tensor<i1>, %x: tensor<4xf32>, %i: tensor<4xi32>) {
  // expected-error@+1 {{select_c2: on_true and on_false have different types: tensor<4xf32> and tensor<4xi32>}}
  %0 = hlo.select %p, %x, %i : (tensor<i1>, tensor<4xf32>, tensor<4xi32>) -> tensor<4xf32>
  return
}

// -----

func.func @choice_of_another_type(%p: tensor<i1>, %x: tensor<4xf32>) {
  // expected-error@+1 {{select_c2: result has type tensor<5xf32>, expected tensor<4xf32>}}
  %0 = hlo.select %p, %x, %x : (tensor<i1>, tensor<4xf32>, tensor<4xf32>) -> tensor<5xf32>
  return
}

// -----

func.func @lower_bound_of_another_shape(%x: tensor<4xf32>, %y: tensor<3xf32>) {
  // expected-error@+1 {{clamp_c1: min has type tensor<3xf32>, which is neither of rank 0 nor of the operand's shape in tensor<4xf32>}}
  %0 = hlo.clamp %y, %x, %x : (tensor<3xf32>, tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  return
}

// -----

func.func @upper_bound_of_another_shape(%x: tensor<4xf32>, %y: tensor<3xf32>) {
  // expected-error@+1 {{clamp_c2: max has type tensor<3xf32>}}
  %0 = hlo.clamp %x, %x, %y : (tensor<4xf32>, tensor<4xf32>, tensor<3xf32>) -> tensor<4xf32>
  return
}

// -----

func.func @bounds_of_another_type(%x: tensor<4xf32>, %i: tensor<i32>) {
  // expected-error@+1 {{clamp_c3: min, operand and max have different element types: tensor<i32>, tensor<4xf32> and tensor<i32>}}
  %0 = hlo.clamp %i, %x, %i : (tensor<i32>, tensor<4xf32>, tensor<i32>) -> tensor<4xf32>
  return
}

// -----

func.func @clamped_to_another_type(%x: tensor<4xf32>) {
  // expected-error@+1 {{clamp_c4: result has type tensor<4xf64>, expected tensor<4xf32>}}
  %0 = hlo.clamp %x, %x, %x : (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) -> tensor<4xf64>
  return
}

// -----

func.func @operands_that_are_no_tensors_of_numbers(%x: tensor<4xindex>, %p: tensor<4xi1>) {
  // expected-error@+1 {{compare_i1: StableHLO has no tensors of index}}
  %0 = hlo.compare LT, %x, %x : (tensor<4xindex>, tensor<4xindex>) -> tensor<4xi1>
  // expected-error@+1 {{select_i2: StableHLO has no tensors of index}}
  %1 = hlo.select %p, %x, %x : tensor<4xi1>, tensor<4xindex>
  // expected-error@+1 {{clamp_i1: StableHLO has no tensors of index}}
  %2 = hlo.clamp %x, %x, %x : tensor<4xindex>
  return
}
