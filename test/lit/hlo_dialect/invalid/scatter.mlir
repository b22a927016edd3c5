// RUN: hlo-opt %s --split-input-file --verify-diagnostics

func.func @input_shapes(%x0: tensor<3x4x5xf32>, %x1: tensor<3x4x6xf32>, %x2: tensor<3x2x2xi32>, %x3: tensor<3x2x4xf32>, %x4: tensor<3x2x4xf32>) {
  // expected-error@+1 {{scatter_c1: inputs have different shapes (3, 4, 5) and (3, 4, 6)}}
  %0:2 = "hlo.scatter"(%x0, %x1, %x2, %x3, %x4) <{scatter_dimension_numbers = #hlo.scatter<update_window_dims = [2], inserted_window_dims = [2], input_batching_dims = [0], scatter_indices_batching_dims = [0], scatter_dims_to_operand_dims = [2, 1], index_vector_dim = 2>}> ({
  ^bb0(%a0: tensor<f32>, %a1: tensor<f32>, %a2: tensor<f32>, %a3: tensor<f32>):
    hlo.return %a0, %a1 : tensor<f32>, tensor<f32>
  }) : (tensor<3x4x5xf32>, tensor<3x4x6xf32>, tensor<3x2x2xi32>, tensor<3x2x4xf32>, tensor<3x2x4xf32>) -> (tensor<3x4x5xf32>, tensor<3x4x6xf32>)
  return
}

// -----

func.func @rank(%x0: tensor<3x4x5xf32>, %x1: tensor<3x2x2xi32>, %x2: tensor<3x2x4xf32>) {
  // expected-error@+1 {{scatter_c2: inputs has rank 3, but update_window_dims, inserted_window_dims and input_batching_dims have 4 entries}}
  %0 = "hlo.scatter"(%x0, %x1, %x2) <{scatter_dimension_numbers = #hlo.scatter<update_window_dims = [2], inserted_window_dims = [1, 2], input_batching_dims = [0], scatter_indices_batching_dims = [0], scatter_dims_to_operand_dims = [2, 1], index_vector_dim = 2>}> ({
  ^bb0(%a0: tensor<f32>, %a1: tensor<f32>):
    hlo.return %a0 : tensor<f32>
  }) : (tensor<3x4x5xf32>, tensor<3x2x2xi32>, tensor<3x2x4xf32>) -> tensor<3x4x5xf32>
  return
}

// -----

func.func @update_shapes(%x0: tensor<3x4x5xf32>, %x1: tensor<3x4x5xf32>, %x2: tensor<3x2x2xi32>, %x3: tensor<3x2x4xf32>, %x4: tensor<3x2x3xf32>) {
  // expected-error@+1 {{scatter_c3: updates have different shapes (3, 2, 4) and (3, 2, 3)}}
  %0:2 = "hlo.scatter"(%x0, %x1, %x2, %x3, %x4) <{scatter_dimension_numbers = #hlo.scatter<update_window_dims = [2], inserted_window_dims = [2], input_batching_dims = [0], scatter_indices_batching_dims = [0], scatter_dims_to_operand_dims = [2, 1], index_vector_dim = 2>}> ({
  ^bb0(%a0: tensor<f32>, %a1: tensor<f32>, %a2: tensor<f32>, %a3: tensor<f32>):
    hlo.return %a0, %a1 : tensor<f32>, tensor<f32>
  }) : (tensor<3x4x5xf32>, tensor<3x4x5xf32>, tensor<3x2x2xi32>, tensor<3x2x4xf32>, tensor<3x2x3xf32>) -> (tensor<3x4x5xf32>, tensor<3x4x5xf32>)
  return
}

// -----

