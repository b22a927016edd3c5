"""The constraints of gathers, scatters, batch norms, einsum and fusions; see `table.py` for the notation."""

TABLE = r"""
## gather (%x: tensor<3x4x5xf32>, %i: tensor<3x2x2xi32>)
%0 = "stablehlo.gather"(%x, %i) <{dimension_numbers = #stablehlo.gather<offset_dims = [2], collapsed_slice_dims = [2], operand_batching_dims = [0], start_indices_batching_dims = [0], start_index_map = [2, 1], index_vector_dim = 2>, slice_sizes = array<i64: 1, 4, 1>}> : (tensor<3x4x5xf32>, tensor<3x2x2xi32>) -> tensor<3x2x4xf32>
c1: offset_dims, collapsed_slice_dims and operand_batching_dims have together one entry for each dimension of the operand.
  ~ collapsed_slice_dims = [2] => collapsed_slice_dims = [1, 2]
c2: index_vector_dim is a dimension of start_indices, or its rank: then the indices are scalars.
  ~ index_vector_dim = 2 => index_vector_dim = 4
c3: start_index_map has one entry for each component of an index vector.
  ~ start_index_map = [2, 1] => start_index_map = [2]
c4: offset_dims are in rising order, none of them twice.
  ~ offset_dims = [2], collapsed_slice_dims = [2] => offset_dims = [2, 1], collapsed_slice_dims = []
  ~ 1, 4, 1 => 1, 4, 5
c5: offset_dims are dimensions of the result.
  ~ offset_dims = [2] => offset_dims = [3]
c6: No dimension is collapsed or batching twice.
  ~ operand_batching_dims = [0] => operand_batching_dims = [2]
c7: collapsed_slice_dims are in rising order.
  ~ offset_dims = [2], collapsed_slice_dims = [2] => offset_dims = [], collapsed_slice_dims = [2, 1]
c8: collapsed_slice_dims are dimensions of the operand.
  ~ collapsed_slice_dims = [2] => collapsed_slice_dims = [3]
c9: A collapsed dimension has a slice of at most one element.
  ~ 1, 4, 1 => 1, 4, 2
c10: operand_batching_dims are in rising order.
  ~ offset_dims = [2], collapsed_slice_dims = [2], operand_batching_dims = [0], start_indices_batching_dims = [0], start_index_map = [2, 1] => offset_dims = [], collapsed_slice_dims = [2], operand_batching_dims = [1, 0], start_indices_batching_dims = [1, 0], start_index_map = [2, 2]
c11: operand_batching_dims are dimensions of the operand.
  ~ operand_batching_dims = [0] => operand_batching_dims = [3]
c12: A batching dimension has a slice of at most one element.
  ~ 1, 4, 1 => 2, 4, 1
c13: No dimension of start_indices is batching twice.
  ~ operand_batching_dims = [0], start_indices_batching_dims = [0] => operand_batching_dims = [0, 1], start_indices_batching_dims = [0, 0]
  ~ offset_dims = [2] => offset_dims = []
c14: start_indices_batching_dims are dimensions of start_indices.
  ~ start_indices_batching_dims = [0] => start_indices_batching_dims = [3]
c15: index_vector_dim is no batching dimension.
  ~ start_indices_batching_dims = [0] => start_indices_batching_dims = [2]
c16: Both sides have as many batching dimensions.
  ~ start_indices_batching_dims = [0] => start_indices_batching_dims = []
c17: Batching dimensions that belong together have the same size.
  ~ tensor<3x2x2xi32> => tensor<4x2x2xi32>
c18: No dimension is in start_index_map or operand_batching_dims twice.
  ~ start_index_map = [2, 1] => start_index_map = [2, 2]
c19: start_index_map names dimensions of the operand.
  ~ start_index_map = [2, 1] => start_index_map = [2, 3]
c20: There is one slice size for each dimension of the operand.
  ~ array<i64: 1, 4, 1> => array<i64: 1, 4>
c21: The slices fit into the operand.
  ~ 1, 4, 1 => 1, 5, 1
c22: The result has the dimensions of start_indices but the index vector's, and those of a slice at offset_dims.
  ~ tensor<3x2x4xf32> => tensor<3x2x5xf32>
c23: Operand and result have the same element type.
  ~ -> tensor<3x2x4xf32> => -> tensor<3x2x4xf64>
i2: The indices are integers.
  ~ tensor<3x2x2xi32> => tensor<3x2x2xf32>

## dynamic_gather (%x: tensor<3x4x5xf32>, %i: tensor<3x2x2xi32>, %s: tensor<3xi32>)
%0 = "stablehlo.dynamic_gather"(%x, %i, %s) <{dimension_numbers = #stablehlo.gather<offset_dims = [2], collapsed_slice_dims = [2], operand_batching_dims = [0], start_indices_batching_dims = [0], start_index_map = [2, 1], index_vector_dim = 2>}> : (tensor<3x4x5xf32>, tensor<3x2x2xi32>, tensor<3xi32>) -> tensor<3x2x?xf32>
c20: There is one slice size for each dimension of the operand.
  ~ tensor<3xi32> => tensor<2xi32>
c22: The result has the dimensions of start_indices but the index vector's, and those of a slice at offset_dims.
  ~ tensor<3x2x?xf32> => tensor<4x2x?xf32>
i2: The indices are integers.
  ~ tensor<3x2x2xi32> => tensor<3x2x2xf32>
i3: The slice sizes are a vector of integers.
  ~ tensor<3xi32> => tensor<3xf32>

## dynamic_gather like gather (%x: tensor<3x4x5xf32>, %i: tensor<3x2x2xi32>)
%s = stablehlo.constant dense<[1, 4, 1]> : tensor<3xi32>
%0 = "stablehlo.dynamic_gather"(%x, %i, %s) <{dimension_numbers = #stablehlo.gather<offset_dims = [2], collapsed_slice_dims = [2], operand_batching_dims = [0], start_indices_batching_dims = [0], start_index_map = [2, 1], index_vector_dim = 2>}> : (tensor<3x4x5xf32>, tensor<3x2x2xi32>, tensor<3xi32>) -> tensor<3x2x4xf32>

## scatter (%x: tensor<3x4x5xf32>, %i: tensor<3x2x2xi32>, %u: tensor<3x2x4xf32>)
%0 = "stablehlo.scatter"(%x, %i, %u) <{scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [2], inserted_window_dims = [2], input_batching_dims = [0], scatter_indices_batching_dims = [0], scatter_dims_to_operand_dims = [2, 1], index_vector_dim = 2>}> ({
^bb0(%a: tensor<f32>, %b: tensor<f32>):
  %s = stablehlo.add %a, %b : tensor<f32>
  stablehlo.return %s : tensor<f32>
}) : (tensor<3x4x5xf32>, tensor<3x2x2xi32>, tensor<3x2x4xf32>) -> tensor<3x4x5xf32>
c2: update_window_dims, inserted_window_dims and input_batching_dims have together one entry for each dimension of the inputs.
  ~ inserted_window_dims = [2] => inserted_window_dims = [1, 2]
c4: The updates have the dimensions of scatter_indices but the index vector's, and windows that fit into the inputs.
  ~ tensor<3x2x4xf32> => tensor<3x2x6xf32>
c5: There are as many updates as inputs.
  ~ (%x, %i, %u) => (%i)
  ~ (tensor<3x4x5xf32>, tensor<3x2x2xi32>, tensor<3x2x4xf32>) -> => (tensor<3x2x2xi32>) ->
c6: An update has the element type of its input.
  ~ tensor<3x2x4xf32> => tensor<3x2x4xf64>
c7: update_window_dims are in rising order, none of them twice.
  ~ update_window_dims = [2], inserted_window_dims = [2] => update_window_dims = [2, 1], inserted_window_dims = []
c8: update_window_dims are dimensions of the updates.
  ~ update_window_dims = [2] => update_window_dims = [3]
c9: No dimension is inserted or batching twice.
  ~ input_batching_dims = [0] => input_batching_dims = [2]
c10: inserted_window_dims are in rising order.
  ~ update_window_dims = [2], inserted_window_dims = [2] => update_window_dims = [], inserted_window_dims = [2, 1]
c11: inserted_window_dims are dimensions of the inputs.
  ~ inserted_window_dims = [2] => inserted_window_dims = [3]
c12: input_batching_dims are in rising order.
  ~ update_window_dims = [2], inserted_window_dims = [2], input_batching_dims = [0], scatter_indices_batching_dims = [0], scatter_dims_to_operand_dims = [2, 1] => update_window_dims = [], inserted_window_dims = [2], input_batching_dims = [1, 0], scatter_indices_batching_dims = [1, 0], scatter_dims_to_operand_dims = [2, 2]
c13: input_batching_dims are dimensions of the inputs.
  ~ input_batching_dims = [0] => input_batching_dims = [3]
c14: No dimension of scatter_indices is batching twice.
  ~ input_batching_dims = [0], scatter_indices_batching_dims = [0] => input_batching_dims = [0, 1], scatter_indices_batching_dims = [0, 0]
  ~ update_window_dims = [2] => update_window_dims = []
c15: scatter_indices_batching_dims are dimensions of scatter_indices.
  ~ scatter_indices_batching_dims = [0] => scatter_indices_batching_dims = [3]
c16: index_vector_dim is no batching dimension.
  ~ scatter_indices_batching_dims = [0] => scatter_indices_batching_dims = [2]
c17: Both sides have as many batching dimensions.
  ~ scatter_indices_batching_dims = [0] => scatter_indices_batching_dims = []
c18: Batching dimensions that belong together have the same size.
  ~ tensor<3x2x2xi32> => tensor<4x2x2xi32>
c19: scatter_dims_to_operand_dims has one entry for each component of an index vector.
  ~ scatter_dims_to_operand_dims = [2, 1] => scatter_dims_to_operand_dims = [2]
c20: No dimension is in scatter_dims_to_operand_dims or input_batching_dims twice.
  ~ scatter_dims_to_operand_dims = [2, 1] => scatter_dims_to_operand_dims = [2, 2]
c21: scatter_dims_to_operand_dims names dimensions of the inputs.
  ~ scatter_dims_to_operand_dims = [2, 1] => scatter_dims_to_operand_dims = [2, 3]
c22: index_vector_dim is a dimension of scatter_indices, or its rank: then the indices are scalars.
  ~ index_vector_dim = 2 => index_vector_dim = 4
c23: The computation takes two scalars and returns one, of a type that the inputs' elements promote to.
  ~ return %s : tensor<f32> => return %s, %s : tensor<f32>, tensor<f32>
c24: The results have the inputs' shapes.
  ~ -> tensor<3x4x5xf32> => -> tensor<3x4x6xf32>
c25: The results have the element type that the computation returns.
  ~ -> tensor<3x4x5xf32> => -> tensor<3x4x5xf64>
i2: The indices are integers.
  ~ tensor<3x2x2xi32> => tensor<3x2x2xf32>

## scatter (%x: tensor<5xf32>, %y: tensor<5xf32>, %i: tensor<2x1xi32>, %u: tensor<2xf32>, %v: tensor<2xf32>)
%0:2 = "stablehlo.scatter"(%x, %y, %i, %u, %v) <{scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>}> ({
^bb0(%a: tensor<f32>, %b: tensor<f32>, %c: tensor<f32>, %d: tensor<f32>):
  stablehlo.return %c, %d : tensor<f32>, tensor<f32>
}) : (tensor<5xf32>, tensor<5xf32>, tensor<2x1xi32>, tensor<2xf32>, tensor<2xf32>) -> (tensor<5xf32>, tensor<5xf32>)
c1: The inputs have the same shape.
  ~ %y: tensor<5xf32> => %y: tensor<6xf32>
  ~ (tensor<5xf32>, tensor<5xf32>, => (tensor<5xf32>, tensor<6xf32>,
c3: The updates have the same shape.
  ~ %v: tensor<2xf32> => %v: tensor<3xf32>
  ~ tensor<2xf32>) -> => tensor<3xf32>) ->

## batch_norm_inference (%x: tensor<2x3xf32>, %a: tensor<3xf32>, %b: tensor<3xf32>, %m: tensor<3xf32>, %v: tensor<3xf32>)
%0 = "stablehlo.batch_norm_inference"(%x, %a, %b, %m, %v) <{epsilon = 1.0 : f32, feature_index = 1 : i64}> : (tensor<2x3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>) -> tensor<2x3xf32>
c1: feature_index is a dimension of the operand.
  ~ feature_index = 1 => feature_index = 2
c2: Operands and result have the same element type.
  ~ %m: tensor<3xf32> => %m: tensor<3xf64>
  ~ tensor<3xf32>, tensor<3xf32>) => tensor<3xf64>, tensor<3xf32>)
c3: scale has one element for each feature.
  ~ %a: tensor<3xf32> => %a: tensor<4xf32>
  ~ (tensor<2x3xf32>, tensor<3xf32>, => (tensor<2x3xf32>, tensor<4xf32>,
c4: offset has one element for each feature.
  ~ %b: tensor<3xf32> => %b: tensor<4xf32>
  ~ (tensor<2x3xf32>, tensor<3xf32>, tensor<3xf32>, => (tensor<2x3xf32>, tensor<3xf32>, tensor<4xf32>,
c5: mean has one element for each feature.
  ~ %m: tensor<3xf32> => %m: tensor<4xf32>
  ~ tensor<3xf32>, tensor<3xf32>) => tensor<4xf32>, tensor<3xf32>)
c6: variance has one element for each feature.
  ~ %v: tensor<3xf32> => %v: tensor<4xf32>
  ~ tensor<3xf32>) => tensor<4xf32>)
c7: The result has the operand's type.
  ~ -> tensor<2x3xf32> => -> tensor<3x3xf32>
i1: The operand has elements of a float type.
  ~ xf32> => xi32>
i2: scale has one dimension.
  ~ %a: tensor<3xf32> => %a: tensor<1x3xf32>
  ~ (tensor<2x3xf32>, tensor<3xf32>, => (tensor<2x3xf32>, tensor<1x3xf32>,
i6: epsilon has type f32.
  ~ 1.0 : f32 => 1.0 : f64

## batch_norm_training (%x: tensor<2x3xf32>, %a: tensor<3xf32>, %b: tensor<3xf32>)
%0:3 = "stablehlo.batch_norm_training"(%x, %a, %b) <{epsilon = 1.0 : f32, feature_index = 1 : i64}> : (tensor<2x3xf32>, tensor<3xf32>, tensor<3xf32>) -> (tensor<2x3xf32>, tensor<3xf32>, tensor<3xf32>)
c1: feature_index is a dimension of the operand.
  ~ feature_index = 1 => feature_index = 2
c2: Operands and results have the same element type.
  ~ %b: tensor<3xf32> => %b: tensor<3xf64>
  ~ tensor<3xf32>) -> => tensor<3xf64>) ->
c3: scale has one element for each feature.
  ~ %a: tensor<3xf32> => %a: tensor<4xf32>
  ~ (tensor<2x3xf32>, tensor<3xf32>, tensor<3xf32>) -> => (tensor<2x3xf32>, tensor<4xf32>, tensor<3xf32>) ->
c4: offset has one element for each feature.
  ~ %b: tensor<3xf32> => %b: tensor<4xf32>
  ~ tensor<3xf32>) -> => tensor<4xf32>) ->
c5: batch_mean has one element for each feature.
  ~ -> (tensor<2x3xf32>, tensor<3xf32>, => -> (tensor<2x3xf32>, tensor<4xf32>,
c6: batch_var has one element for each feature.
  ~ -> (tensor<2x3xf32>, tensor<3xf32>, tensor<3xf32>) => -> (tensor<2x3xf32>, tensor<3xf32>, tensor<4xf32>)
c7: The output has the operand's type.
  ~ -> (tensor<2x3xf32>, => -> (tensor<3x3xf32>,
i1: The operand has elements of a float type.
  ~ xf32> => xi32>

## batch_norm_grad (%x: tensor<2x3xf32>, %a: tensor<3xf32>, %m: tensor<3xf32>, %v: tensor<3xf32>, %g: tensor<2x3xf32>)
%0:3 = "stablehlo.batch_norm_grad"(%x, %a, %m, %v, %g) <{epsilon = 1.0 : f32, feature_index = 1 : i64}> : (tensor<2x3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<2x3xf32>) -> (tensor<2x3xf32>, tensor<3xf32>, tensor<3xf32>)
c1: feature_index is a dimension of the operand.
  ~ feature_index = 1 => feature_index = 2
c2: Operands and results have the same element type.
  ~ %m: tensor<3xf32> => %m: tensor<3xf64>
  ~ tensor<3xf32>, tensor<3xf32>, tensor<2x3xf32>) -> => tensor<3xf64>, tensor<3xf32>, tensor<2x3xf32>) ->
c3: operand, grad_output and grad_operand have the same shape.
  ~ %g: tensor<2x3xf32> => %g: tensor<3x3xf32>
  ~ tensor<2x3xf32>) -> => tensor<3x3xf32>) ->
c4: scale, mean, variance, grad_scale and grad_offset have the same shape.
  ~ %m: tensor<3xf32> => %m: tensor<4xf32>
  ~ tensor<3xf32>, tensor<3xf32>, tensor<2x3xf32>) -> => tensor<4xf32>, tensor<3xf32>, tensor<2x3xf32>) ->
c5: scale has one element for each feature.
  ~ tensor<3xf32> => tensor<4xf32>
i1: The operand has elements of a float type.
  ~ xf32> => xi32>

## torch_index_select (%x: tensor<3x4xf32>, %i: tensor<5xi32>)
%0 = "stablehlo.torch_index_select"(%x, %i) <{dim = 0 : i64, batch_dims = 0 : i64}> : (tensor<3x4xf32>, tensor<5xi32>) -> tensor<5x4xf32>
dim: dim is a dimension of the operand.
  ~ dim = 0 => dim = 2
batch_dims: batch_dims is at most dim and the rank of the index, and so many leading sizes of operand and index are equal.
  ~ batch_dims = 0 => batch_dims = 1
index: The indices are integers.
  ~ tensor<5xi32> => tensor<5xf32>
result: The result has the index's dimensions in place of the operand's dimension dim.
  ~ tensor<5x4xf32> => tensor<4x5xf32>

## einsum (%a: tensor<3x4xf32>, %b: tensor<4x5xf32>)
%0 = stablehlo.einsum %a, %b, config = "ab,bc->ac" : (tensor<3x4xf32>, tensor<4x5xf32>) -> tensor<3x5xf32>
config: The config labels each dimension of the operands and the result with a letter; the result's are operands' labels.
  ~ ab,bc->ac => ab,bc
sizes: Dimensions of one label have one size.
  ~ ab,bc->ac => ab,cb->ac
types: The operands have the same element type.
  ~ tensor<4x5xf32> => tensor<4x5xi32>
result: The result has the sizes of its labels.
  ~ tensor<3x5xf32> => tensor<5x3xf32>

## unary_einsum (%a: tensor<3x4xf32>)
%0 = stablehlo.unary_einsum %a, config = "ab->a" : (tensor<3x4xf32>) -> tensor<3xf32>

## fusion (%x: tensor<4xf32>)
%0 = hlo.fusion loop (%a = %x : tensor<4xf32>) -> tensor<4xf32> {
  %n = hlo.negate %a : tensor<4xf32>
  hlo.return %n : tensor<4xf32>
}
c1: kind is one of the fusions that fuse-hlo makes.
  | %0 = "hlo.fusion"(%x) <{kind = "bundle"}> ({
  | ^bb0(%a: tensor<4xf32>):
  |   %n = hlo.negate %a : tensor<4xf32>
  |   hlo.return %n : tensor<4xf32>
  | }) : (tensor<4xf32>) -> tensor<4xf32>
c2: The body takes the operands.
  | %0 = "hlo.fusion"(%x) <{kind = "loop"}> ({
  | ^bb0(%a: tensor<5xf32>):
  |   hlo.return %a : tensor<5xf32>
  | }) : (tensor<4xf32>) -> tensor<5xf32>
c3: The results have the types that the body returns.
  ~ -> tensor<4xf32> { => -> tensor<5xf32> {
c4: row_dims is given for the kind row, and for no other.
  ~ loop (%a => loop<1> (%a
c5: A kind of fusion has a root of its own: a dot fusion one dot_general, a reduce fusion a reduce, a loop fusion results of one shape.
  ~ fusion loop => fusion dot

## fusion (%x: tensor<4x8xf32>, %c: tensor<f32>)
%0 = hlo.fusion row<1> (%a = %x : tensor<4x8xf32>, %b = %c : tensor<f32>) -> tensor<4xf32> {
  %s = hlo.reduce(%a init: %b) applies hlo.add across dimensions = [1] : (tensor<4x8xf32>, tensor<f32>) -> tensor<4xf32>
  hlo.return %s : tensor<4xf32>
}
c6: A row fusion keeps its row dimensions: no reduction is over one of them, but for sums of the columns, over just these.
  ~ row<1> => row<2>
"""
