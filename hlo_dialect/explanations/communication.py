"""The constraints of collectives, transfers, tokens, random numbers and calls; see `table.py` for the notation."""

TABLE = r"""
## all_gather (%x: tensor<4x6xf32>)
%0 = "stablehlo.all_gather"(%x) {all_gather_dim = 1 : i64, replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>} : (tensor<4x6xf32>) -> tensor<4x12xf32>
c1: all_gather_dim is a dimension of the operands.
  ~ all_gather_dim = 1 => all_gather_dim = 2
c2: No process is in replica_groups twice.
  ~ [[0, 1]] => [[0, 0]]
c3@2: The groups name processes of the grid, all of them.
  ~ [[0, 1]]> : tensor<1x2xi64> => [[0, 1], [2, 3]]> : tensor<2x2xi64>
c4: The groups name the processes from 0 on, without a gap.
  ~ [[0, 1]] => [[0, 2]]
c5: Global device ids need a channel.
  ~ tensor<1x2xi64> => tensor<1x2xi64>, use_global_device_ids
c6: The results have the operands' types, with the sizes of a group's members added along all_gather_dim.
  ~ tensor<4x12xf32> => tensor<4x13xf32>
i1: The operands are tensors.
  ~ tensor<4x6xf32> => !stablehlo.token
  ~ -> tensor<4x12xf32> => -> !stablehlo.token
i3: replica_groups is a two-dimensional list of 64-bit integers, or names the axes of a mesh.
  ~ [[0, 1]]> : tensor<1x2xi64> => [0, 1]> : tensor<2xi64>

## all_reduce (%x: tensor<4x6xf32>)
%0 = "stablehlo.all_reduce"(%x) ({
^bb0(%a: tensor<f32>, %b: tensor<f32>):
  %s = stablehlo.add %a, %b : tensor<f32>
  stablehlo.return %s : tensor<f32>
}) {replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>} : (tensor<4x6xf32>) -> tensor<4x6xf32>
c1: No process is in replica_groups twice.
  ~ [[0, 1]] => [[0, 0]]
c2@2: The groups name processes of the grid, all of them.
  ~ [[0, 1]]> : tensor<1x2xi64> => [[0, 1], [2, 3]]> : tensor<2x2xi64>
c3: The groups name the processes from 0 on, without a gap.
  ~ [[0, 1]] => [[0, 2]]
c4: Global device ids need a channel.
  ~ tensor<1x2xi64> => tensor<1x2xi64>, use_global_device_ids
c5: The computation takes two scalars and returns one, of a type that the operands' elements promote to.
  ~ return %s : tensor<f32> => return %s, %s : tensor<f32>, tensor<f32>
c6: The results have the operands' shapes.
  ~ -> tensor<4x6xf32> => -> tensor<4x5xf32>
c7: The results have the element type that the computation returns.
  ~ -> tensor<4x6xf32> => -> tensor<4x6xf64>
i1: The operands are tensors.
  ~ tensor<4x6xf32> => !stablehlo.token

## collective_reduce like all_reduce (%x: tensor<4x6xf32>)
%0 = "stablehlo.collective_reduce"(%x) ({
^bb0(%a: tensor<f32>, %b: tensor<f32>):
  %s = stablehlo.add %a, %b : tensor<f32>
  stablehlo.return %s : tensor<f32>
}) {replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>} : (tensor<4x6xf32>) -> tensor<4x6xf32>

## reduce_scatter (%x: tensor<4x6xf32>)
%0 = "stablehlo.reduce_scatter"(%x) ({
^bb0(%a: tensor<f32>, %b: tensor<f32>):
  %s = stablehlo.add %a, %b : tensor<f32>
  stablehlo.return %s : tensor<f32>
}) {scatter_dimension = 1 : i64, replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>} : (tensor<4x6xf32>) -> tensor<4x3xf32>
c1: The size of the scattered dimension divides into as many parts as a group has processes.
  ~ tensor<4x6xf32> => tensor<4x7xf32>
c2: scatter_dimension is a dimension of the operand.
  ~ scatter_dimension = 1 => scatter_dimension = 2
c3: No process is in replica_groups twice.
  ~ [[0, 1]] => [[0, 0]]
c4@2: The groups name processes of the grid, all of them.
  ~ [[0, 1]]> : tensor<1x2xi64> => [[0, 1], [2, 3]]> : tensor<2x2xi64>
c5: The groups name the processes from 0 on, without a gap.
  ~ [[0, 1]] => [[0, 2]]
c6: Global device ids need a channel.
  ~ tensor<1x2xi64> => tensor<1x2xi64>, use_global_device_ids
c7: The computation takes two scalars and returns one, of a type that the operand's elements promote to.
  ~ return %s : tensor<f32> => return %s, %s : tensor<f32>, tensor<f32>
c8: The result has the operand's shape, with a part of the scattered dimension.
  ~ -> tensor<4x3xf32> => -> tensor<4x6xf32>
c9: The result has the element type that the computation returns.
  ~ -> tensor<4x3xf32> => -> tensor<4x3xf64>
i1: The operand is a tensor.
  ~ tensor<4x6xf32> => !stablehlo.token

## all_to_all (%x: tensor<4x6xf32>)
%0 = "stablehlo.all_to_all"(%x) {split_dimension = 1 : i64, concat_dimension = 0 : i64, split_count = 2 : i64, replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>} : (tensor<4x6xf32>) -> tensor<8x3xf32>
c1: split_dimension is a dimension of the operands.
  ~ split_dimension = 1 => split_dimension = 2
c2: The size of the split dimension divides into split_count parts.
  ~ tensor<4x6xf32> => tensor<4x7xf32>
c3: concat_dimension is a dimension of the operands.
  ~ concat_dimension = 0 => concat_dimension = 2
c4: split_count is positive.
  ~ split_count = 2 => split_count = 0
c5: No process is in replica_groups twice.
  ~ [[0, 1]] => [[0, 0]]
c6@2: The groups name processes of the grid, all of them.
  ~ [[0, 1]]> : tensor<1x2xi64> => [[0, 1], [2, 3]]> : tensor<2x2xi64>
c7: The groups name the processes from 0 on, without a gap.
  ~ [[0, 1]] => [[0, 2]]
c8: A group has split_count processes.
  ~ split_count = 2 => split_count = 3
c9: The results have the operands' sizes, divided along the split dimension and multiplied along the other.
  ~ tensor<8x3xf32> => tensor<8x6xf32>
i1: The operands are tensors.
  ~ tensor<4x6xf32> => !stablehlo.token

## collective_broadcast (%x: tensor<4x6xf32>)
%0 = "stablehlo.collective_broadcast"(%x) {replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>} : (tensor<4x6xf32>) -> tensor<4x6xf32>
c1: No process is in replica_groups twice.
  ~ [[0, 1]] => [[0, 0]]
c2: No process has a negative number.
  ~ [[0, 1]] => [[0, -2]]
c3: The results have the types of the operands.
  ~ -> tensor<4x6xf32> => -> tensor<4x6xf64>
i1: The operands are tensors.
  ~ tensor<4x6xf32> => !stablehlo.token

## collective_broadcast (%x: tensor<4x6xf32>, %r: tensor<1xi32>)
%0 = "stablehlo.collective_broadcast"(%x, %r) {replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>, has_dynamic_root} : (tensor<4x6xf32>, tensor<1xi32>) -> tensor<4x6xf32>
i2: The roots are integers, one for each group.
  ~ tensor<1xi32> => tensor<2xi32>

## collective_permute (%x: tensor<4x6xf32>)
%0 = "stablehlo.collective_permute"(%x) {source_target_pairs = dense<[[0, 1], [1, 0]]> : tensor<2x2xi64>} : (tensor<4x6xf32>) -> tensor<4x6xf32>
c1: source_target_pairs is a list of pairs.
  ~ [[0, 1], [1, 0]]> : tensor<2x2xi64> => [[0, 1, 2]]> : tensor<1x3xi64>
c2: No process is the source of two pairs.
  ~ [1, 0] => [0, 2]
c3: No process is the target of two pairs.
  ~ [1, 0] => [2, 1]
c4: No process has a negative number.
  ~ [1, 0] => [1, -1]
c5: The results have the types of the operands.
  ~ -> tensor<4x6xf32> => -> tensor<6x4xf32>
i1: The operands are tensors.
  ~ tensor<4x6xf32> => !stablehlo.token

## cross-replica-sum (%x: tensor<4x6xf32>)
%0 = "stablehlo.cross-replica-sum"(%x) {replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>} : (tensor<4x6xf32>) -> tensor<4x6xf32>
c1: No process is in replica_groups twice.
  ~ [[0, 1]] => [[0, 0]]
c2@2: The groups name processes of the grid, all of them.
  ~ [[0, 1]]> : tensor<1x2xi64> => [[0, 1], [2, 3]]> : tensor<2x2xi64>
c3: The result has the operand's type.
  ~ -> tensor<4x6xf32> => -> tensor<4x5xf32>

## replica_id ()
%0 = stablehlo.replica_id : tensor<ui32>
o1: The result is a scalar of type ui32.
  ~ tensor<ui32> => tensor<i32>

## partition_id like replica_id ()
%0 = stablehlo.partition_id : tensor<ui32>

## after_all (%t: !stablehlo.token)
%0 = stablehlo.after_all %t : !stablehlo.token
i1: The inputs are tokens.
  | %x = stablehlo.constant dense<1.0> : tensor<f32>
  | %0 = "stablehlo.after_all"(%x) : (tensor<f32>) -> !stablehlo.token
o1: The result is a token.
  | %0 = "stablehlo.after_all"(%t) : (!stablehlo.token) -> tensor<i1>

## create_token ()
%0 = stablehlo.create_token : !stablehlo.token
o1: The result is a token.
  ~ !stablehlo.token => tensor<i1>

## infeed (%t: !stablehlo.token)
%0:2 = "stablehlo.infeed"(%t) : (!stablehlo.token) -> (tensor<4xi32>, !stablehlo.token)
c1: There is at least one result.
  | "stablehlo.infeed"(%t) : (!stablehlo.token) -> ()
c2: The results before the last are tensors.
  ~ (tensor<4xi32>, => (!stablehlo.token,
c3: The last result is a token.
  ~ -> (tensor<4xi32>, !stablehlo.token) => -> (tensor<4xi32>, tensor<4xi32>)
o1: The sizes of a result are known, or all but one, which has a bound.
  ~ tensor<4xi32> => tensor<?xi32>
i1: The operand is a token.
  ~ %t: !stablehlo.token => %t: tensor<f32>
  ~ (!stablehlo.token) -> => (tensor<f32>) ->
layout: layout has one array of integers for each tensor.
  ~ (%t) : => (%t) {layout = [[0], [0]]} :

## outfeed (%x: tensor<4xi32>, %t: !stablehlo.token)
%0 = "stablehlo.outfeed"(%x, %t) : (tensor<4xi32>, !stablehlo.token) -> !stablehlo.token
i1: The inputs are tensors.
  ~ tensor<4xi32> => !stablehlo.token
i2: The last operand is a token.
  ~ %t: !stablehlo.token => %t: tensor<f32>
  ~ !stablehlo.token) -> => tensor<f32>) ->
o1: The result is a token.
  ~ -> !stablehlo.token => -> tensor<i1>

## send (%x: tensor<4xi32>, %t: !stablehlo.token)
%0 = "stablehlo.send"(%x, %t) {channel_handle = #stablehlo.channel_handle<handle = 5, type = 1>, source_target_pairs = dense<[[0, 1], [1, 0]]> : tensor<2x2xi64>} : (tensor<4xi32>, !stablehlo.token) -> !stablehlo.token
c1: source_target_pairs is a list of pairs.
  ~ [[0, 1], [1, 0]]> : tensor<2x2xi64> => [[0, 1, 2]]> : tensor<1x3xi64>
c2: No process is the source of two pairs.
  ~ [1, 0] => [0, 2]
c3: No process is the target of two pairs.
  ~ [1, 0] => [2, 1]
c4: No process has a negative number.
  ~ [1, 0] => [1, -1]
c5: The channel's type is one from a device to a device, or to the host.
  ~ type = 1 => type = 7
i1: The inputs are tensors.
  ~ tensor<4xi32> => !stablehlo.token
i2: The last operand is a token.
  ~ %t: !stablehlo.token => %t: tensor<f32>
  ~ !stablehlo.token) -> => tensor<f32>) ->
o1: The result is a token.
  ~ -> !stablehlo.token => -> tensor<i1>

## recv (%t: !stablehlo.token)
%0:2 = "stablehlo.recv"(%t) {channel_handle = #stablehlo.channel_handle<handle = 5, type = 1>, source_target_pairs = dense<[[0, 1], [1, 0]]> : tensor<2x2xi64>} : (!stablehlo.token) -> (tensor<4xi32>, !stablehlo.token)
c1: source_target_pairs is a list of pairs.
  ~ [[0, 1], [1, 0]]> : tensor<2x2xi64> => [[0, 1, 2]]> : tensor<1x3xi64>
c2: No process is the source of two pairs.
  ~ [1, 0] => [0, 2]
c3: No process is the target of two pairs.
  ~ [1, 0] => [2, 1]
c4: No process has a negative number.
  ~ [1, 0] => [1, -1]
c5: The channel's type is one from a device to a device, or from the host.
  ~ type = 1 => type = 7
c6: There is at least one result.
  ~ %0:2 = =>
  ~ -> (tensor<4xi32>, !stablehlo.token) => -> ()
c7: The results before the last are tensors.
  ~ (tensor<4xi32>, => (!stablehlo.token,
c8: The last result is a token.
  ~ -> (tensor<4xi32>, !stablehlo.token) => -> (tensor<4xi32>, tensor<4xi32>)
i1: The operand is a token.
  ~ %t: !stablehlo.token => %t: tensor<f32>
  ~ (!stablehlo.token) -> => (tensor<f32>) ->

## custom_call (%x: tensor<4xf32>)
%0 = stablehlo.custom_call @f(%x) {api_version = 2 : i32, has_side_effect = false, called_computations = []} : (tensor<4xf32>) -> tensor<4xf32>
i2: The name of the target is not empty.
  | %0 = "stablehlo.custom_call"(%x) {call_target_name = ""} : (tensor<4xf32>) -> tensor<4xf32>
i3: has_side_effect is true or false.
  ~ has_side_effect = false => has_side_effect = 1 : i32
i4: backend_config is a string, for api_version 4 a dictionary.
  ~ api_version = 2 => backend_config = {a = 1 : i32}, api_version = 2
i5: api_version is one of 0 to 4.
  ~ api_version = 2 => api_version = 7
i6: called_computations are names of functions.
  ~ called_computations = [] => called_computations = [1 : i32]
layouts: There is a layout for each operand and each result, a permutation of its dimensions, or none at all.
  ~ api_version = 2 => operand_layouts = [dense<0> : tensor<1xindex>], api_version = 2
output_operand_aliases: An alias names an operand and a result, and parts of them, of one type.
  ~ api_version = 2 : i32 => api_version = 2 : i32, output_operand_aliases = [#stablehlo.output_operand_alias<output_tuple_indices = [], operand_index = 1, operand_tuple_indices = []>]

## composite
func.func private @double(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = stablehlo.add %x, %x : tensor<4xf32>
  return %0 : tensor<4xf32>
}
func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = stablehlo.composite "my.double" %x {composite_attributes = {}, decomposition = @double, version = 1 : i32} : (tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}
i3: composite_attributes is a dictionary.
  ~ composite_attributes = {} => composite_attributes = 1 : i32
i5: version has type i32.
  ~ 1 : i32 => 1 : i64

## rng (%a: tensor<f32>, %b: tensor<f32>, %n: tensor<1xi64>)
%0 = stablehlo.rng %a, %b, %n, distribution = UNIFORM : (tensor<f32>, tensor<f32>, tensor<1xi64>) -> tensor<3xf32>
c1: The bounds have the result's element type.
  ~ %b: tensor<f32> => %b: tensor<f64>
  ~ (tensor<f32>, tensor<f32>, => (tensor<f32>, tensor<f64>,
c2: A normal distribution is one of floats.
  ~ UNIFORM => NORMAL
  ~ tensor<f32> => tensor<i32>
  ~ tensor<3xf32> => tensor<3xi32>
c3: The result has the shape that the operand states.
  ~ tensor<1xi64> => tensor<2xi64>
i1: a is a scalar of an integer, boolean or float type.
  ~ %a: tensor<f32> => %a: tensor<1xf32>
  ~ (tensor<f32>, tensor<f32>, => (tensor<1xf32>, tensor<f32>,
i2: b is a scalar.
  ~ %b: tensor<f32> => %b: tensor<1xf32>
  ~ (tensor<f32>, tensor<f32>, => (tensor<f32>, tensor<1xf32>,
i3: shape is a vector of integers.
  ~ tensor<1xi64> => tensor<1xf32>

## rng_bit_generator (%s: tensor<2xui64>)
%0, %1 = stablehlo.rng_bit_generator %s, algorithm = THREE_FRY : (tensor<2xui64>) -> (tensor<2xui64>, tensor<4xui32>)
c1: The new state has the type of the old one.
  ~ -> (tensor<2xui64>, => -> (tensor<3xui64>,
c2: The state has as many elements as the algorithm takes: THREE_FRY 2, PHILOX 2 or 3.
  ~ tensor<2xui64> => tensor<3xui64>
i2: The state is a vector of integers or floats.
  ~ tensor<2xui64> => tensor<2xi1>
o2: The output has elements of an integer or float type.
  ~ tensor<4xui32> => tensor<4xi1>

## uniform_quantize (%x: tensor<2xf32>)
%0 = stablehlo.uniform_quantize %x : (tensor<2xf32>) -> tensor<2x!quant.uniform<i8:f32, 0.5>>
c1: Operand and result have the same shape.
  ~ tensor<2x!quant => tensor<3x!quant
c2: The result stands for values of the operand's element type.
  ~ tensor<2xf32> => tensor<2xbf16>
i1: The operand has elements of a float or quantized type.
  ~ tensor<2xf32> => tensor<2xi32>
o1: The result has elements of a quantized type.
  | %0 = "stablehlo.uniform_quantize"(%x) : (tensor<2xf32>) -> tensor<2xf32>

## uniform_dequantize (%q: tensor<2x!quant.uniform<i8:f32, 0.5>>)
%0 = stablehlo.uniform_dequantize %q : (tensor<2x!quant.uniform<i8:f32, 0.5>>) -> tensor<2xf32>
c1: Operand and result have the same shape.
  ~ tensor<2xf32> => tensor<3xf32>
c2: The result has the type that the operand stands for.
  ~ tensor<2xf32> => tensor<2xf64>
i1: The operand has elements of a quantized type.
  ~ !quant.uniform<i8:f32, 0.5> => f32
"""