func.func @update_batch(%x0: tensor<3x4x5xf32>, %x1: tensor<3x2x2xi32>, %x2: tensor<3x3x4xf32>) {
  // expected-error@+1 {{scatter_c4: updates have batch dimensions (3, 3), scatter_indices (3, 2)}}
  %0 = "hlo.scatter"(%x0, %x1, %x2) <{scatter_dimension_numbers = #hlo.scatter<update_window_dims = [2], inserted_window_dims = [2], input_batching_dims = [0], scatter_indices_batching_dims = [0], scatter_dims_to_operand_dims = [2, 1], index_vector_dim = 2>}> ({
  ^bb0(%a0: tensor<f32>, %a1: tensor<f32>):
    hlo.return %a0 : tensor<f32>
  }) : (tensor<3x4x5xf32>, tensor<3x2x2xi32>, tensor<3x3x4xf32>) -> tensor<3x4x5xf32>
  return
}

// -----

func.func @update_window(%x0: tensor<3x4x5xf32>, %x1: tensor<3x2x2xi32>, %x2: tensor<3x2x5xf32>) {
  // expected-error@+1 {{scatter_c4: windows of shape (5) exceed the inputs' (4)}}
  %0 = "hlo.scatter"(%x0, %x1, %x2) <{scatter_dimension_numbers = #hlo.scatter<update_window_dims = [2], inserted_window_dims = [2], input_batching_dims = [0], scatter_indices_batching_dims = [0], scatter_dims_to_operand_dims = [2, 1], index_vector_dim = 2>}> ({
  ^bb0(%a0: tensor<f32>, %a1: tensor<f32>):
    hlo.return %a0 : tensor<f32>
  }) : (tensor<3x4x5xf32>, tensor<3x2x2xi32>, tensor<3x2x5xf32>) -> tensor<3x4x5xf32>
  return
}

// -----

func.func @no_inputs(%x0: tensor<3x2x2xi32>) {
  // expected-error@+1 {{scatter_c5: there are 1 operands, expected as many inputs as updates}}
  %0 = "hlo.scatter"(%x0) <{scatter_dimension_numbers = #hlo.scatter<update_window_dims = [2], inserted_window_dims = [2], input_batching_dims = [0], scatter_indices_batching_dims = [0], scatter_dims_to_operand_dims = [2, 1], index_vector_dim = 2>}> ({
  ^bb0(%a0: tensor<f32>):
    hlo.return %a0 : tensor<f32>
  }) : (tensor<3x2x2xi32>) -> tensor<3xf32>
  return
}

// -----

func.func @elements(%x0: tensor<3x4x5xf32>, %x1: tensor<3x2x2xi32>, %x2: tensor<3x2x4xf64>) {
  // expected-error@+1 {{scatter_c6: input 0 has element type f32, its updates f64}}
  %0 = "hlo.scatter"(%x0, %x1, %x2) <{scatter_dimension_numbers = #hlo.scatter<update_window_dims = [2], inserted_window_dims = [2], input_batching_dims = [0], scatter_indices_batching_dims = [0], scatter_dims_to_operand_dims = [2, 1], index_vector_dim = 2>}> ({
  ^bb0(%a0: tensor<f32>, %a1: tensor<f32>):
    hlo.return %a0 : tensor<f32>
  }) : (tensor<3x4x5xf32>, tensor<3x2x2xi32>, tensor<3x2x4xf64>) -> tensor<3x4x5xf32>
  return
}

// -----

func.func @window_unsorted(%x0: tensor<3x4x5x6xf32>, %x1: tensor<3x2x2xi32>, %x2: tensor<3x2x1x1xf32>) {
  // expected-error@+1 {{scatter_c7: update_window_dims (3, 2) is not sorted and unique}}
  %0 = "hlo.scatter"(%x0, %x1, %x2) <{scatter_dimension_numbers = #hlo.scatter<update_window_dims = [3, 2], inserted_window_dims = [2], input_batching_dims = [0], scatter_indices_batching_dims = [0], scatter_dims_to_operand_dims = [2, 1], index_vector_dim = 2>}> ({
  ^bb0(%a0: tensor<f32>, %a1: tensor<f32>):
    hlo.return %a0 : tensor<f32>
  }) : (tensor<3x4x5x6xf32>, tensor<3x2x2xi32>, tensor<3x2x1x1xf32>) -> tensor<3x4x5x6xf32>
  return
}

