// RUN: hlo-opt %s --split-input-file --verify-diagnostics

func.func @convert_to_another_shape(%x: tensor<4xf32>) {
  // expected-error@+1 {{convert_c1: operand and result have different shapes: tensor<4xf32> and tensor<5xi32>}}
  %0 = hlo.convert %x : (tensor<4xf32>) -> tensor<5xi32>
  return
}

// -----

func.func @bits_without_a_dimension_for_the_parts(%x: tensor<4xf32>) {
  // expected-error@+1 {{bitcast_convert_c1: tensor<4xf32> does not have the bits of tensor<8xi16>}}
  %0 = hlo.bitcast_convert %x : (tensor<4xf32>) -> tensor<8xi16>
  return
}

// -----

func.func @bits_in_too_few_parts(%x: tensor<4xf32>) {
  // expected-error@+1 {{bitcast_convert_c1: tensor<4xf32> does not have the bits of tensor<4x3xi8>}}
  %0 = hlo.bitcast_convert %x : (tensor<4xf32>) -> tensor<4x3xi8>
  return
}

// -----

func.func @bits_of_a_complex_number(%z: tensor<4xcomplex<f32>>) {
  // expected-error@+1 {{bitcast_convert_c2: one of tensor<4xcomplex<f32>> and tensor<4xf64> is complex, expected both or neither}}
  %0 = hlo.bitcast_convert %z : (tensor<4xcomplex<f32>>) -> tensor<4xf64>
  return
}

// -----

func.func @format_of_another_type(%x: tensor<4xf32>) {
  // expected-error@+1 {{reduce_precision_c1: result has type tensor<4xf16>, expected tensor<4xf32>}}
  %0 = hlo.reduce_precision %x, format = e5m10 : (tensor<4xf32>) -> tensor<4xf16>
  return
}

// -----

func.func @format_without_exponent(%x: tensor<4xf32>) {
  // expected-error@+1 {{reduce_precision_c2: exponent_bits 0 is less than 1}}
  %0 = hlo.reduce_precision %x, format = e0m10 : tensor<4xf32>
  return
}

// -----

func.func @format_with_negative_mantissa(%x: tensor<4xf32>) {
  // expected-error@+1 {{reduce_precision_c3: mantissa_bits -1 is negative}}
  %0 = "hlo.reduce_precision"(%x) {exponent_bits = 5 : i32, mantissa_bits = -1 : i32} : (tensor<4xf32>) -> tensor<4xf32>
  return
}

// -----

func.func @format_of_another_form(%x: tensor<4xf32>) {
  // expected-error@+1 {{expected a format such as e5m10, got f16}}
  %0 = hlo.reduce_precision %x, format = f16 : tensor<4xf32>
  return
}

// -----

func.func @complex_of_integers(%i: tensor<4xi32>) {
  // expected-error@+1 {{complex_i1: lhs has element type i32, expected f32 or f64}}
  %0 = "hlo.complex"(%i, %i) : (tensor<4xi32>, tensor<4xi32>) -> tensor<4xcomplex<f32>>
  return
}

// -----

func.func @complex_of_two_types(%x: tensor<4xf32>, %y: tensor<4xf64>) {
  // expected-error@+1 {{complex_c1: lhs and rhs have different types: tensor<4xf32> and tensor<4xf64>}}
  %0 = hlo.complex %x, %y : (tensor<4xf32>, tensor<4xf64>) -> tensor<4xcomplex<f32>>
  return
}

// -----

func.func @complex_of_another_shape(%x: tensor<4xf32>) {
  // expected-error@+1 {{complex_c2: result has type tensor<5xcomplex<f32>>, expected tensor<4xcomplex<f32>>}}
  %0 = hlo.complex %x, %x : (tensor<4xf32>, tensor<4xf32>) -> tensor<5xcomplex<f32>>
  return
}

// -----

func.func @complex_of_another_type(%x: tensor<4xf32>) {
  // expected-error@+1 {{complex_c3: result has type tensor<4xcomplex<f64>>, expected tensor<4xcomplex<f32>>}}
  %0 = hlo.complex %x, %x : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xcomplex<f64>>
  return
}

// -----

func.func @part_of_another_type(%z: tensor<4xcomplex<f32>>) {
  // expected-error@+1 {{real_c2: result has type tensor<4xf64>, expected tensor<4xf32>}}
  %0 = hlo.real %z : (tensor<4xcomplex<f32>>) -> tensor<4xf64>
  return
}

// -----

func.func @part_of_another_shape(%z: tensor<4xcomplex<f32>>) {
  // expected-error@+1 {{imag_c1: result has type tensor<5xf32>, expected tensor<4xf32>}}
  %0 = hlo.imag %z : (tensor<4xcomplex<f32>>) -> tensor<5xf32>
  return
}

// -----

func.func @operands_of_no_number(%x: tensor<4xindex>) {
  // expected-error@+1 {{convert_i1: StableHLO has no tensors of index}}
  %0 = hlo.convert %x : (tensor<4xindex>) -> tensor<4xi64>
  // expected-error@+1 {{bitcast_convert_i1: StableHLO has no tensors of index}}
  %1 = hlo.bitcast_convert %x : (tensor<4xindex>) -> tensor<4xi64>
  return
}
