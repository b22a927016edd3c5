// RUN: hlo-opt %s --split-input-file -p inline,simplify-hlo,cse | filecheck %s

// The log-softmax of a vocabulary is computed only where the loss picks it: x[arange(n), i].
// CHECK-LABEL: @picked
// CHECK:       %[[X:.*]] = "hlo.gather"(%x, {{.*}}) <{dimension_numbers = #hlo.gather<collapsed_slice_dims = [1], operand_batching_dims = [0], start_indices_batching_dims = [0], start_index_map = [1], index_vector_dim = 1>{{.*}} -> tensor<16xf32>
// CHECK-NEXT:  %[[Y:.*]] = hlo.subtract %[[X]], %max : tensor<16xf32>
// CHECK-NEXT:  return %[[Y]]
func.func @picked(%x: tensor<16x100xf32>, %max: tensor<16xf32>, %i: tensor<16xi32>) -> tensor<16xf32> {
  %0 = hlo.iota dim = 0 : tensor<16xi32>
  %zero = hlo.constant dense<0> : tensor<16xi32>
  %sixteen = hlo.constant dense<16> : tensor<16xi32>
  %1 = hlo.compare LT, %0, %zero : (tensor<16xi32>, tensor<16xi32>) -> tensor<16xi1>
  %2 = hlo.add %0, %sixteen : tensor<16xi32>
  %3 = hlo.select %1, %2, %0 : tensor<16xi1>, tensor<16xi32>
  %4 = hlo.reshape %3 : (tensor<16xi32>) -> tensor<16x1xi32>
  %5 = hlo.reshape %i : (tensor<16xi32>) -> tensor<16x1xi32>
  %6 = hlo.concatenate %4, %5, dim = 1 : (tensor<16x1xi32>, tensor<16x1xi32>) -> tensor<16x2xi32>
  %7 = hlo.broadcast_in_dim %max, dims = [0] : (tensor<16xf32>) -> tensor<16x100xf32>
  %8 = hlo.subtract %x, %7 : tensor<16x100xf32>
  %9 = "hlo.gather"(%8, %6) <{dimension_numbers = #hlo.gather<collapsed_slice_dims = [0, 1], start_index_map = [0, 1], index_vector_dim = 1>, slice_sizes = array<i64: 1, 1>}> : (tensor<16x100xf32>, tensor<16x2xi32>) -> tensor<16xf32>
  return %9 : tensor<16xf32>
}

// -----

// Many elements are picked from what is computed anyway.
// CHECK-LABEL: @many
// CHECK:       %[[E:.*]] = hlo.exponential %x
// CHECK:       "hlo.gather"(%[[E]],
func.func @many(%x: tensor<8xf32>, %i: tensor<8xi32>) -> tensor<8xf32> {
  %0 = hlo.exponential %x : tensor<8xf32>
  %1 = "hlo.gather"(%0, %i) <{dimension_numbers = #hlo.gather<collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>, slice_sizes = array<i64: 1>}> : (tensor<8xf32>, tensor<8xi32>) -> tensor<8xf32>
  return %1 : tensor<8xf32>
}

// -----

// The gradient of one element a row is a comparison, not a tensor of zeros to scatter into.
// CHECK-LABEL: @gradient
// CHECK-NOT:   hlo.scatter
// CHECK:       %[[J:.*]] = hlo.iota dim = 1 : tensor<4x100xi32>
// CHECK:       %[[HIT:.*]] = hlo.compare EQ, %[[J]],
// CHECK:       hlo.select %[[HIT]], {{.*}}, {{.*}} : tensor<4x100xi1>, tensor<4x100xf32>
func.func @gradient(%i: tensor<4x1x1xi32>, %g: tensor<4x1xf32>) -> tensor<4x100xf32> {
  %0 = hlo.constant dense<0.0> : tensor<4x100xf32>
  %1 = "hlo.scatter"(%0, %i, %g) <{scatter_dimension_numbers = #hlo.scatter<inserted_window_dims = [1], input_batching_dims = [0], scatter_indices_batching_dims = [0], scatter_dims_to_operand_dims = [1], index_vector_dim = 2>}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %2 = hlo.add %a, %b : tensor<f32>
    hlo.return %2 : tensor<f32>
  }) : (tensor<4x100xf32>, tensor<4x1x1xi32>, tensor<4x1xf32>) -> tensor<4x100xf32>
  return %1 : tensor<4x100xf32>
}

// -----

// So it is for a batch of one, whose dimension JAX leaves in the window.
// CHECK-LABEL: @gradient_of_one
// CHECK-NOT:   hlo.scatter
// CHECK:       %[[J:.*]] = hlo.iota dim = 2 : tensor<1x4x100xi32>
// CHECK:       %[[HIT:.*]] = hlo.compare EQ, %[[J]],
// CHECK:       hlo.select %[[HIT]], {{.*}}, {{.*}} : tensor<1x4x100xi1>, tensor<1x4x100xf32>
func.func @gradient_of_one(%i: tensor<4x1x1xi32>, %g: tensor<1x4x1xf32>) -> tensor<1x4x100xf32> {
  %0 = hlo.constant dense<0.0> : tensor<1x4x100xf32>
  %1 = "hlo.scatter"(%0, %i, %g) <{scatter_dimension_numbers = #hlo.scatter<update_window_dims = [0], inserted_window_dims = [2], input_batching_dims = [1], scatter_indices_batching_dims = [0], scatter_dims_to_operand_dims = [2], index_vector_dim = 2>}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %2 = hlo.add %a, %b : tensor<f32>
    hlo.return %2 : tensor<f32>
  }) : (tensor<1x4x100xf32>, tensor<4x1x1xi32>, tensor<1x4x1xf32>) -> tensor<1x4x100xf32>
  return %1 : tensor<1x4x100xf32>
}

