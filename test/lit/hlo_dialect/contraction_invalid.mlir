// RUN: hlo-opt %s --split-input-file --verify-diagnostics

func.func @depths_differ(%x: tensor<2x3xf32>, %y: tensor<4x5xf32>) {
  // expected-error@+1 {{dot_general_c10: contracting dimension 1 of lhs has size 3, dimension 0 of rhs 4}}
  %0 = hlo.dot_general %x, %y, contracting_dims = [1] x [0] : (tensor<2x3xf32>, tensor<4x5xf32>) -> tensor<2x5xf32>
  return
}

// -----

func.func @batched_and_contracted(%x: tensor<3xf32>, %y: tensor<3xf32>) {
  // expected-error@+1 {{dot_general_c3: batching and contracting dimensions (0, 0) of lhs are not unique}}
  %0 = hlo.dot_general %x, %y, batching_dims = [0] x [0], contracting_dims = [0] x [0] : (tensor<3xf32>, tensor<3xf32>) -> tensor<3xf32>
  return
}

// -----

func.func @wrong_result(%x: tensor<2x3xf32>, %y: tensor<3x5xf32>) {
  // expected-error@+1 {{dot_general_c12: result has type tensor<5x2xf32>, expected tensor<2x5xf32>}}
  %0 = hlo.dot_general %x, %y, contracting_dims = [1] x [0] : (tensor<2x3xf32>, tensor<3x5xf32>) -> tensor<5x2xf32>
  return
}

// -----

func.func @mixed_operands(%x: tensor<3xf32>, %y: tensor<3xf64>) {
  // expected-error@+1 {{dot_general_c13: lhs and rhs have different element types f32 and f64}}
  %0 = hlo.dot_general %x, %y, contracting_dims = [0] x [0] : (tensor<3xf32>, tensor<3xf64>) -> tensor<f32>
  return
}
