// RUN: hlo-opt %s --split-input-file --verify-diagnostics

func.func @no_inputs() {
  // expected-error@+1 {{reduce_window_c1: there are 0 operands, expected as many inputs as init_values}}
  %0 = "hlo.reduce_window"() <{window_dimensions = array<i64: 2, 2>}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %m = hlo.add %a, %b : tensor<f32>
    hlo.return %m : tensor<f32>
  }) : () -> tensor<3x5xf32>
  return
}

// -----

func.func @missing_result(%x: tensor<4x6xf32>, %c: tensor<f32>) {
  // expected-error@+1 {{reduce_window_c1: there are 2 results for 1 inputs}}
  %0:2 = "hlo.reduce_window"(%x, %c) <{window_dimensions = array<i64: 2, 2>}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %m = hlo.add %a, %b : tensor<f32>
    hlo.return %m : tensor<f32>
  }) : (tensor<4x6xf32>, tensor<f32>) -> (tensor<3x5xf32>, tensor<3x5xf32>)
  return
}

// -----

func.func @inputs_of_two_shapes(%x: tensor<4x6xf32>, %y: tensor<4x5xf32>, %c: tensor<f32>) {
  // expected-error@+1 {{reduce_window_c2: inputs have different shapes (4, 6) and (4, 5)}}
  %0 = "hlo.reduce_window"(%x, %y, %c, %c) <{window_dimensions = array<i64: 2, 2>}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %m = hlo.add %a, %b : tensor<f32>
    hlo.return %m : tensor<f32>
  }) : (tensor<4x6xf32>, tensor<4x5xf32>, tensor<f32>, tensor<f32>) -> tensor<3x5xf32>
  return
}

// -----

func.func @init_of_another_type(%x: tensor<4x6xf32>, %c: tensor<f64>) {
  // expected-error@+1 {{reduce_window_c3: input 0 has element type f32, its init_value f64}}
  %0 = "hlo.reduce_window"(%x, %c) <{window_dimensions = array<i64: 2, 2>}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %m = hlo.add %a, %b : tensor<f32>
    hlo.return %m : tensor<f32>
  }) : (tensor<4x6xf32>, tensor<f64>) -> tensor<3x5xf32>
  return
}

// -----

func.func @init_is_no_scalar(%x: tensor<4x6xf32>, %c: tensor<1xf32>) {
  // expected-error@+1 {{reduce_window_i2: init_value 0 of type tensor<1xf32> is neither a scalar nor of dimensions of (2, 2)}}
  %0 = "hlo.reduce_window"(%x, %c) <{window_dimensions = array<i64: 2, 2>}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %m = hlo.add %a, %b : tensor<f32>
    hlo.return %m : tensor<f32>
  }) : (tensor<4x6xf32>, tensor<1xf32>) -> tensor<3x5xf32>
  return
}

// -----

func.func @window_of_one_dimension(%x: tensor<4x6xf32>, %c: tensor<f32>) {
  // expected-error@+1 {{reduce_window_c4: window_dimensions has 1 entries for 2 dimensions}}
  %0 = "hlo.reduce_window"(%x, %c) <{window_dimensions = array<i64: 2>}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %m = hlo.add %a, %b : tensor<f32>
    hlo.return %m : tensor<f32>
  }) : (tensor<4x6xf32>, tensor<f32>) -> tensor<3x5xf32>
  return
}

// -----

func.func @empty_window(%x: tensor<4x6xf32>, %c: tensor<f32>) {
  // expected-error@+1 {{reduce_window_c5: window_dimensions (2, 0) are not all positive}}
  %0 = "hlo.reduce_window"(%x, %c) <{window_dimensions = array<i64: 2, 0>}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %m = hlo.add %a, %b : tensor<f32>
    hlo.return %m : tensor<f32>
  }) : (tensor<4x6xf32>, tensor<f32>) -> tensor<3x5xf32>
  return
}

// -----

func.func @strides_of_one_dimension(%x: tensor<4x6xf32>, %c: tensor<f32>) {
  // expected-error@+1 {{reduce_window_c6: window_strides has 3 entries for 2 dimensions}}
  %0 = "hlo.reduce_window"(%x, %c) <{window_dimensions = array<i64: 2, 2>, window_strides = array<i64: 1, 1, 1>}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %m = hlo.add %a, %b : tensor<f32>
    hlo.return %m : tensor<f32>
  }) : (tensor<4x6xf32>, tensor<f32>) -> tensor<3x5xf32>
  return
}

// -----