// -----

// Two updates may meet in one element of a row.
// CHECK-LABEL: @meeting
// CHECK:       hlo.scatter
func.func @meeting(%i: tensor<4x2x1xi32>, %g: tensor<4x2xf32>) -> tensor<4x100xf32> {
  %0 = hlo.constant dense<0.0> : tensor<4x100xf32>
  %1 = "hlo.scatter"(%0, %i, %g) <{scatter_dimension_numbers = #hlo.scatter<inserted_window_dims = [1], input_batching_dims = [0], scatter_indices_batching_dims = [0], scatter_dims_to_operand_dims = [1], index_vector_dim = 2>}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %2 = hlo.add %a, %b : tensor<f32>
    hlo.return %2 : tensor<f32>
  }) : (tensor<4x100xf32>, tensor<4x2x1xi32>, tensor<4x2xf32>) -> tensor<4x100xf32>
  return %1 : tensor<4x100xf32>
}

// -----

// i8 cannot count to 199: 200 indices wrap around.
// CHECK-LABEL: @wrapping
// CHECK:       hlo.compare LT
func.func @wrapping() -> tensor<200xi1> {
  %0 = hlo.iota dim = 0 : tensor<200xi8>
  %zero = hlo.constant dense<0> : tensor<200xi8>
  %1 = hlo.compare LT, %0, %zero : (tensor<200xi8>, tensor<200xi8>) -> tensor<200xi1>
  return %1 : tensor<200xi1>
}

// -----

// One image for all regions is read where it is: only its channels remain a batching dimension.
// CHECK-LABEL: @one_image
// CHECK-NOT:   broadcast_in_dim
// CHECK:       %[[X:.*]] = hlo.reshape %x : (tensor<1x3x4x5xf32>) -> tensor<3x20xf32>
// CHECK-NEXT:  "hlo.gather"(%[[X]], %i) <{dimension_numbers = #hlo.gather<collapsed_slice_dims = [1], operand_batching_dims = [0], start_indices_batching_dims = [1], start_index_map = [1], index_vector_dim = 3>, slice_sizes = array<i64: 1, 1>}>
func.func @one_image(%x: tensor<1x3x4x5xf32>, %i: tensor<2x3x7x1xi32>) -> tensor<2x3x7xf32> {
  %0 = hlo.broadcast_in_dim %x, dims = [0, 1, 2, 3] : (tensor<1x3x4x5xf32>) -> tensor<2x3x4x5xf32>
  %1 = hlo.reshape %0 : (tensor<2x3x4x5xf32>) -> tensor<2x3x20xf32>
  %2 = "hlo.gather"(%1, %i) <{dimension_numbers = #hlo.gather<collapsed_slice_dims = [2], operand_batching_dims = [0, 1], start_indices_batching_dims = [0, 1], start_index_map = [2], index_vector_dim = 3>, slice_sizes = array<i64: 1, 1, 1>}> : (tensor<2x3x20xf32>, tensor<2x3x7x1xi32>) -> tensor<2x3x7xf32>
  return %2 : tensor<2x3x7xf32>
}

// -----

// Windows of rows that repeat along the last, and in part along the first batching dimension, where all remain.
// CHECK-LABEL: @repeated_rows
// CHECK:       %[[X:.*]] = hlo.broadcast_in_dim %x, dims = [0, 2] : (tensor<2x9xf32>) -> tensor<2x3x9xf32>
// CHECK-NEXT:  %[[Y:.*]] = hlo.reshape %[[X]] : (tensor<2x3x9xf32>) -> tensor<6x9xf32>
// CHECK-NEXT:  "hlo.gather"(%[[Y]], %i) <{dimension_numbers = #hlo.gather<offset_dims = [2], operand_batching_dims = [0], start_indices_batching_dims = [1], start_index_map = [1], index_vector_dim = 2>, slice_sizes = array<i64: 1, 4>}>
func.func @repeated_rows(%x: tensor<2x9xf32>, %i: tensor<5x6x1xi32>) -> tensor<5x6x4xf32> {
  %0 = hlo.broadcast_in_dim %x, dims = [0, 3] : (tensor<2x9xf32>) -> tensor<2x3x5x9xf32>
  %1 = hlo.reshape %0 : (tensor<2x3x5x9xf32>) -> tensor<6x5x9xf32>
  %2 = "hlo.gather"(%1, %i) <{dimension_numbers = #hlo.gather<offset_dims = [2], operand_batching_dims = [0, 1], start_indices_batching_dims = [1, 0], start_index_map = [2], index_vector_dim = 2>, slice_sizes = array<i64: 1, 1, 4>}> : (tensor<6x5x9xf32>, tensor<5x6x1xi32>) -> tensor<5x6x4xf32>
  return %2 : tensor<5x6x4xf32>
}
