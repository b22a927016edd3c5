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
