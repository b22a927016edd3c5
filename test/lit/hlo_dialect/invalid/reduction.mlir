// RUN: hlo-opt %s --split-input-file --verify-diagnostics

func.func @dimension_out_of_range(%x: tensor<4xf32>, %c: tensor<f32>) {
  // expected-error@+1 {{reduce_c4: dimensions (1,) are not all in [0, 1)}}
  %0 = hlo.reduce(%x init: %c) applies hlo.add across dimensions = [1] : (tensor<4xf32>, tensor<f32>) -> tensor<f32>
  return
}

// -----

func.func @init_of_another_type(%x: tensor<4xf32>, %c: tensor<f64>) {
  // expected-error@+1 {{reduce_c2: input 0 has element type f32, its init_value f64}}
  %0 = hlo.reduce(%x init: %c) applies hlo.add across dimensions = [0] : (tensor<4xf32>, tensor<f64>) -> tensor<f32>
  return
}

// -----

func.func @result_of_wrong_shape(%x: tensor<4x3xf32>, %c: tensor<f32>) {
  // expected-error@+1 {{reduce_c7: result has type tensor<3xf32>, expected tensor<4xf32>}}
  %0 = hlo.reduce(%x init: %c) applies hlo.add across dimensions = [1] : (tensor<4x3xf32>, tensor<f32>) -> tensor<3xf32>
  return
}

// -----

func.func @body_with_one_argument(%x: tensor<4xf32>, %c: tensor<f32>) {
  // expected-error@+1 {{reduce_c6: body takes (tensor<f32>) and returns (tensor<f32>), expected two arguments}}
  %0 = "hlo.reduce"(%x, %c) <{dimensions = array<i64: 0>}> ({
  ^bb0(%a: tensor<f32>):
    hlo.return %a : tensor<f32>
  }) : (tensor<4xf32>, tensor<f32>) -> tensor<f32>
  return
}

// -----

func.func @inputs_of_two_shapes(%x: tensor<4xf32>, %y: tensor<5xf32>, %c: tensor<f32>) {
  // expected-error@+1 {{reduce_c1: inputs have different shapes (4) and (5)}}
  %0:2 = hlo.reduce(%x init: %c), (%y init: %c) across dimensions = [0] : (tensor<4xf32>, tensor<5xf32>, tensor<f32>, tensor<f32>) -> (tensor<f32>, tensor<f32>)
    reducer(%a: tensor<f32>, %b: tensor<f32>) (%d: tensor<f32>, %e: tensor<f32>) {
      hlo.return %a, %d : tensor<f32>, tensor<f32>
    }
  return
}

// -----

func.func @nothing_to_reduce() {
  // expected-error@+1 {{reduce_c3: there are 0 operands, expected as many inputs as init_values}}
  "hlo.reduce"() <{dimensions = array<i64: 0>}> ({
    "hlo.return"() : () -> ()
  }) : () -> ()
  return
}

// -----

func.func @result_of_another_element_type(%x: tensor<4xf32>, %c: tensor<f32>) {
  // expected-error@+1 {{reduce_c8: result 0 has element type f64, body returns f32}}
  %0 = "hlo.reduce"(%x, %c) <{dimensions = array<i64: 0>}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    hlo.return %a : tensor<f32>
  }) : (tensor<4xf32>, tensor<f32>) -> tensor<f64>
  return
}

// -----

func.func @init_that_is_no_scalar(%x: tensor<4xf32>, %c: tensor<1xf32>) {
  // expected-error@+1 {{reduce_i2: init_value 0 of type tensor<1xf32> is no scalar}}
  %0 = hlo.reduce(%x init: %c) applies hlo.add across dimensions = [0] : (tensor<4xf32>, tensor<1xf32>) -> tensor<f32>
  return
}
