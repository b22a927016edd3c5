// RUN: hlo-opt %s --split-input-file --verify-diagnostics

func.func @element_types(%i: tensor<4xi32>, %x: tensor<4xf32>, %z: tensor<4xcomplex<f32>>, %h: tensor<4xf16>) {
  // expected-error@+1 {{acos_i1: operand has element type i32, expected float or complex}}
  %0 = chlo.acos %i : tensor<4xi32> -> tensor<4xi32>
  // expected-error@+1 {{tan_c1: result has type tensor<4xf16>, expected tensor<4xf32>}}
  %1 = chlo.tan %x : tensor<4xf32> -> tensor<4xf16>
  // expected-error@+1 {{lgamma_i1: operand has element type complex<f32>, expected float}}
  %2 = chlo.lgamma %z : tensor<4xcomplex<f32>> -> tensor<4xcomplex<f32>>
  // expected-error@+1 {{is_inf_o1: result has type tensor<4xf32>, expected tensor<4xi1>}}
  %3 = chlo.is_inf %x : tensor<4xf32> -> tensor<4xf32>
  // expected-error@+1 {{is_pos_inf_i1: operand has element type i32, expected float}}
  %4 = chlo.is_pos_inf %i : tensor<4xi32> -> tensor<4xi1>
  // expected-error@+1 {{zeta_c1: lhs and rhs have different types: tensor<4xf32> and tensor<4xf16>}}
  %5 = chlo.zeta %x, %h : tensor<4xf32>, tensor<4xf16> -> tensor<4xf32>
  // expected-error@+1 {{next_after_i1: lhs has element type i32, expected float}}
  %6 = chlo.next_after %i, %i : tensor<4xi32>, tensor<4xi32> -> tensor<4xi32>
  // expected-error@+1 {{mulhi_i1: lhs has element type f32, expected integer}}
  %7 = chlo.mulhi %x, %x : tensor<4xf32>, tensor<4xf32> -> tensor<4xf32>
  return
}

// -----

