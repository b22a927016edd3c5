// RUN: hlo-opt %s --split-input-file --verify-diagnostics

func.func @broadcast_of_wrong_size(%x: tensor<2xf32>) {
  // expected-error@+1 {{broadcast_in_dim_c5: operand dimension 0 has size 2, which is neither 1 nor the size 3 of result dimension 0}}
  %0 = hlo.broadcast_in_dim %x, dims = [0] : (tensor<2xf32>) -> tensor<3xf32>
  return
}

// -----

func.func @reshape_of_wrong_size(%x: tensor<2x3xf32>) {
  // expected-error@+1 {{reshape_c2: operand has 6 elements and result 5}}
  %0 = hlo.reshape %x : (tensor<2x3xf32>) -> tensor<5xf32>
  return
}

// -----

func.func @not_a_permutation(%x: tensor<2x3xf32>) {
  // expected-error@+1 {{transpose_c2: permutation (0, 0) is not a permutation of the 2 dimensions}}
  %0 = hlo.transpose %x, dims = [0, 0] : (tensor<2x3xf32>) -> tensor<2x3xf32>
  return
}

// -----

func.func @slice_past_the_end(%x: tensor<4xf32>) {
  // expected-error@+1 {{slice_c3: range [0:5] of dimension 0 does not lie in [0:4]}}
  %0 = hlo.slice %x [0:5] : (tensor<4xf32>) -> tensor<5xf32>
  return
}

// -----

func.func @slice_without_step(%x: tensor<4xf32>) {
  // expected-error@+1 {{slice_c4: stride 0 of dimension 0 is not positive}}
  %0 = hlo.slice %x [0:4:0] : (tensor<4xf32>) -> tensor<4xf32>
  return
}

// -----

func.func @concatenate_of_other_shapes(%x: tensor<2x3xf32>, %y: tensor<2x4xf32>) {
  // expected-error@+1 {{concatenate_c2: input 1 of shape (2, 4) does not fit input 0 of shape (2, 3) outside dimension 0}}
  %0 = hlo.concatenate %x, %y, dim = 0 : (tensor<2x3xf32>, tensor<2x4xf32>) -> tensor<4x3xf32>
  return
}

// -----

func.func @negative_interior(%x: tensor<3xf32>, %c: tensor<f32>) {
  // expected-error@+1 {{pad_c3: interior_padding (-1,) has a negative entry}}
  %0 = hlo.pad %x, %c, low = [0], high = [0], interior = [-1] : (tensor<3xf32>, tensor<f32>) -> tensor<1xf32>
  return
}

// -----

func.func @padded_away(%x: tensor<3xf32>, %c: tensor<f32>) {
  // expected-error@+1 {{pad_c4: result dimension 0 would have -1 elements}}
  %0 = hlo.pad %x, %c, low = [-2], high = [-2], interior = [0] : (tensor<3xf32>, tensor<f32>) -> tensor<0xf32>
  return
}

// -----

func.func @reverse_twice(%x: tensor<3xf32>) {
  // expected-error@+1 {{reverse_c2: dimensions (0, 0) are not unique}}
  %0 = hlo.reverse %x, dims = [0, 0] : tensor<3xf32>
  return
}

// -----

func.func @results_of_other_types(%x: tensor<4xf32>, %c: tensor<f32>, %d: tensor<f64>, %v: tensor<1xf32>) {
  // expected-error@+1 {{reverse_c1: result has type tensor<5xf32>, expected tensor<4xf32>}}
  %0 = "hlo.reverse"(%x) <{dimensions = array<i64: 0>}> : (tensor<4xf32>) -> tensor<5xf32>
  // expected-error@+1 {{slice_c1: operand and result have different element types f32 and f64}}
  %1 = hlo.slice %x [0:2] : (tensor<4xf32>) -> tensor<2xf64>
  // expected-error@+1 {{slice_c5: result has type tensor<3xf32>, expected tensor<2xf32>}}
  %2 = hlo.slice %x [0:2] : (tensor<4xf32>) -> tensor<3xf32>
  // expected-error@+1 {{concatenate_c5: result has element type f64, inputs have f32}}
  %3 = hlo.concatenate %x, %x, dim = 0 : (tensor<4xf32>, tensor<4xf32>) -> tensor<8xf64>
  // expected-error@+1 {{concatenate_c6: result has type tensor<9xf32>, expected tensor<8xf32>}}
  %4 = hlo.concatenate %x, %x, dim = 0 : (tensor<4xf32>, tensor<4xf32>) -> tensor<9xf32>
  // expected-error@+1 {{pad_c1: operand and padding_value have different element types f32 and f64}}
  %5 = hlo.pad %x, %d, low = [1], high = [0], interior = [0] : (tensor<4xf32>, tensor<f64>) -> tensor<5xf32>
  // expected-error@+1 {{pad_i2: padding_value of shape (1) is no scalar}}
  %6 = hlo.pad %x, %v, low = [1], high = [0], interior = [0] : (tensor<4xf32>, tensor<1xf32>) -> tensor<5xf32>
  return
}

// -----

func.func @unknown_dimensions_fit(%x: tensor<?x4xf32>, %y: tensor<3x?xf32>, %c: tensor<f32>) {
  %0 = "hlo.reverse"(%x) <{dimensions = array<i64: 0>}> : (tensor<?x4xf32>) -> tensor<3x4xf32>
  %1 = hlo.slice %x [0:2, 1:3] : (tensor<?x4xf32>) -> tensor<2x?xf32>
  %2 = hlo.concatenate %x, %y, dim = 0 : (tensor<?x4xf32>, tensor<3x?xf32>) -> tensor<?x4xf32>
  %3 = hlo.pad %x, %c, low = [1, 0], high = [0, 0], interior = [0, 0] : (tensor<?x4xf32>, tensor<f32>) -> tensor<7x?xf32>
  %4 = hlo.transpose %x, dims = [1, 0] : (tensor<?x4xf32>) -> tensor<4x3xf32>
  %5 = hlo.reshape %x : (tensor<?x4xf32>) -> tensor<12xf32>
  %6 = hlo.broadcast_in_dim %x, dims = [0, 1] : (tensor<?x4xf32>) -> tensor<3x?xf32, #hlo.bounds<?, 4>>
  return
}

// -----

func.func @reverse_takes_one_operand(%a: tensor<4xf32>, %b: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error@+1 {{Expected 1 operand, but got 2}}
  %0 = hlo.reverse %a, %b, dims = [0] : tensor<4xf32>
  return %0 : tensor<4xf32>
}