func.func @negative_strides(%x: tensor<4x6xf32>, %c: tensor<f32>) {
  // expected-error@+1 {{reduce_window_c7: window_strides (1, -1) are not all positive}}
  %0 = "hlo.reduce_window"(%x, %c) <{window_dimensions = array<i64: 2, 2>, window_strides = array<i64: 1, -1>}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %m = hlo.add %a, %b : tensor<f32>
    hlo.return %m : tensor<f32>
  }) : (tensor<4x6xf32>, tensor<f32>) -> tensor<3x5xf32>
  return
}

// -----

func.func @base_of_one_dimension(%x: tensor<4x6xf32>, %c: tensor<f32>) {
  // expected-error@+1 {{reduce_window_c8: base_dilations has 3 entries for 2 dimensions}}
  %0 = "hlo.reduce_window"(%x, %c) <{window_dimensions = array<i64: 2, 2>, base_dilations = array<i64: 1, 1, 1>}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %m = hlo.add %a, %b : tensor<f32>
    hlo.return %m : tensor<f32>
  }) : (tensor<4x6xf32>, tensor<f32>) -> tensor<3x5xf32>
  return
}

// -----

func.func @negative_base(%x: tensor<4x6xf32>, %c: tensor<f32>) {
  // expected-error@+1 {{reduce_window_c9: base_dilations (1, -1) are not all positive}}
  %0 = "hlo.reduce_window"(%x, %c) <{window_dimensions = array<i64: 2, 2>, base_dilations = array<i64: 1, -1>}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %m = hlo.add %a, %b : tensor<f32>
    hlo.return %m : tensor<f32>
  }) : (tensor<4x6xf32>, tensor<f32>) -> tensor<3x5xf32>
  return
}

// -----

func.func @dilations_of_one_dimension(%x: tensor<4x6xf32>, %c: tensor<f32>) {
  // expected-error@+1 {{reduce_window_c10: window_dilations has 3 entries for 2 dimensions}}
  %0 = "hlo.reduce_window"(%x, %c) <{window_dimensions = array<i64: 2, 2>, window_dilations = array<i64: 1, 1, 1>}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %m = hlo.add %a, %b : tensor<f32>
    hlo.return %m : tensor<f32>
  }) : (tensor<4x6xf32>, tensor<f32>) -> tensor<3x5xf32>
  return
}

// -----

func.func @negative_dilations(%x: tensor<4x6xf32>, %c: tensor<f32>) {
  // expected-error@+1 {{reduce_window_c11: window_dilations (1, -1) are not all positive}}
  %0 = "hlo.reduce_window"(%x, %c) <{window_dimensions = array<i64: 2, 2>, window_dilations = array<i64: 1, -1>}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %m = hlo.add %a, %b : tensor<f32>
    hlo.return %m : tensor<f32>
  }) : (tensor<4x6xf32>, tensor<f32>) -> tensor<3x5xf32>
  return
}

// -----

func.func @padding_of_one_dimension(%x: tensor<4x6xf32>, %c: tensor<f32>) {
  // expected-error@+1 {{reduce_window_c12: padding has shape (1, 2), expected (2, 2)}}
  %0 = "hlo.reduce_window"(%x, %c) <{padding = dense<1> : tensor<1x2xi64>, window_dimensions = array<i64: 2, 2>}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %m = hlo.add %a, %b : tensor<f32>
    hlo.return %m : tensor<f32>
  }) : (tensor<4x6xf32>, tensor<f32>) -> tensor<3x5xf32>
  return
}

// -----

func.func @body_with_one_argument(%x: tensor<4x6xf32>, %c: tensor<f32>) {
  // expected-error@+1 {{reduce_window_c13: body takes (tensor<f32>) and returns (tensor<f32>), expected two}}
  %0 = "hlo.reduce_window"(%x, %c) <{window_dimensions = array<i64: 2, 2>}> ({
  ^bb0(%a: tensor<f32>):
    hlo.return %a : tensor<f32>
  }) : (tensor<4x6xf32>, tensor<f32>) -> tensor<3x5xf32>
  return
}

// -----

func.func @body_of_a_narrower_type(%x: tensor<4x6xf32>, %c: tensor<f32>) {
  // expected-error@+1 {{reduce_window_c13: body returns tensor<f16> for input 0, which is no scalar type that f32 promotes to}}
  %0 = "hlo.reduce_window"(%x, %c) <{window_dimensions = array<i64: 2, 2>}> ({
  ^bb0(%a: tensor<f16>, %b: tensor<f16>):
    hlo.return %a : tensor<f16>
  }) : (tensor<4x6xf32>, tensor<f32>) -> tensor<3x5xf16>
  return
}

// -----

