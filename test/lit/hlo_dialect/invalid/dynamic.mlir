// RUN: hlo-opt %s --split-input-file --verify-diagnostics

func.func @too_few_starts(%x: tensor<4x6xf32>, %i: tensor<i32>) {
  // expected-error@+1 {{dynamic_slice_c2: there are 1 start indices, expected the operand's rank 2}}
  %0 = hlo.dynamic_slice %x, %i, sizes = [2, 3] : (tensor<4x6xf32>, tensor<i32>) -> tensor<2x3xf32>
  return
}

// -----

func.func @slice_larger_than_operand(%x: tensor<4xf32>, %i: tensor<i32>) {
  // expected-error@+1 {{dynamic_slice_c4: slice_sizes (5,) do not lie within the operand's shape (4)}}
  %0 = hlo.dynamic_slice %x, %i, sizes = [5] : (tensor<4xf32>, tensor<i32>) -> tensor<5xf32>
  return
}

// -----

func.func @update_larger_than_operand(%x: tensor<4xf32>, %u: tensor<5xf32>, %i: tensor<i32>) {
  // expected-error@+1 {{dynamic_update_slice_c6: update of shape (5) does not fit into the operand's shape (4)}}
  %0 = hlo.dynamic_update_slice %x, %u, %i : (tensor<4xf32>, tensor<5xf32>, tensor<i32>) -> tensor<4xf32>
  return
}

// -----

func.func @start_is_no_integer(%x: tensor<4xf32>, %u: tensor<2xf32>, %i: tensor<f32>) {
  // expected-error@+1 {{dynamic_update_slice_start_indices: start index of type tensor<f32> is no scalar integer tensor}}
  %0 = hlo.dynamic_update_slice %x, %u, %i : (tensor<4xf32>, tensor<2xf32>, tensor<f32>) -> tensor<4xf32>
  return
}

// -----

func.func @results_of_other_types(%x: tensor<4xf32>, %u: tensor<2xf32>, %i: tensor<i32>) {
  // expected-error@+1 {{dynamic_slice_c1: operand and result have different element types f32 and f64}}
  %0 = hlo.dynamic_slice %x, %i, sizes = [2] : (tensor<4xf32>, tensor<i32>) -> tensor<2xf64>
  // expected-error@+1 {{dynamic_slice_c5: result has type tensor<3xf32>, expected tensor<2xf32>}}
  %1 = hlo.dynamic_slice %x, %i, sizes = [2] : (tensor<4xf32>, tensor<i32>) -> tensor<3xf32>
  // expected-error@+1 {{dynamic_update_slice_c1: result has type tensor<5xf32>, expected tensor<4xf32>}}
  %2 = hlo.dynamic_update_slice %x, %u, %i : (tensor<4xf32>, tensor<2xf32>, tensor<i32>) -> tensor<5xf32>
  return
}

// -----

func.func @starts_of_two_types(%x: tensor<4x4xf32>, %u: tensor<2x2xf32>, %i: tensor<i32>, %j: tensor<i64>) {
  // expected-error@+1 {{dynamic_update_slice_c5}}
  %0 = hlo.dynamic_update_slice %x, %u, %i, %j : (tensor<4x4xf32>, tensor<2x2xf32>, tensor<i32>, tensor<i64>) -> tensor<4x4xf32>
  return
}