// -----

func.func @window_out_of_range(%x0: tensor<3x4x5xf32>, %x1: tensor<3x2x2xi32>, %x2: tensor<3x2x4xf32>) {
  // expected-error@+1 {{scatter_c8: update_window_dims (3,) is not in [0, 3), the rank of updates}}
  %0 = "hlo.scatter"(%x0, %x1, %x2) <{scatter_dimension_numbers = #hlo.scatter<update_window_dims = [3], inserted_window_dims = [2], input_batching_dims = [0], scatter_indices_batching_dims = [0], scatter_dims_to_operand_dims = [2, 1], index_vector_dim = 2>}> ({
  ^bb0(%a0: tensor<f32>, %a1: tensor<f32>):
    hlo.return %a0 : tensor<f32>
  }) : (tensor<3x4x5xf32>, tensor<3x2x2xi32>, tensor<3x2x4xf32>) -> tensor<3x4x5xf32>
  return
}

// -----

func.func @inserted_and_batching(%x0: tensor<3x4x5xf32>, %x1: tensor<3x2x2xi32>, %x2: tensor<3x2x4xf32>) {
  // expected-error@+1 {{scatter_c9: inserted_window_dims (0,) and input_batching_dims (0,) are not unique}}
  %0 = "hlo.scatter"(%x0, %x1, %x2) <{scatter_dimension_numbers = #hlo.scatter<update_window_dims = [2], inserted_window_dims = [0], input_batching_dims = [0], scatter_indices_batching_dims = [0], scatter_dims_to_operand_dims = [2, 1], index_vector_dim = 2>}> ({
  ^bb0(%a0: tensor<f32>, %a1: tensor<f32>):
    hlo.return %a0 : tensor<f32>
  }) : (tensor<3x4x5xf32>, tensor<3x2x2xi32>, tensor<3x2x4xf32>) -> tensor<3x4x5xf32>
  return
}

// -----

func.func @inserted_unsorted(%x0: tensor<3x4x5x6xf32>, %x1: tensor<3x2x2xi32>, %x2: tensor<3x2x4xf32>) {
  // expected-error@+1 {{scatter_c10: inserted_window_dims (3, 2) is not sorted}}
  %0 = "hlo.scatter"(%x0, %x1, %x2) <{scatter_dimension_numbers = #hlo.scatter<update_window_dims = [2], inserted_window_dims = [3, 2], input_batching_dims = [0], scatter_indices_batching_dims = [0], scatter_dims_to_operand_dims = [2, 1], index_vector_dim = 2>}> ({
  ^bb0(%a0: tensor<f32>, %a1: tensor<f32>):
    hlo.return %a0 : tensor<f32>
  }) : (tensor<3x4x5x6xf32>, tensor<3x2x2xi32>, tensor<3x2x4xf32>) -> tensor<3x4x5x6xf32>
  return
}

// -----

func.func @inserted_out_of_range(%x0: tensor<3x4x5xf32>, %x1: tensor<3x2x2xi32>, %x2: tensor<3x2x4xf32>) {
  // expected-error@+1 {{scatter_c11: inserted_window_dims (3,) is not in [0, 3)}}
  %0 = "hlo.scatter"(%x0, %x1, %x2) <{scatter_dimension_numbers = #hlo.scatter<update_window_dims = [2], inserted_window_dims = [3], input_batching_dims = [0], scatter_indices_batching_dims = [0], scatter_dims_to_operand_dims = [2, 1], index_vector_dim = 2>}> ({
  ^bb0(%a0: tensor<f32>, %a1: tensor<f32>):
    hlo.return %a0 : tensor<f32>
  }) : (tensor<3x4x5xf32>, tensor<3x2x2xi32>, tensor<3x2x4xf32>) -> tensor<3x4x5xf32>
  return
}

// -----