func.func @result_of_another_shape(%x: tensor<4x6xf32>, %c: tensor<f32>) {
  // expected-error@+1 {{reduce_window_c15: result has type tensor<3x6xf32>, expected tensor<3x5xf32>}}
  %0 = "hlo.reduce_window"(%x, %c) <{window_dimensions = array<i64: 2, 2>}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %m = hlo.add %a, %b : tensor<f32>
    hlo.return %m : tensor<f32>
  }) : (tensor<4x6xf32>, tensor<f32>) -> tensor<3x6xf32>
  return
}

// -----

func.func @window_larger_than_the_input(%x: tensor<4x6xf32>, %c: tensor<f32>) {
  // expected-error@+1 {{reduce_window_c15: result has type tensor<1x1xf32>, expected tensor<0x1xf32>}}
  %0 = "hlo.reduce_window"(%x, %c) <{window_dimensions = array<i64: 5, 6>}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %m = hlo.add %a, %b : tensor<f32>
    hlo.return %m : tensor<f32>
  }) : (tensor<4x6xf32>, tensor<f32>) -> tensor<1x1xf32>
  return
}

// -----

func.func @negative_padding_takes_all(%x: tensor<4x6xf32>, %c: tensor<f32>) {
  // expected-error@+1 {{reduce_window_c15: result has type tensor<1x5xf32>, expected tensor<0x5xf32>}}
  %0 = "hlo.reduce_window"(%x, %c) <{padding = dense<[[-9, 0], [0, 0]]> : tensor<2x2xi64>, window_dimensions = array<i64: 2, 2>}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %m = hlo.add %a, %b : tensor<f32>
    hlo.return %m : tensor<f32>
  }) : (tensor<4x6xf32>, tensor<f32>) -> tensor<1x5xf32>
  return
}

// -----

func.func @huge_shapes(%x: tensor<1152921504606846976xf32>, %c: tensor<f32>) {
  // expected-error@+1 {{reduce_window_c15: result has type tensor<1xf32>, expected tensor<1152921504606846975xf32>}}
  %0 = "hlo.reduce_window"(%x, %c) <{window_dimensions = array<i64: 2>}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %m = hlo.add %a, %b : tensor<f32>
    hlo.return %m : tensor<f32>
  }) : (tensor<1152921504606846976xf32>, tensor<f32>) -> tensor<1xf32>
  return
}

// -----

func.func @result_of_another_element_type(%x: tensor<4x6xf32>, %c: tensor<f32>) {
  // expected-error@+1 {{reduce_window_c16: result 0 has element type f64, body returns f32}}
  %0 = "hlo.reduce_window"(%x, %c) <{window_dimensions = array<i64: 2, 2>}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %m = hlo.add %a, %b : tensor<f32>
    hlo.return %m : tensor<f32>
  }) : (tensor<4x6xf32>, tensor<f32>) -> tensor<3x5xf64>
  return
}

// -----

func.func @source_of_another_type(%x: tensor<4x6xf32>, %s: tensor<2x3xf64>, %c: tensor<f32>) {
  // expected-error@+1 {{select_and_scatter_c1: operand has element type f32, source f64}}
  %0 = "hlo.select_and_scatter"(%x, %s, %c) <{window_dimensions = array<i64: 2, 2>, window_strides = array<i64: 2, 2>}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %p = hlo.compare GE, %a, %b : (tensor<f32>, tensor<f32>) -> tensor<i1>
    hlo.return %p : tensor<i1>
  }, {
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    hlo.return %a : tensor<f32>
  }) : (tensor<4x6xf32>, tensor<2x3xf64>, tensor<f32>) -> tensor<4x6xf32>
  return
}

// -----

func.func @source_of_another_shape(%x: tensor<4x6xf32>, %s: tensor<2x2xf32>, %c: tensor<f32>) {
  // expected-error@+1 {{select_and_scatter_c2: source has shape (2, 2), there are (2, 3) windows}}
  %0 = "hlo.select_and_scatter"(%x, %s, %c) <{window_dimensions = array<i64: 2, 2>, window_strides = array<i64: 2, 2>}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %p = hlo.compare GE, %a, %b : (tensor<f32>, tensor<f32>) -> tensor<i1>
    hlo.return %p : tensor<i1>
  }, {
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    hlo.return %a : tensor<f32>
  }) : (tensor<4x6xf32>, tensor<2x2xf32>, tensor<f32>) -> tensor<4x6xf32>
  return
}

// -----

