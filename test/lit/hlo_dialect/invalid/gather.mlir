// RUN: hlo-opt %s --split-input-file --verify-diagnostics

func.func @rank(%x: tensor<3x4x5xf32>, %i: tensor<3x2x2xi32>) {
  // expected-error@+1 {{gather_c1: operand has rank 3, but offset_dims, collapsed_slice_dims and operand_batching_dims have 4 entries}}
  %0 = "hlo.gather"(%x, %i) <{dimension_numbers = #hlo.gather<offset_dims = [2], collapsed_slice_dims = [1, 2], operand_batching_dims = [0], start_indices_batching_dims = [0], start_index_map = [2, 1], index_vector_dim = 2>, slice_sizes = array<i64: 1, 4, 1>}> : (tensor<3x4x5xf32>, tensor<3x2x2xi32>) -> tensor<3x2x4xf32>
  return
}

// -----

func.func @vector_dim(%x: tensor<3x4x5xf32>, %i: tensor<3x2x2xi32>) {
  // expected-error@+1 {{gather_c2: index_vector_dim 4 is not in [0, 3], the rank of start_indices}}
  %0 = "hlo.gather"(%x, %i) <{dimension_numbers = #hlo.gather<offset_dims = [2], collapsed_slice_dims = [2], operand_batching_dims = [0], start_indices_batching_dims = [0], start_index_map = [2, 1], index_vector_dim = 4>, slice_sizes = array<i64: 1, 4, 1>}> : (tensor<3x4x5xf32>, tensor<3x2x2xi32>) -> tensor<3x2x4xf32>
  return
}

// -----

func.func @map_size(%x: tensor<3x4x5xf32>, %i: tensor<3x2x2xi32>) {
  // expected-error@+1 {{gather_c3: start_index_map has 1 entries for index vectors of 2 components}}
  %0 = "hlo.gather"(%x, %i) <{dimension_numbers = #hlo.gather<offset_dims = [2], collapsed_slice_dims = [2], operand_batching_dims = [0], start_indices_batching_dims = [0], start_index_map = [2], index_vector_dim = 2>, slice_sizes = array<i64: 1, 4, 1>}> : (tensor<3x4x5xf32>, tensor<3x2x2xi32>) -> tensor<3x2x4xf32>
  return
}

// -----

func.func @offsets_unsorted(%x: tensor<3x4x5x6xf32>, %i: tensor<3x2x2xi32>) {
  // expected-error@+1 {{gather_c4: offset_dims (3, 2) is not sorted and unique}}
  %0 = "hlo.gather"(%x, %i) <{dimension_numbers = #hlo.gather<offset_dims = [3, 2], collapsed_slice_dims = [2], operand_batching_dims = [0], start_indices_batching_dims = [0], start_index_map = [2, 1], index_vector_dim = 2>, slice_sizes = array<i64: 1, 1, 1, 1>}> : (tensor<3x4x5x6xf32>, tensor<3x2x2xi32>) -> tensor<3x2x1x1xf32>
  return
}

// -----

func.func @offsets_out_of_range(%x: tensor<3x4x5xf32>, %i: tensor<3x2x2xi32>) {
  // expected-error@+1 {{gather_c5: offset_dims (3,) is not in [0, 3), the rank of result}}
  %0 = "hlo.gather"(%x, %i) <{dimension_numbers = #hlo.gather<offset_dims = [3], collapsed_slice_dims = [2], operand_batching_dims = [0], start_indices_batching_dims = [0], start_index_map = [2, 1], index_vector_dim = 2>, slice_sizes = array<i64: 1, 4, 1>}> : (tensor<3x4x5xf32>, tensor<3x2x2xi32>) -> tensor<3x2x4xf32>
  return
}

// -----

func.func @collapsed_and_batching(%x: tensor<3x4x5xf32>, %i: tensor<3x2x2xi32>) {
  // expected-error@+1 {{gather_c6: collapsed_slice_dims (0,) and operand_batching_dims (0,) are not unique}}
  %0 = "hlo.gather"(%x, %i) <{dimension_numbers = #hlo.gather<offset_dims = [2], collapsed_slice_dims = [0], operand_batching_dims = [0], start_indices_batching_dims = [0], start_index_map = [2, 1], index_vector_dim = 2>, slice_sizes = array<i64: 1, 4, 1>}> : (tensor<3x4x5xf32>, tensor<3x2x2xi32>) -> tensor<3x2x4xf32>
  return
}

// -----

func.func @collapsed_unsorted(%x: tensor<3x4x5x6xf32>, %i: tensor<3x2x2xi32>) {
  // expected-error@+1 {{gather_c7: collapsed_slice_dims (3, 2) is not sorted}}
  %0 = "hlo.gather"(%x, %i) <{dimension_numbers = #hlo.gather<offset_dims = [2], collapsed_slice_dims = [3, 2], operand_batching_dims = [0], start_indices_batching_dims = [0], start_index_map = [2, 1], index_vector_dim = 2>, slice_sizes = array<i64: 1, 4, 1, 1>}> : (tensor<3x4x5x6xf32>, tensor<3x2x2xi32>) -> tensor<3x2x4xf32>
  return
}

// -----

func.func @collapsed_out_of_range(%x: tensor<3x4x5xf32>, %i: tensor<3x2x2xi32>) {
  // expected-error@+1 {{gather_c8: collapsed_slice_dims (3,) is not in [0, 3)}}
  %0 = "hlo.gather"(%x, %i) <{dimension_numbers = #hlo.gather<offset_dims = [2], collapsed_slice_dims = [3], operand_batching_dims = [0], start_indices_batching_dims = [0], start_index_map = [2, 1], index_vector_dim = 2>, slice_sizes = array<i64: 1, 4, 1>}> : (tensor<3x4x5xf32>, tensor<3x2x2xi32>) -> tensor<3x2x4xf32>
  return
}

// -----

func.func @collapsed_size(%x: tensor<3x4x5xf32>, %i: tensor<3x2x2xi32>) {
  // expected-error@+1 {{gather_c9: slice_sizes (1, 4, 2) of collapsed dimensions are above 1}}
  %0 = "hlo.gather"(%x, %i) <{dimension_numbers = #hlo.gather<offset_dims = [2], collapsed_slice_dims = [2], operand_batching_dims = [0], start_indices_batching_dims = [0], start_index_map = [2, 1], index_vector_dim = 2>, slice_sizes = array<i64: 1, 4, 2>}> : (tensor<3x4x5xf32>, tensor<3x2x2xi32>) -> tensor<3x2x4xf32>
  return
}

// -----

func.func @batching_unsorted(%x: tensor<3x4x2xf32>, %i: tensor<3x2x1xi32>) {
  // expected-error@+1 {{gather_c10: operand_batching_dims (2, 0) is not sorted}}
  %0 = "hlo.gather"(%x, %i) <{dimension_numbers = #hlo.gather<offset_dims = [2], collapsed_slice_dims = [], operand_batching_dims = [2, 0], start_indices_batching_dims = [1, 0], start_index_map = [1], index_vector_dim = 2>, slice_sizes = array<i64: 1, 4, 1>}> : (tensor<3x4x2xf32>, tensor<3x2x1xi32>) -> tensor<3x2x4xf32>
  return
}

// -----

func.func @batching_out_of_range(%x: tensor<3x4x5xf32>, %i: tensor<3x2x2xi32>) {
  // expected-error@+1 {{gather_c11: operand_batching_dims (-1,) is not in [0, 3)}}
  %0 = "hlo.gather"(%x, %i) <{dimension_numbers = #hlo.gather<offset_dims = [2], collapsed_slice_dims = [2], operand_batching_dims = [-1], start_indices_batching_dims = [0], start_index_map = [2, 1], index_vector_dim = 2>, slice_sizes = array<i64: 1, 4, 1>}> : (tensor<3x4x5xf32>, tensor<3x2x2xi32>) -> tensor<3x2x4xf32>
  return
}

// -----

func.func @batching_size(%x: tensor<3x4x5xf32>, %i: tensor<3x2x2xi32>) {
  // expected-error@+1 {{gather_c12: slice_sizes (2, 4, 1) of batching dimensions are above 1}}
  %0 = "hlo.gather"(%x, %i) <{dimension_numbers = #hlo.gather<offset_dims = [2], collapsed_slice_dims = [2], operand_batching_dims = [0], start_indices_batching_dims = [0], start_index_map = [2, 1], index_vector_dim = 2>, slice_sizes = array<i64: 2, 4, 1>}> : (tensor<3x4x5xf32>, tensor<3x2x2xi32>) -> tensor<3x2x4xf32>
  return
}

// -----

func.func @index_batching_twice(%x: tensor<3x4x3xf32>, %i: tensor<3x2x1xi32>) {
  // expected-error@+1 {{gather_c13: start_indices_batching_dims (0, 0) is not unique}}
  %0 = "hlo.gather"(%x, %i) <{dimension_numbers = #hlo.gather<offset_dims = [2], collapsed_slice_dims = [], operand_batching_dims = [0, 2], start_indices_batching_dims = [0, 0], start_index_map = [1], index_vector_dim = 2>, slice_sizes = array<i64: 1, 4, 1>}> : (tensor<3x4x3xf32>, tensor<3x2x1xi32>) -> tensor<3x2x4xf32>
  return
}

// -----

func.func @index_batching_out_of_range(%x: tensor<3x4x5xf32>, %i: tensor<3x2x2xi32>) {
  // expected-error@+1 {{gather_c14: start_indices_batching_dims (3,) is not in [0, 3), the rank of start_indices}}
  %0 = "hlo.gather"(%x, %i) <{dimension_numbers = #hlo.gather<offset_dims = [2], collapsed_slice_dims = [2], operand_batching_dims = [0], start_indices_batching_dims = [3], start_index_map = [2, 1], index_vector_dim = 2>, slice_sizes = array<i64: 1, 4, 1>}> : (tensor<3x4x5xf32>, tensor<3x2x2xi32>) -> tensor<3x2x4xf32>
  return
}

// -----

func.func @index_batching_vectors(%x: tensor<3x4x5xf32>, %i: tensor<3x2x2xi32>) {
  // expected-error@+1 {{gather_c15: start_indices_batching_dims (2,) contains index_vector_dim 2}}
  %0 = "hlo.gather"(%x, %i) <{dimension_numbers = #hlo.gather<offset_dims = [2], collapsed_slice_dims = [2], operand_batching_dims = [0], start_indices_batching_dims = [2], start_index_map = [2, 1], index_vector_dim = 2>, slice_sizes = array<i64: 1, 4, 1>}> : (tensor<3x4x5xf32>, tensor<3x2x2xi32>) -> tensor<3x2x4xf32>
  return
}

// -----

func.func @batching_counts(%x: tensor<3x4x5xf32>, %i: tensor<3x2x2xi32>) {
  // expected-error@+1 {{gather_c16: operand_batching_dims has 1 entries, start_indices_batching_dims 2}}
  %0 = "hlo.gather"(%x, %i) <{dimension_numbers = #hlo.gather<offset_dims = [2], collapsed_slice_dims = [2], operand_batching_dims = [0], start_indices_batching_dims = [0, 1], start_index_map = [2, 1], index_vector_dim = 2>, slice_sizes = array<i64: 1, 4, 1>}> : (tensor<3x4x5xf32>, tensor<3x2x2xi32>) -> tensor<3x2x4xf32>
  return
}

// -----

func.func @batching_shapes(%x: tensor<3x4x5xf32>, %i: tensor<4x2x2xi32>) {
  // expected-error@+1 {{gather_c17: batching dimensions of operand have sizes (3), those of start_indices (4)}}
  %0 = "hlo.gather"(%x, %i) <{dimension_numbers = #hlo.gather<offset_dims = [2], collapsed_slice_dims = [2], operand_batching_dims = [0], start_indices_batching_dims = [0], start_index_map = [2, 1], index_vector_dim = 2>, slice_sizes = array<i64: 1, 4, 1>}> : (tensor<3x4x5xf32>, tensor<4x2x2xi32>) -> tensor<3x2x4xf32>
  return
}

// -----

func.func @map_repeats(%x: tensor<3x4x5xf32>, %i: tensor<3x2x2xi32>) {
  // expected-error@+1 {{gather_c18: start_index_map (2, 0) and operand_batching_dims (0,) are not unique}}
  %0 = "hlo.gather"(%x, %i) <{dimension_numbers = #hlo.gather<offset_dims = [2], collapsed_slice_dims = [2], operand_batching_dims = [0], start_indices_batching_dims = [0], start_index_map = [2, 0], index_vector_dim = 2>, slice_sizes = array<i64: 1, 4, 1>}> : (tensor<3x4x5xf32>, tensor<3x2x2xi32>) -> tensor<3x2x4xf32>
  return
}

// -----

func.func @map_out_of_range(%x: tensor<3x4x5xf32>, %i: tensor<3x2x2xi32>) {
  // expected-error@+1 {{gather_c19: start_index_map (2, 3) is not in [0, 3)}}
  %0 = "hlo.gather"(%x, %i) <{dimension_numbers = #hlo.gather<offset_dims = [2], collapsed_slice_dims = [2], operand_batching_dims = [0], start_indices_batching_dims = [0], start_index_map = [2, 3], index_vector_dim = 2>, slice_sizes = array<i64: 1, 4, 1>}> : (tensor<3x4x5xf32>, tensor<3x2x2xi32>) -> tensor<3x2x4xf32>
  return
}

// -----

func.func @sizes_count(%x: tensor<3x4x5xf32>, %i: tensor<3x2x2xi32>) {
  // expected-error@+1 {{gather_c20: slice_sizes has 2 entries, expected the operand's rank 3}}
  %0 = "hlo.gather"(%x, %i) <{dimension_numbers = #hlo.gather<offset_dims = [2], collapsed_slice_dims = [2], operand_batching_dims = [0], start_indices_batching_dims = [0], start_index_map = [2, 1], index_vector_dim = 2>, slice_sizes = array<i64: 1, 4>}> : (tensor<3x4x5xf32>, tensor<3x2x2xi32>) -> tensor<3x2x4xf32>
  return
}

// -----

func.func @sizes_too_large(%x: tensor<3x4x5xf32>, %i: tensor<3x2x2xi32>) {
  // expected-error@+1 {{gather_c21: slice_sizes (1, 5, 1) do not fit into the operand's shape (3, 4, 5)}}
  %0 = "hlo.gather"(%x, %i) <{dimension_numbers = #hlo.gather<offset_dims = [2], collapsed_slice_dims = [2], operand_batching_dims = [0], start_indices_batching_dims = [0], start_index_map = [2, 1], index_vector_dim = 2>, slice_sizes = array<i64: 1, 5, 1>}> : (tensor<3x4x5xf32>, tensor<3x2x2xi32>) -> tensor<3x2x4xf32>
  return
}

// -----

func.func @sizes_negative(%x: tensor<3x4x5xf32>, %i: tensor<3x2x2xi32>) {
  // expected-error@+1 {{gather_c21: slice_sizes (1, -9223372036854775808, 1) has a negative entry}}
  %0 = "hlo.gather"(%x, %i) <{dimension_numbers = #hlo.gather<offset_dims = [2], collapsed_slice_dims = [2], operand_batching_dims = [0], start_indices_batching_dims = [0], start_index_map = [2, 1], index_vector_dim = 2>, slice_sizes = array<i64: 1, -9223372036854775808, 1>}> : (tensor<3x4x5xf32>, tensor<3x2x2xi32>) -> tensor<3x2x4xf32>
  return
}

// -----

func.func @result_shape(%x: tensor<3x4x5xf32>, %i: tensor<3x2x2xi32>) {
  // expected-error@+1 {{gather_c22: result has type tensor<3x2x5xf32>, expected tensor<3x2x4xf32>}}
  %0 = "hlo.gather"(%x, %i) <{dimension_numbers = #hlo.gather<offset_dims = [2], collapsed_slice_dims = [2], operand_batching_dims = [0], start_indices_batching_dims = [0], start_index_map = [2, 1], index_vector_dim = 2>, slice_sizes = array<i64: 1, 4, 1>}> : (tensor<3x4x5xf32>, tensor<3x2x2xi32>) -> tensor<3x2x5xf32>
  return
}

// -----

func.func @result_element(%x: tensor<3x4x5xf32>, %i: tensor<3x2x2xi32>) {
  // expected-error@+1 {{gather_c23: result has element type f64, operand f32}}
  %0 = "hlo.gather"(%x, %i) <{dimension_numbers = #hlo.gather<offset_dims = [2], collapsed_slice_dims = [2], operand_batching_dims = [0], start_indices_batching_dims = [0], start_index_map = [2, 1], index_vector_dim = 2>, slice_sizes = array<i64: 1, 4, 1>}> : (tensor<3x4x5xf32>, tensor<3x2x2xi32>) -> tensor<3x2x4xf64>
  return
}

// -----

func.func @float_indices(%x: tensor<3x4x5xf32>, %i: tensor<3x2x2xf32>) {
  // expected-error@+1 {{gather_i2: start_indices has element type f32, expected integer}}
  %0 = "hlo.gather"(%x, %i) <{dimension_numbers = #hlo.gather<offset_dims = [2], collapsed_slice_dims = [2], operand_batching_dims = [0], start_indices_batching_dims = [0], start_index_map = [2, 1], index_vector_dim = 2>, slice_sizes = array<i64: 1, 4, 1>}> : (tensor<3x4x5xf32>, tensor<3x2x2xf32>) -> tensor<3x2x4xf32>
  return
}

// -----

func.func @dynamic_sizes_type(%x: tensor<3x4xf32>, %i: tensor<5x1xi32>, %s: tensor<1x2xi32>) {
  // expected-error@+1 {{dynamic_gather_i3: slice_sizes has type tensor<1x2xi32>, expected integers of one dimension}}
  %0 = "hlo.dynamic_gather"(%x, %i, %s) <{dimension_numbers = #hlo.gather<offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>}> : (tensor<3x4xf32>, tensor<5x1xi32>, tensor<1x2xi32>) -> tensor<5x?xf32>
  return
}

// -----

func.func @dynamic_sizes_count(%x: tensor<3x4xf32>, %i: tensor<5x1xi32>, %s: tensor<3xi32>) {
  // expected-error@+1 {{dynamic_gather_c20: slice_sizes has type tensor<3xi32>, expected the operand's rank 2 entries}}
  %0 = "hlo.dynamic_gather"(%x, %i, %s) <{dimension_numbers = #hlo.gather<offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>}> : (tensor<3x4xf32>, tensor<5x1xi32>, tensor<3xi32>) -> tensor<5x?xf32>
  return
}

// -----

func.func @dynamic_result(%x: tensor<3x4xf32>, %i: tensor<5x1xi32>, %s: tensor<2xi32>) {
  // expected-error@+1 {{dynamic_gather_c22: result has type tensor<6x?xf32>, expected tensor<5x?xf32>}}
  %0 = "hlo.dynamic_gather"(%x, %i, %s) <{dimension_numbers = #hlo.gather<offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>}> : (tensor<3x4xf32>, tensor<5x1xi32>, tensor<2xi32>) -> tensor<6x?xf32>
  return
}

// -----

func.func @select_dim(%x: tensor<3x4xf32>, %i: tensor<5xi32>) {
  // expected-error@+1 {{torch_index_select_dim: dim 2 is not in [0, 2), the rank of operand}}
  %0 = "hlo.torch_index_select"(%x, %i) <{dim = 2 : i64, batch_dims = 0 : i64}> : (tensor<3x4xf32>, tensor<5xi32>) -> tensor<5x4xf32>
  return
}

// -----

func.func @select_batch(%x: tensor<3x4xf32>, %i: tensor<3x5xi32>) {
  // expected-error@+1 {{torch_index_select_batch_dims: batch_dims 1 is not in [0, 0], up to dim and the rank of index}}
  %0 = "hlo.torch_index_select"(%x, %i) <{dim = 0 : i64, batch_dims = 1 : i64}> : (tensor<3x4xf32>, tensor<3x5xi32>) -> tensor<3x5xf32>
  return
}

// -----

func.func @select_batch_shape(%x: tensor<3x4xf32>, %i: tensor<2x5xi32>) {
  // expected-error@+1 {{torch_index_select_batch_dims: operand of shape (3, 4) and index of shape (2, 5) differ in the first 1 dimensions}}
  %0 = "hlo.torch_index_select"(%x, %i) <{dim = 1 : i64, batch_dims = 1 : i64}> : (tensor<3x4xf32>, tensor<2x5xi32>) -> tensor<3x5xf32>
  return
}

// -----

func.func @select_index(%x: tensor<3x4xf32>, %i: tensor<5xf32>) {
  // expected-error@+1 {{torch_index_select_index: index has element type f32, expected integer}}
  %0 = "hlo.torch_index_select"(%x, %i) <{dim = 0 : i64, batch_dims = 0 : i64}> : (tensor<3x4xf32>, tensor<5xf32>) -> tensor<5x4xf32>
  return
}

// -----

func.func @select_result(%x: tensor<3x4xf32>, %i: tensor<5xi32>) {
  // expected-error@+1 {{torch_index_select_result: result has type tensor<4x5xf32>, expected tensor<5x4xf32>}}
  %0 = "hlo.torch_index_select"(%x, %i) <{dim = 0 : i64, batch_dims = 0 : i64}> : (tensor<3x4xf32>, tensor<5xi32>) -> tensor<4x5xf32>
  return
}