func.func @batching_unsorted(%x0: tensor<3x4x2xf32>, %x1: tensor<3x2x1xi32>, %x2: tensor<3x2x4xf32>) {
  // expected-error@+1 {{scatter_c12: input_batching_dims (2, 0) is not sorted}}
  %0 = "hlo.scatter"(%x0, %x1, %x2) <{scatter_dimension_numbers = #hlo.scatter<update_window_dims = [2], inserted_window_dims = [], input_batching_dims = [2, 0], scatter_indices_batching_dims = [1, 0], scatter_dims_to_operand_dims = [1], index_vector_dim = 2>}> ({
  ^bb0(%a0: tensor<f32>, %a1: tensor<f32>):
    hlo.return %a0 : tensor<f32>
  }) : (tensor<3x4x2xf32>, tensor<3x2x1xi32>, tensor<3x2x4xf32>) -> tensor<3x4x2xf32>
  return
}

// -----

func.func @batching_out_of_range(%x0: tensor<3x4x5xf32>, %x1: tensor<3x2x2xi32>, %x2: tensor<3x2x4xf32>) {
  // expected-error@+1 {{scatter_c13: input_batching_dims (-1,) is not in [0, 3)}}
  %0 = "hlo.scatter"(%x0, %x1, %x2) <{scatter_dimension_numbers = #hlo.scatter<update_window_dims = [2], inserted_window_dims = [2], input_batching_dims = [-1], scatter_indices_batching_dims = [0], scatter_dims_to_operand_dims = [2, 1], index_vector_dim = 2>}> ({
  ^bb0(%a0: tensor<f32>, %a1: tensor<f32>):
    hlo.return %a0 : tensor<f32>
  }) : (tensor<3x4x5xf32>, tensor<3x2x2xi32>, tensor<3x2x4xf32>) -> tensor<3x4x5xf32>
  return
}

// -----

func.func @index_batching_twice(%x0: tensor<3x4x3xf32>, %x1: tensor<3x2x1xi32>, %x2: tensor<3x2x4xf32>) {
  // expected-error@+1 {{scatter_c14: scatter_indices_batching_dims (0, 0) is not unique}}
  %0 = "hlo.scatter"(%x0, %x1, %x2) <{scatter_dimension_numbers = #hlo.scatter<update_window_dims = [2], inserted_window_dims = [], input_batching_dims = [0, 2], scatter_indices_batching_dims = [0, 0], scatter_dims_to_operand_dims = [1], index_vector_dim = 2>}> ({
  ^bb0(%a0: tensor<f32>, %a1: tensor<f32>):
    hlo.return %a0 : tensor<f32>
  }) : (tensor<3x4x3xf32>, tensor<3x2x1xi32>, tensor<3x2x4xf32>) -> tensor<3x4x3xf32>
  return
}

// -----

func.func @index_batching_out_of_range(%x0: tensor<3x4x5xf32>, %x1: tensor<3x2x2xi32>, %x2: tensor<3x2x4xf32>) {
  // expected-error@+1 {{scatter_c15: scatter_indices_batching_dims (3,) is not in [0, 3), the rank of scatter_indices}}
  %0 = "hlo.scatter"(%x0, %x1, %x2) <{scatter_dimension_numbers = #hlo.scatter<update_window_dims = [2], inserted_window_dims = [2], input_batching_dims = [0], scatter_indices_batching_dims = [3], scatter_dims_to_operand_dims = [2, 1], index_vector_dim = 2>}> ({
  ^bb0(%a0: tensor<f32>, %a1: tensor<f32>):
    hlo.return %a0 : tensor<f32>
  }) : (tensor<3x4x5xf32>, tensor<3x2x2xi32>, tensor<3x2x4xf32>) -> tensor<3x4x5xf32>
  return
}

// -----