func.func @initial_value_of_another_type(%x: tensor<4x6xf32>, %s: tensor<2x3xf32>, %c: tensor<f64>) {
  // expected-error@+1 {{select_and_scatter_c3: operand has element type f32, init_value f64}}
  %0 = "hlo.select_and_scatter"(%x, %s, %c) <{window_dimensions = array<i64: 2, 2>, window_strides = array<i64: 2, 2>}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %p = hlo.compare GE, %a, %b : (tensor<f32>, tensor<f32>) -> tensor<i1>
    hlo.return %p : tensor<i1>
  }, {
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    hlo.return %a : tensor<f32>
  }) : (tensor<4x6xf32>, tensor<2x3xf32>, tensor<f64>) -> tensor<4x6xf32>
  return
}

// -----

func.func @initial_value_is_no_scalar(%x: tensor<4x6xf32>, %s: tensor<2x3xf32>, %c: tensor<1xf32>) {
  // expected-error@+1 {{select_and_scatter_i3: init_value of type tensor<1xf32> is no scalar}}
  %0 = "hlo.select_and_scatter"(%x, %s, %c) <{window_dimensions = array<i64: 2, 2>, window_strides = array<i64: 2, 2>}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %p = hlo.compare GE, %a, %b : (tensor<f32>, tensor<f32>) -> tensor<i1>
    hlo.return %p : tensor<i1>
  }, {
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    hlo.return %a : tensor<f32>
  }) : (tensor<4x6xf32>, tensor<2x3xf32>, tensor<1xf32>) -> tensor<4x6xf32>
  return
}

// -----

func.func @scatter_without_a_window(%x: tensor<4x6xf32>, %s: tensor<2x3xf32>, %c: tensor<f32>) {
  // expected-error@+1 {{select_and_scatter_c4: window_dimensions has 0 entries, expected the operand's rank 2}}
  %0 = "hlo.select_and_scatter"(%x, %s, %c) <{window_strides = array<i64: 2, 2>}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %p = hlo.compare GE, %a, %b : (tensor<f32>, tensor<f32>) -> tensor<i1>
    hlo.return %p : tensor<i1>
  }, {
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    hlo.return %a : tensor<f32>
  }) : (tensor<4x6xf32>, tensor<2x3xf32>, tensor<f32>) -> tensor<4x6xf32>
  return
}

// -----

func.func @scatter_window_of_one_dimension(%x: tensor<4x6xf32>, %s: tensor<2x3xf32>, %c: tensor<f32>) {
  // expected-error@+1 {{select_and_scatter_c4: window_dimensions has 1 entries for 2 dimensions}}
  %0 = "hlo.select_and_scatter"(%x, %s, %c) <{window_dimensions = array<i64: 2>}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %p = hlo.compare GE, %a, %b : (tensor<f32>, tensor<f32>) -> tensor<i1>
    hlo.return %p : tensor<i1>
  }, {
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    hlo.return %a : tensor<f32>
  }) : (tensor<4x6xf32>, tensor<2x3xf32>, tensor<f32>) -> tensor<4x6xf32>
  return
}

// -----

func.func @empty_scatter_window(%x: tensor<4x6xf32>, %s: tensor<2x3xf32>, %c: tensor<f32>) {
  // expected-error@+1 {{select_and_scatter_c5: window_dimensions (2, 0) are not all positive}}
  %0 = "hlo.select_and_scatter"(%x, %s, %c) <{window_dimensions = array<i64: 2, 0>}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %p = hlo.compare GE, %a, %b : (tensor<f32>, tensor<f32>) -> tensor<i1>
    hlo.return %p : tensor<i1>
  }, {
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    hlo.return %a : tensor<f32>
  }) : (tensor<4x6xf32>, tensor<2x3xf32>, tensor<f32>) -> tensor<4x6xf32>
  return
}

// -----

func.func @scatter_strides_of_one_dimension(%x: tensor<4x6xf32>, %s: tensor<2x3xf32>, %c: tensor<f32>) {
  // expected-error@+1 {{select_and_scatter_c6: window_strides has 1 entries for 2 dimensions}}
  %0 = "hlo.select_and_scatter"(%x, %s, %c) <{window_dimensions = array<i64: 1, 1>, window_strides = array<i64: 2>}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %p = hlo.compare GE, %a, %b : (tensor<f32>, tensor<f32>) -> tensor<i1>
    hlo.return %p : tensor<i1>
  }, {
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    hlo.return %a : tensor<f32>
  }) : (tensor<4x6xf32>, tensor<2x3xf32>, tensor<f32>) -> tensor<4x6xf32>
  return
}

// -----