func.func @broadcasts(%x: tensor<2x3xf32>, %y: tensor<2xf32>, %i: tensor<3xi32>, %j: tensor<3xi1>) {
  // expected-error@+1 {{broadcast_and_i1: lhs has element type f32, expected boolean or integer}}
  %0 = chlo.broadcast_and %x, %x : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
  // expected-error@+1 {{broadcast_add_c1: lhs and rhs have different element types}}
  %1 = chlo.broadcast_add %x, %i : (tensor<2x3xf32>, tensor<3xi32>) -> tensor<2x3xf32>
  // expected-error@+1 {{broadcast_add_c2: sizes 3 and 2 of dimension 1 do not broadcast}}
  %2 = chlo.broadcast_add %x, %y : (tensor<2x3xf32>, tensor<2xf32>) -> tensor<2x3xf32>
  // expected-error@+1 {{broadcast_add_c3: broadcast_dimensions has 2 entries, expected the lower rank 1}}
  %3 = chlo.broadcast_add %x, %y {broadcast_dimensions = array<i64: 0, 1>} : (tensor<2x3xf32>, tensor<2xf32>) -> tensor<2x3xf32>
  // expected-error@+1 {{broadcast_add_c4: broadcast_dimensions (2,) are not in [0, 2) in rising order}}
  %4 = chlo.broadcast_add %x, %y {broadcast_dimensions = array<i64: 2>} : (tensor<2x3xf32>, tensor<2xf32>) -> tensor<2x3xf32>
  // expected-error@+1 {{broadcast_add_c5: result has type tensor<3x3xf32>, expected tensor<2x3xf32>}}
  %5 = chlo.broadcast_add %x, %x : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<3x3xf32>
  // expected-error@+1 {{broadcast_select_i1: pred has element type i32, expected boolean}}
  %6 = chlo.broadcast_select %i, %x, %x : (tensor<3xi32>, tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
  // expected-error@+1 {{broadcast_select_c1: on_true and on_false have different element types}}
  %7 = chlo.broadcast_select %j, %x, %i : (tensor<3xi1>, tensor<2x3xf32>, tensor<3xi32>) -> tensor<2x3xf32>
  return
}

// -----

func.func @structural(%x: tensor<2x3xf32>, %s: tensor<f32>, %z: tensor<2xcomplex<f32>>) {
  // expected-error@+1 {{constant_like_c1: the value has type i32, the result tensor<2x3xf32>}}
  %0 = "chlo.constant_like"(%x) {value = 1 : i32} : (tensor<2x3xf32>) -> tensor<2x3xf32>
  // expected-error@+1 {{constant_like_c2: result has type tensor<2xf32>, expected tensor<2x3xf32>}}
  %1 = "chlo.constant_like"(%x) {value = 1.0 : f32} : (tensor<2x3xf32>) -> tensor<2xf32>
  // expected-error@+1 {{top_k_i1: operand has element type complex<f32>, expected boolean, integer or float}}
  %2:2 = chlo.top_k(%z, k = 1) : tensor<2xcomplex<f32>> -> (tensor<1xcomplex<f32>>, tensor<1xi32>)
  // expected-error@+1 {{top_k_c1: the operand is a scalar}}
  %3:2 = chlo.top_k(%s, k = 0) : tensor<f32> -> (tensor<0xf32>, tensor<0xi32>)
  // expected-error@+1 {{top_k_c2: k is -1, which is negative}}
  %4:2 = chlo.top_k(%x, k = -1) : tensor<2x3xf32> -> (tensor<2x1xf32>, tensor<2x1xi32>)
  // expected-error@+1 {{top_k_c3: k is 4, more than the 3 elements}}
  %5:2 = chlo.top_k(%x, k = 4) : tensor<2x3xf32> -> (tensor<2x4xf32>, tensor<2x4xi32>)
  // expected-error@+1 {{top_k_c4: result 1 has type tensor<2x2xi64>, expected tensor<2x2xi32>}}
  %6:2 = chlo.top_k(%x, k = 2) : tensor<2x3xf32> -> (tensor<2x2xf32>, tensor<2x2xi64>)
  return
}

// -----

func.func @ragged_dot(%l: tensor<11x5xf32>, %r: tensor<3x5x7xf32>, %g: tensor<3xi64>, %f: tensor<3xf32>, %h: tensor<4xi64>) {
  // expected-error@+1 {{ragged_dot_i3: group_sizes has element type f32, expected integer}}
  %0 = "chlo.ragged_dot"(%l, %r, %f) {ragged_dot_dimension_numbers = #chlo.ragged_dot<lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [1], lhs_ragged_dimensions = [0], rhs_group_dimensions = [0]>} : (tensor<11x5xf32>, tensor<3x5x7xf32>, tensor<3xf32>) -> tensor<11x7xf32>
  // expected-error@+1 {{ragged_dot_c1: lhs_ragged_dimensions (2,) are not one dimension in [0, 2)}}
  %1 = "chlo.ragged_dot"(%l, %r, %g) {ragged_dot_dimension_numbers = #chlo.ragged_dot<lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [1], lhs_ragged_dimensions = [2], rhs_group_dimensions = [0]>} : (tensor<11x5xf32>, tensor<3x5x7xf32>, tensor<3xi64>) -> tensor<11x7xf32>
  // expected-error@+1 {{ragged_dot_c2: there are 0 group dimensions, expected 1 where the ragged dimension is a non-contracting one}}
  %2 = "chlo.ragged_dot"(%l, %r, %g) {ragged_dot_dimension_numbers = #chlo.ragged_dot<lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [1], lhs_ragged_dimensions = [0]>} : (tensor<11x5xf32>, tensor<3x5x7xf32>, tensor<3xi64>) -> tensor<11x7xf32>
  // expected-error@+1 {{ragged_dot_c3: rhs_group_dimensions (1,) are not in [0, 3) or are batching or contracting ones}}
  %3 = "chlo.ragged_dot"(%l, %r, %g) {ragged_dot_dimension_numbers = #chlo.ragged_dot<lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [1], lhs_ragged_dimensions = [0], rhs_group_dimensions = [1]>} : (tensor<11x5xf32>, tensor<3x5x7xf32>, tensor<3xi64>) -> tensor<11x7xf32>
  // expected-error@+1 {{ragged_dot_c4: there are 4 group sizes, and 3 groups in rhs}}
  %4 = "chlo.ragged_dot"(%l, %r, %h) {ragged_dot_dimension_numbers = #chlo.ragged_dot<lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [1], lhs_ragged_dimensions = [0], rhs_group_dimensions = [0]>} : (tensor<11x5xf32>, tensor<3x5x7xf32>, tensor<4xi64>) -> tensor<11x7xf32>
  // expected-error@+1 {{ragged_dot_c5: precision_config has 1 entries, expected 2}}
  %5 = "chlo.ragged_dot"(%l, %r, %g) {precision_config = [#chlo<precision DEFAULT>], ragged_dot_dimension_numbers = #chlo.ragged_dot<lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [1], lhs_ragged_dimensions = [0], rhs_group_dimensions = [0]>} : (tensor<11x5xf32>, tensor<3x5x7xf32>, tensor<3xi64>) -> tensor<11x7xf32>
  // expected-error@+1 {{ragged_dot_c6: result has type tensor<11x8xf32>, expected tensor<11x7xf32>}}
  %6 = "chlo.ragged_dot"(%l, %r, %g) {ragged_dot_dimension_numbers = #chlo.ragged_dot<lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [1], lhs_ragged_dimensions = [0], rhs_group_dimensions = [0]>} : (tensor<11x5xf32>, tensor<3x5x7xf32>, tensor<3xi64>) -> tensor<11x8xf32>
  return
}

// -----

func.func @scan(%x: tensor<2x3xf32>, %c: tensor<3xf32>) {
  // expected-error@+1 {{scan_c1: dimension 2 is not a dimension of every input}}
  %0:2 = chlo.scan(%x) inits (%c) dimension=2 {
  ^bb0(%a: tensor<3xf32>, %b: tensor<3xf32>):
    hlo.return %a, %b : tensor<3xf32>, tensor<3xf32>
  } : (tensor<2x3xf32>, tensor<3xf32>) -> (tensor<2x3xf32>, tensor<3xf32>)
  // expected-error@+1 {{scan_c2: tensor<2x3xf32> has not 5 elements along dimension 0}}
  %1:2 = chlo.scan(%x) inits (%c) dimension=0 attributes {scan_dim_size = 5 : i64} {
  ^bb0(%a: tensor<3xf32>, %b: tensor<3xf32>):
    hlo.return %a, %b : tensor<3xf32>, tensor<3xf32>
  } : (tensor<2x3xf32>, tensor<3xf32>) -> (tensor<2x3xf32>, tensor<3xf32>)
  // expected-error@+1 {{scan_c3: body takes (tensor<2xf32>, tensor<3xf32>), expected (tensor<3xf32>, tensor<3xf32>)}}
  %2:2 = chlo.scan(%x) inits (%c) dimension=0 {
  ^bb0(%a: tensor<2xf32>, %b: tensor<3xf32>):
    hlo.return %b, %b : tensor<3xf32>, tensor<3xf32>
  } : (tensor<2x3xf32>, tensor<3xf32>) -> (tensor<2x3xf32>, tensor<3xf32>)
  // expected-error@+1 {{scan_c4: body returns (tensor<i1>), which do not end with (tensor<3xf32>)}}
  %3:2 = chlo.scan(%x) inits (%c) dimension=0 {
  ^bb0(%a: tensor<3xf32>, %b: tensor<3xf32>):
    %p = hlo.constant dense<true> : tensor<i1>
    hlo.return %p : tensor<i1>
  } : (tensor<2x3xf32>, tensor<3xf32>) -> (tensor<2x3xf32>, tensor<3xf32>)
  // expected-error@+1 {{scan_c5: results have types (tensor<2x4xf32>, tensor<3xf32>), expected (tensor<2x3xf32>, tensor<3xf32>)}}
  %4:2 = chlo.scan(%x) inits (%c) dimension=0 {
  ^bb0(%a: tensor<3xf32>, %b: tensor<3xf32>):
    hlo.return %a, %b : tensor<3xf32>, tensor<3xf32>
  } : (tensor<2x3xf32>, tensor<3xf32>) -> (tensor<2x4xf32>, tensor<3xf32>)
  return
}

// -----

func.func @broadcasts_of_wrong_types(%p: tensor<i1>, %x: tensor<2x3xf32>, %h: tensor<2x3xf16>) {
  // expected-error@+1 {{broadcast_complex_i1: lhs has element type f16, expected f32 or f64}}
  %0 = chlo.broadcast_complex %h, %h : (tensor<2x3xf16>, tensor<2x3xf16>) -> tensor<2x3xcomplex<f32>>
  // expected-error@+1 {{broadcast_select_c5: result has type tensor<2x4xf32>, expected tensor<2x3xf32>}}
  %1 = chlo.broadcast_select %p, %x, %x : (tensor<i1>, tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x4xf32>
  return
}