func.func @index_batching_vectors(%x0: tensor<3x4x5xf32>, %x1: tensor<3x2x2xi32>, %x2: tensor<3x2x4xf32>) {
  // expected-error@+1 {{scatter_c16: scatter_indices_batching_dims (2,) contains index_vector_dim 2}}
  %0 = "hlo.scatter"(%x0, %x1, %x2) <{scatter_dimension_numbers = #hlo.scatter<update_window_dims = [2], inserted_window_dims = [2], input_batching_dims = [0], scatter_indices_batching_dims = [2], scatter_dims_to_operand_dims = [2, 1], index_vector_dim = 2>}> ({
  ^bb0(%a0: tensor<f32>, %a1: tensor<f32>):
    hlo.return %a0 : tensor<f32>
  }) : (tensor<3x4x5xf32>, tensor<3x2x2xi32>, tensor<3x2x4xf32>) -> tensor<3x4x5xf32>
  return
}

// -----

func.func @batching_counts(%x0: tensor<3x4x5xf32>, %x1: tensor<3x2x2xi32>, %x2: tensor<3x2x4xf32>) {
  // expected-error@+1 {{scatter_c17: input_batching_dims has 1 entries, scatter_indices_batching_dims 2}}
  %0 = "hlo.scatter"(%x0, %x1, %x2) <{scatter_dimension_numbers = #hlo.scatter<update_window_dims = [2], inserted_window_dims = [2], input_batching_dims = [0], scatter_indices_batching_dims = [0, 1], scatter_dims_to_operand_dims = [2, 1], index_vector_dim = 2>}> ({
  ^bb0(%a0: tensor<f32>, %a1: tensor<f32>):
    hlo.return %a0 : tensor<f32>
  }) : (tensor<3x4x5xf32>, tensor<3x2x2xi32>, tensor<3x2x4xf32>) -> tensor<3x4x5xf32>
  return
}

// -----

func.func @batching_shapes(%x0: tensor<3x4x5xf32>, %x1: tensor<4x2x2xi32>, %x2: tensor<4x2x4xf32>) {
  // expected-error@+1 {{scatter_c18: batching dimensions of inputs have sizes (3), those of scatter_indices (4)}}
  %0 = "hlo.scatter"(%x0, %x1, %x2) <{scatter_dimension_numbers = #hlo.scatter<update_window_dims = [2], inserted_window_dims = [2], input_batching_dims = [0], scatter_indices_batching_dims = [0], scatter_dims_to_operand_dims = [2, 1], index_vector_dim = 2>}> ({
  ^bb0(%a0: tensor<f32>, %a1: tensor<f32>):
    hlo.return %a0 : tensor<f32>
  }) : (tensor<3x4x5xf32>, tensor<4x2x2xi32>, tensor<4x2x4xf32>) -> tensor<3x4x5xf32>
  return
}

// -----

func.func @map_size(%x0: tensor<3x4x5xf32>, %x1: tensor<3x2x2xi32>, %x2: tensor<3x2x4xf32>) {
  // expected-error@+1 {{scatter_c19: scatter_dims_to_operand_dims has 1 entries for index vectors of 2 components}}
  %0 = "hlo.scatter"(%x0, %x1, %x2) <{scatter_dimension_numbers = #hlo.scatter<update_window_dims = [2], inserted_window_dims = [2], input_batching_dims = [0], scatter_indices_batching_dims = [0], scatter_dims_to_operand_dims = [2], index_vector_dim = 2>}> ({
  ^bb0(%a0: tensor<f32>, %a1: tensor<f32>):
    hlo.return %a0 : tensor<f32>
  }) : (tensor<3x4x5xf32>, tensor<3x2x2xi32>, tensor<3x2x4xf32>) -> tensor<3x4x5xf32>
  return
}

// -----

func.func @map_repeats(%x0: tensor<3x4x5xf32>, %x1: tensor<3x2x2xi32>, %x2: tensor<3x2x4xf32>) {
  // expected-error@+1 {{scatter_c20: scatter_dims_to_operand_dims (2, 0) and input_batching_dims (0,) are not unique}}
  %0 = "hlo.scatter"(%x0, %x1, %x2) <{scatter_dimension_numbers = #hlo.scatter<update_window_dims = [2], inserted_window_dims = [2], input_batching_dims = [0], scatter_indices_batching_dims = [0], scatter_dims_to_operand_dims = [2, 0], index_vector_dim = 2>}> ({
  ^bb0(%a0: tensor<f32>, %a1: tensor<f32>):
    hlo.return %a0 : tensor<f32>
  }) : (tensor<3x4x5xf32>, tensor<3x2x2xi32>, tensor<3x2x4xf32>) -> tensor<3x4x5xf32>
  return
}