func.func @negative_scatter_strides(%x: tensor<4x6xf32>, %s: tensor<2x3xf32>, %c: tensor<f32>) {
  // expected-error@+1 {{select_and_scatter_c7: window_strides (2, -2) are not all positive}}
  %0 = "hlo.select_and_scatter"(%x, %s, %c) <{window_dimensions = array<i64: 1, 1>, window_strides = array<i64: 2, -2>}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %p = hlo.compare GE, %a, %b : (tensor<f32>, tensor<f32>) -> tensor<i1>
    hlo.return %p : tensor<i1>
  }, {
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    hlo.return %a : tensor<f32>
  }) : (tensor<4x6xf32>, tensor<2x3xf32>, tensor<f32>) -> tensor<4x6xf32>
  return
}

// -----

func.func @scatter_padding_of_one_dimension(%x: tensor<4x6xf32>, %s: tensor<2x3xf32>, %c: tensor<f32>) {
  // expected-error@+1 {{select_and_scatter_c8: padding has shape (2, 1), expected (2, 2)}}
  %0 = "hlo.select_and_scatter"(%x, %s, %c) <{window_dimensions = array<i64: 1, 1>, padding = dense<0> : tensor<2x1xi64>}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %p = hlo.compare GE, %a, %b : (tensor<f32>, tensor<f32>) -> tensor<i1>
    hlo.return %p : tensor<i1>
  }, {
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    hlo.return %a : tensor<f32>
  }) : (tensor<4x6xf32>, tensor<2x3xf32>, tensor<f32>) -> tensor<4x6xf32>
  return
}

// -----

func.func @select_without_a_predicate(%x: tensor<4x6xf32>, %s: tensor<2x3xf32>, %c: tensor<f32>) {
  // expected-error@+1 {{select_and_scatter_c9: select takes (tensor<f32>, tensor<f32>) and returns (tensor<f32>)}}
  %0 = "hlo.select_and_scatter"(%x, %s, %c) <{window_dimensions = array<i64: 2, 2>, window_strides = array<i64: 2, 2>}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    hlo.return %a : tensor<f32>
  }, {
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    hlo.return %a : tensor<f32>
  }) : (tensor<4x6xf32>, tensor<2x3xf32>, tensor<f32>) -> tensor<4x6xf32>
  return
}

// -----

func.func @scatter_of_another_kind(%x: tensor<4x6xf32>, %s: tensor<2x3xf32>, %c: tensor<f32>) {
  // expected-error@+1 {{select_and_scatter_c10: scatter returns (tensor<i32>), expected one scalar of a type that f32 promotes to}}
  %0 = "hlo.select_and_scatter"(%x, %s, %c) <{window_dimensions = array<i64: 2, 2>, window_strides = array<i64: 2, 2>}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %p = hlo.compare GE, %a, %b : (tensor<f32>, tensor<f32>) -> tensor<i1>
    hlo.return %p : tensor<i1>
  }, {
  ^bb0(%a: tensor<i32>, %b: tensor<i32>):
    hlo.return %a : tensor<i32>
  }) : (tensor<4x6xf32>, tensor<2x3xf32>, tensor<f32>) -> tensor<4x6xf32>
  return
}

// -----

func.func @scattered_into_another_shape(%x: tensor<4x6xf32>, %s: tensor<2x3xf32>, %c: tensor<f32>) {
  // expected-error@+1 {{select_and_scatter_c11: result has shape (4, 5), operand (4, 6)}}
  %0 = "hlo.select_and_scatter"(%x, %s, %c) <{window_dimensions = array<i64: 2, 2>, window_strides = array<i64: 2, 2>}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %p = hlo.compare GE, %a, %b : (tensor<f32>, tensor<f32>) -> tensor<i1>
    hlo.return %p : tensor<i1>
  }, {
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    hlo.return %a : tensor<f32>
  }) : (tensor<4x6xf32>, tensor<2x3xf32>, tensor<f32>) -> tensor<4x5xf32>
  return
}

// -----

func.func @scattered_into_another_type(%x: tensor<4x6xf32>, %s: tensor<2x3xf32>, %c: tensor<f32>) {
  // expected-error@+1 {{select_and_scatter_c12: result has element type f64, scatter returns f32}}
  %0 = "hlo.select_and_scatter"(%x, %s, %c) <{window_dimensions = array<i64: 2, 2>, window_strides = array<i64: 2, 2>}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %p = hlo.compare GE, %a, %b : (tensor<f32>, tensor<f32>) -> tensor<i1>
    hlo.return %p : tensor<i1>
  }, {
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    hlo.return %a : tensor<f32>
  }) : (tensor<4x6xf32>, tensor<2x3xf32>, tensor<f32>) -> tensor<4x6xf64>
  return
}
