// RUN: hlo-opt %s --split-input-file --verify-diagnostics

func.func @an_i4_has_four_bits() {
  // expected-error@+1 {{16 does not fit i4}}
  %0 = hlo.constant dense<16> : tensor<2xi4>
  return
}

// -----

func.func @a_ui2_has_no_sign() {
  // expected-error@+1 {{-1 does not fit ui2}}
  %0 = hlo.constant dense<[0, -1]> : tensor<2xui2>
  return
}

// -----

func.func @an_f4_has_four_bits() {
  // expected-error@+1 {{'0x10' is not the bit pattern of a f4E2M1FN}}
  %0 = hlo.constant dense<0x10> : tensor<2xf4E2M1FN>
  return
}

// -----

func.func @bytes_of_i4() {
  // expected-error@+1 {{3 elements of i4 take 3 bytes, got 2}}
  %0 = hlo.constant dense<"0x0102"> : tensor<3xi4>
  return
}

// -----

func.func @bits_do_not_fit(%x: tensor<4xi4>) -> tensor<3xi8> {
  // expected-error@+1 {{bitcast_convert_c1: tensor<4xi4> does not have the bits of tensor<3xi8>}}
  %0 = hlo.bitcast_convert %x : (tensor<4xi4>) -> tensor<3xi8>
  return %0 : tensor<3xi8>
}

// -----

func.func @a_narrow_float_is_no_integer(%x: tensor<4xf8E5M2>) -> tensor<4xf8E5M2> {
  // expected-error@+1 {{popcnt_i1: operand has element type f8E5M2, expected integer}}
  %0 = hlo.popcnt %x : tensor<4xf8E5M2>
  return %0 : tensor<4xf8E5M2>
}

// -----

func.func @an_accumulator_is_no_narrower(%x: tensor<4xi8>, %i: tensor<i4>) -> tensor<i4> {
  // expected-error@+1 {{reduce_c2: input 0 has element type i8, its init_value i4}}
  %0 = hlo.reduce(%x init: %i) applies hlo.add across dimensions = [0] : (tensor<4xi8>, tensor<i4>) -> tensor<i4>
  return %0 : tensor<i4>
}