// -----

func.func @map_out_of_range(%x0: tensor<3x4x5xf32>, %x1: tensor<3x2x2xi32>, %x2: tensor<3x2x4xf32>) {
  // expected-error@+1 {{scatter_c21: scatter_dims_to_operand_dims (2, 3) is not in [0, 3)}}
  %0 = "hlo.scatter"(%x0, %x1, %x2) <{scatter_dimension_numbers = #hlo.scatter<update_window_dims = [2], inserted_window_dims = [2], input_batching_dims = [0], scatter_indices_batching_dims = [0], scatter_dims_to_operand_dims = [2, 3], index_vector_dim = 2>}> ({
  ^bb0(%a0: tensor<f32>, %a1: tensor<f32>):
    hlo.return %a0 : tensor<f32>
  }) : (tensor<3x4x5xf32>, tensor<3x2x2xi32>, tensor<3x2x4xf32>) -> tensor<3x4x5xf32>
  return
}

// -----

func.func @vector_dim(%x0: tensor<3x4x5xf32>, %x1: tensor<3x2x2xi32>, %x2: tensor<3x2x4xf32>) {
  // expected-error@+1 {{scatter_c22: index_vector_dim 4 is not in [0, 3], the rank of scatter_indices}}
  %0 = "hlo.scatter"(%x0, %x1, %x2) <{scatter_dimension_numbers = #hlo.scatter<update_window_dims = [2], inserted_window_dims = [2], input_batching_dims = [0], scatter_indices_batching_dims = [0], scatter_dims_to_operand_dims = [2, 1], index_vector_dim = 4>}> ({
  ^bb0(%a0: tensor<f32>, %a1: tensor<f32>):
    hlo.return %a0 : tensor<f32>
  }) : (tensor<3x4x5xf32>, tensor<3x2x2xi32>, tensor<3x2x4xf32>) -> tensor<3x4x5xf32>
  return
}

// -----

func.func @computation_arguments(%x0: tensor<3x4x5xf32>, %x1: tensor<3x2x2xi32>, %x2: tensor<3x2x4xf32>) {
  // expected-error@+1 {{scatter_c23: update_computation takes (tensor<f32>, tensor<f32>, tensor<f32>) and returns (tensor<f32>), expected two arguments and one result of each of the 1 accumulator types}}
  %0 = "hlo.scatter"(%x0, %x1, %x2) <{scatter_dimension_numbers = #hlo.scatter<update_window_dims = [2], inserted_window_dims = [2], input_batching_dims = [0], scatter_indices_batching_dims = [0], scatter_dims_to_operand_dims = [2, 1], index_vector_dim = 2>}> ({
  ^bb0(%a0: tensor<f32>, %a1: tensor<f32>, %a2: tensor<f32>):
    hlo.return %a0 : tensor<f32>
  }) : (tensor<3x4x5xf32>, tensor<3x2x2xi32>, tensor<3x2x4xf32>) -> tensor<3x4x5xf32>
  return
}

// -----

func.func @computation_type(%x0: tensor<3x4x5xf32>, %x1: tensor<3x2x2xi32>, %x2: tensor<3x2x4xf32>) {
  // expected-error@+1 {{scatter_c23: update_computation returns tensor<i32> for input 0, which is no scalar type that f32 promotes to}}
  %0 = "hlo.scatter"(%x0, %x1, %x2) <{scatter_dimension_numbers = #hlo.scatter<update_window_dims = [2], inserted_window_dims = [2], input_batching_dims = [0], scatter_indices_batching_dims = [0], scatter_dims_to_operand_dims = [2, 1], index_vector_dim = 2>}> ({
  ^bb0(%a0: tensor<i32>, %a1: tensor<i32>):
    hlo.return %a0 : tensor<i32>
  }) : (tensor<3x4x5xf32>, tensor<3x2x2xi32>, tensor<3x2x4xf32>) -> tensor<3x4x5xf32>
  return
}

