// RUN: hlo-opt %s --split-input-file --verify-diagnostics

func.func @shapes(%x0: tensor<3x4xf32>, %x1: tensor<3x5xf32>) {
  // expected-error@+1 {{map_c1: inputs have different shapes (3, 4) and (3, 5)}}
  %0 = "hlo.map"(%x0, %x1) <{dimensions = array<i64: 0, 1>}> ({
  ^bb0(%a0: tensor<f32>, %a1: tensor<f32>):
    hlo.return %a0 : tensor<f32>
  }) : (tensor<3x4xf32>, tensor<3x5xf32>) -> tensor<3x4xf32>
  return
}

// -----

func.func @result_shape(%x0: tensor<3x4xf32>) {
  // expected-error@+1 {{map_c1: result has type tensor<3x5xf32>, expected tensor<3x4xf32>}}
  %0 = "hlo.map"(%x0) <{dimensions = array<i64: 0, 1>}> ({
  ^bb0(%a0: tensor<f32>):
    hlo.return %a0 : tensor<f32>
  }) : (tensor<3x4xf32>) -> tensor<3x5xf32>
  return
}

// -----

func.func @no_inputs() {
  // expected-error@+1 {{map_c2: there are no inputs}}
  %0 = "hlo.map"() <{dimensions = array<i64: 0, 1>}> ({
  ^bb0(%a0: tensor<f32>):
    hlo.return %a0 : tensor<f32>
  }) : () -> tensor<3x4xf32>
  return
}

// -----

func.func @dimensions(%x0: tensor<3x4xf32>) {
  // expected-error@+1 {{map_c3: dimensions (1, 0) are not those of the inputs, (0, 1)}}
  %0 = "hlo.map"(%x0) <{dimensions = array<i64: 1, 0>}> ({
  ^bb0(%a0: tensor<f32>):
    hlo.return %a0 : tensor<f32>
  }) : (tensor<3x4xf32>) -> tensor<3x4xf32>
  return
}

// -----

func.func @computation_arguments(%x0: tensor<3x4xf32>) {
  // expected-error@+1 {{map_c4: computation takes (tensor<f64>) and returns (tensor<f64>), expected (tensor<f32>) and one scalar}}
  %0 = "hlo.map"(%x0) <{dimensions = array<i64: 0, 1>}> ({
  ^bb0(%a0: tensor<f64>):
    hlo.return %a0 : tensor<f64>
  }) : (tensor<3x4xf32>) -> tensor<3x4xf32>
  return
}

// -----

func.func @computation_result(%x0: tensor<3x4xf32>) {
  // expected-error@+1 {{map_c4: result has element type f64, computation returns f32}}
  %0 = "hlo.map"(%x0) <{dimensions = array<i64: 0, 1>}> ({
  ^bb0(%a0: tensor<f32>):
    hlo.return %a0 : tensor<f32>
  }) : (tensor<3x4xf32>) -> tensor<3x4xf64>
  return
}