// -----

func.func @result_shape(%x0: tensor<3x4x5xf32>, %x1: tensor<3x2x2xi32>, %x2: tensor<3x2x4xf32>) {
  // expected-error@+1 {{scatter_c24: result has type tensor<3x4x6xf32>, expected tensor<3x4x5xf32>}}
  %0 = "hlo.scatter"(%x0, %x1, %x2) <{scatter_dimension_numbers = #hlo.scatter<update_window_dims = [2], inserted_window_dims = [2], input_batching_dims = [0], scatter_indices_batching_dims = [0], scatter_dims_to_operand_dims = [2, 1], index_vector_dim = 2>}> ({
  ^bb0(%a0: tensor<f32>, %a1: tensor<f32>):
    hlo.return %a0 : tensor<f32>
  }) : (tensor<3x4x5xf32>, tensor<3x2x2xi32>, tensor<3x2x4xf32>) -> tensor<3x4x6xf32>
  return
}

// -----

func.func @result_count(%x0: tensor<3x4x5xf32>, %x1: tensor<3x2x2xi32>, %x2: tensor<3x2x4xf32>) {
  // expected-error@+1 {{scatter_c24: there are 2 results for 1 inputs}}
  %0:2 = "hlo.scatter"(%x0, %x1, %x2) <{scatter_dimension_numbers = #hlo.scatter<update_window_dims = [2], inserted_window_dims = [2], input_batching_dims = [0], scatter_indices_batching_dims = [0], scatter_dims_to_operand_dims = [2, 1], index_vector_dim = 2>}> ({
  ^bb0(%a0: tensor<f32>, %a1: tensor<f32>):
    hlo.return %a0 : tensor<f32>
  }) : (tensor<3x4x5xf32>, tensor<3x2x2xi32>, tensor<3x2x4xf32>) -> (tensor<3x4x5xf32>, tensor<3x4x5xf32>)
  return
}

// -----

func.func @result_element(%x0: tensor<3x4x5xf32>, %x1: tensor<3x2x2xi32>, %x2: tensor<3x2x4xf32>) {
  // expected-error@+1 {{scatter_c25: result 0 has element type f64, update_computation returns f32}}
  %0 = "hlo.scatter"(%x0, %x1, %x2) <{scatter_dimension_numbers = #hlo.scatter<update_window_dims = [2], inserted_window_dims = [2], input_batching_dims = [0], scatter_indices_batching_dims = [0], scatter_dims_to_operand_dims = [2, 1], index_vector_dim = 2>}> ({
  ^bb0(%a0: tensor<f32>, %a1: tensor<f32>):
    hlo.return %a0 : tensor<f32>
  }) : (tensor<3x4x5xf32>, tensor<3x2x2xi32>, tensor<3x2x4xf32>) -> tensor<3x4x5xf64>
  return
}

// -----

func.func @float_indices(%x0: tensor<3x4x5xf32>, %x1: tensor<3x2x2xf32>, %x2: tensor<3x2x4xf32>) {
  // expected-error@+1 {{scatter_i2: scatter_indices has element type f32, expected integer}}
  %0 = "hlo.scatter"(%x0, %x1, %x2) <{scatter_dimension_numbers = #hlo.scatter<update_window_dims = [2], inserted_window_dims = [2], input_batching_dims = [0], scatter_indices_batching_dims = [0], scatter_dims_to_operand_dims = [2, 1], index_vector_dim = 2>}> ({
  ^bb0(%a0: tensor<f32>, %a1: tensor<f32>):
    hlo.return %a0 : tensor<f32>
  }) : (tensor<3x4x5xf32>, tensor<3x2x2xf32>, tensor<3x2x4xf32>) -> tensor<3x4x5xf32>
  return
}
