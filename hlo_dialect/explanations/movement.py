"""The constraints of operations that move elements; see `table.py` for the notation."""

TABLE = r"""
## broadcast_in_dim (%x: tensor<3xf32>)
%0 = stablehlo.broadcast_in_dim %x, dims = [1] : (tensor<3xf32>) -> tensor<2x3xf32>
c1: Operand and result have the same element type.
  ~ tensor<2x3xf32> => tensor<2x3xi32>
c2: There is one entry of broadcast_dimensions for each dimension of the operand.
  ~ [1] => [0, 1]
c3: The entries of broadcast_dimensions are dimensions of the result.
  ~ [1] => [2]
c4: No dimension is in broadcast_dimensions twice.
  ~ [1] => [1, 1]
  ~ tensor<3xf32> => tensor<3x3xf32>
c5: A dimension of the operand has size 1, or the size of the result's dimension that it becomes.
  ~ [1] => [0]
o1: The sizes of the result are known, or all but one, which has a bound.
  ~ tensor<2x3xf32> => tensor<?x?xf32>

## broadcast (%x: tensor<3xf32>)
%0 = stablehlo.broadcast %x, sizes = [2] : (tensor<3xf32>) -> tensor<2x3xf32>
c1: The result has the new sizes, then those of the operand, and its element type.
  ~ tensor<2x3xf32> => tensor<3x2xf32>
i2: The new sizes are not negative.
  ~ [2] => [-2]

## reshape (%x: tensor<2x3xf32>)
%0 = stablehlo.reshape %x : (tensor<2x3xf32>) -> tensor<6xf32>
c1: Operand and result have the same element type.
  ~ tensor<6xf32> => tensor<6xi32>
c2: Operand and result have the same number of elements.
  ~ tensor<6xf32> => tensor<5xf32>
o1: The sizes of the result are known, or all but one, which has a bound.
  ~ tensor<6xf32> => tensor<?x?xf32>

## transpose (%x: tensor<2x3xf32>)
%0 = stablehlo.transpose %x, dims = [1, 0] : (tensor<2x3xf32>) -> tensor<3x2xf32>
c1: Operand and result have the same element type.
  ~ tensor<3x2xf32> => tensor<3x2xi32>
c2: permutation has each dimension of the operand once.
  ~ [1, 0] => [1, 1]
c3: Dimension i of the result has the size of the operand's dimension permutation[i].
  ~ tensor<3x2xf32> => tensor<2x3xf32>

## reverse (%x: tensor<2x3xf32>)
%0 = stablehlo.reverse %x, dims = [1] : tensor<2x3xf32>
c1: Operand and result have the same type.
  ~ [1] : tensor<2x3xf32> => [1] : (tensor<2x3xf32>) -> tensor<3x2xf32>
c2: No dimension is reversed twice.
  ~ [1] => [1, 1]
c3: The dimensions to reverse are dimensions of the operand.
  ~ [1] => [2]

## pad (%x: tensor<3xf32>, %v: tensor<f32>)
%0 = stablehlo.pad %x, %v, low = [1], high = [0], interior = [2] : (tensor<3xf32>, tensor<f32>) -> tensor<8xf32>
c1: Operand, padding value and result have the same element type.
  ~ tensor<f32> => tensor<i32>
c2: There is one entry of low, high and interior for each dimension of the operand.
  ~ low = [1] => low = [1, 0]
c3: Interior padding is not negative; padding at the edges may be, and cuts off.
  ~ interior = [2] => interior = [-1]
c4: A size of the result is low + size + (size - 1) * interior + high.
  ~ tensor<8xf32> => tensor<7xf32>
i2: The padding value is a scalar.
  ~ tensor<f32> => tensor<1xf32>

## slice (%x: tensor<8xf32>)
%0 = stablehlo.slice %x [2:8:3] : (tensor<8xf32>) -> tensor<2xf32>
c1: Operand and result have the same element type.
  ~ tensor<2xf32> => tensor<2xi32>
c2: There is one range for each dimension of the operand.
  ~ [2:8:3] => [2:8:3, 0:1]
c3: A range begins within the operand, ends within it, and not before its beginning.
  ~ [2:8:3] => [2:9:3]
c4: Strides are positive.
  ~ [2:8:3] => [2:8:0]
c5: A size of the result is ceil((limit - start) / stride).
  ~ tensor<2xf32> => tensor<3xf32>

## dynamic_slice (%x: tensor<4x8xf32>, %i: tensor<i32>, %j: tensor<i32>)
%0 = stablehlo.dynamic_slice %x, %i, %j, sizes = [2, 3] : (tensor<4x8xf32>, tensor<i32>, tensor<i32>) -> tensor<2x3xf32>
c1: Operand and result have the same element type.
  ~ tensor<2x3xf32> => tensor<2x3xi32>
c2: There is one start index, and one size, for each dimension of the operand.
  ~ sizes = [2, 3] => sizes = [2]
c3: The start indices have the same type.
  ~ %j: tensor<i32> => %j: tensor<i64>
  ~ tensor<i32>) -> => tensor<i64>) ->
c4: A size is not negative and at most that of the operand's dimension.
  ~ sizes = [2, 3] => sizes = [2, 9]
c5: The result has the shape that the sizes state.
  ~ tensor<2x3xf32> => tensor<2x4xf32>

## dynamic_update_slice (%x: tensor<4x8xf32>, %u: tensor<2x3xf32>, %i: tensor<i32>, %j: tensor<i32>)
%0 = stablehlo.dynamic_update_slice %x, %u, %i, %j : (tensor<4x8xf32>, tensor<2x3xf32>, tensor<i32>, tensor<i32>) -> tensor<4x8xf32>
c1: Operand and result have the same type.
  ~ -> tensor<4x8xf32> => -> tensor<8x4xf32>
c2: Update and operand have the same element type.
  ~ tensor<2x3xf32> => tensor<2x3xi32>
c3: Update and operand have the same rank.
  ~ tensor<2x3xf32> => tensor<2xf32>
c5: The start indices have the same type.
  ~ %j: tensor<i32> => %j: tensor<i64>
  ~ tensor<i32>) -> => tensor<i64>) ->
start_indices: The start indices are integer scalars.
  ~ tensor<i32> => tensor<f32>
c6: A size of the update is at most that of the operand's dimension.
  ~ tensor<2x3xf32> => tensor<2x9xf32>

## real_dynamic_slice (%x: tensor<?xf32>, %a: tensor<1xi32>, %b: tensor<1xi32>, %c: tensor<1xi32>)
%0 = stablehlo.real_dynamic_slice %x, %a, %b, %c : (tensor<?xf32>, tensor<1xi32>, tensor<1xi32>, tensor<1xi32>) -> tensor<?xf32>
c1: Operand and result have the same element type.
  ~ -> tensor<?xf32> => -> tensor<?xi32>
c2: Operand and result have the same rank.
  ~ -> tensor<?xf32> => -> tensor<?x?xf32>
c3: The start indices, limits and strides have one entry for each dimension of the operand.
  ~ tensor<1xi32> => tensor<2xi32>
i2: The start indices are one-dimensional and of an integer or index type.
  ~ %a: tensor<1xi32> => %a: tensor<1xf32>
  ~ (tensor<?xf32>, tensor<1xi32>, => (tensor<?xf32>, tensor<1xf32>,
i3: The limits are one-dimensional and of an integer or index type.
  ~ %b: tensor<1xi32> => %b: tensor<1xf32>
  ~ tensor<1xi32>, tensor<1xi32>) => tensor<1xf32>, tensor<1xi32>)
i4: The strides are one-dimensional and of an integer or index type.
  ~ %c: tensor<1xi32> => %c: tensor<1xf32>
  ~ tensor<1xi32>) => tensor<1xf32>)

## real_dynamic_slice (%x: tensor<4xf32>)
%a = stablehlo.constant dense<[1]> : tensor<1xi32>
%b = stablehlo.constant dense<[3]> : tensor<1xi32>
%0 = stablehlo.real_dynamic_slice %x, %a, %b, %a : (tensor<4xf32>, tensor<1xi32>, tensor<1xi32>, tensor<1xi32>) -> tensor<2xf32>
c4: A range begins within the operand, ends within it, and not before its beginning; strides are positive.
  ~ dense<[3]> => dense<[5]>
c5: A size of the result is ceil((limit - start) / stride).
  ~ tensor<2xf32> => tensor<3xf32>

## concatenate (%x: tensor<2x3xf32>, %y: tensor<2x1xf32>)
%0 = stablehlo.concatenate %x, %y, dim = 1 : (tensor<2x3xf32>, tensor<2x1xf32>) -> tensor<2x4xf32>
c1: The operands have the same element type.
  ~ tensor<2x1xf32> => tensor<2x1xi32>
c2: The operands have the same shape, but for the dimension along which they are joined.
  ~ tensor<2x1xf32> => tensor<3x1xf32>
c3: There is at least one operand.
  ~ stablehlo.concatenate %x, %y, dim = 1 : (tensor<2x3xf32>, tensor<2x1xf32>) => "stablehlo.concatenate"() <{dimension = 1 : i64}> : ()
c4: dimension is one of the operands'.
  ~ dim = 1 => dim = 2
c5: The result has the operands' element type.
  ~ tensor<2x4xf32> => tensor<2x4xi32>
c6: The result has the operands' sizes, and the sum of them along the dimension.
  ~ tensor<2x4xf32> => tensor<2x5xf32>

## iota ()
%0 = stablehlo.iota dim = 1 : tensor<2x3xi32>
c1: iota_dimension is a dimension of the result.
  ~ dim = 1 => dim = 2
o1: The elements of the result are of an integer, float, complex or quantized type.
  ~ tensor<2x3xi32> => tensor<2x3xi1>

## constant ()
%0 = stablehlo.constant dense<[1.0, 2.0]> : tensor<2xf32>
c1: The value has the type of the result.
  ~ stablehlo.constant dense<[1.0, 2.0]> : tensor<2xf32> => "stablehlo.constant"() <{value = dense<1.0> : tensor<3xf32>}> : () -> tensor<2xf32>

## bitcast_convert (%x: tensor<4xf32>)
%0 = stablehlo.bitcast_convert %x : (tensor<4xf32>) -> tensor<4x2xi16>
c1: Between types of one width the shape stays; a narrower type adds a last dimension with the quotient of the widths.
  ~ tensor<4x2xi16> => tensor<4xi16>
c2: A complex type becomes a complex type, and no other does.
  ~ tensor<4x2xi16> => tensor<4xcomplex<f32>>
i1: The elements of the operand are of an integer, float, complex or quantized type.
  ~ tensor<4xf32> => tensor<4xsi32>

## convert (%x: tensor<4xf32>)
%0 = stablehlo.convert %x : (tensor<4xf32>) -> tensor<4xi32>
c1: Operand and result have the same shape.
  ~ tensor<4xi32> => tensor<5xi32>
i1: The elements are of a boolean, integer, float or complex type.
  ~ tensor<4xf32> => tensor<4x!stablehlo.token>

## dynamic_broadcast_in_dim (%x: tensor<3xf32>, %s: tensor<2xi32>)
%0 = stablehlo.dynamic_broadcast_in_dim %x, %s, dims = [1] : (tensor<3xf32>, tensor<2xi32>) -> tensor<?x3xf32>
c1: Operand and result have the same element type.
  ~ tensor<?x3xf32> => tensor<?x3xi32>
c2: There is one entry of broadcast_dimensions for each dimension of the operand.
  ~ dims = [1] => dims = [0, 1]
c3: The entries of broadcast_dimensions are dimensions of the result.
  ~ dims = [1] => dims = [2]
c4: No dimension is in broadcast_dimensions twice.
  ~ dims = [1] => dims = [1, 1]
  ~ tensor<3xf32> => tensor<3x3xf32>
c5: A dimension of the operand has size 1, or the size of the result's dimension that it becomes.
  ~ tensor<?x3xf32> => tensor<?x4xf32>
c7: output_dimensions has one entry for each dimension of the result.
  ~ tensor<2xi32> => tensor<3xi32>
c8: No dimension of the operand is said both to expand and not to.
  ~ dims = [1] => dims = [1] {known_expanding_dimensions = array<i64: 0>, known_nonexpanding_dimensions = array<i64: 0>}
c9: The dimensions known to expand are dimensions of the operand.
  ~ dims = [1] => dims = [1] {known_expanding_dimensions = array<i64: 1>}
c10: The dimensions known not to expand are dimensions of the operand.
  ~ dims = [1] => dims = [1] {known_nonexpanding_dimensions = array<i64: 1>}
i2: output_dimensions is one-dimensional and of an integer or index type.
  ~ tensor<2xi32> => tensor<2xf32>

## dynamic_reshape (%x: tensor<2x3xf32>, %s: tensor<1xi32>)
%0 = stablehlo.dynamic_reshape %x, %s : (tensor<2x3xf32>, tensor<1xi32>) -> tensor<?xf32>
c1: Operand and result have the same element type.
  ~ tensor<?xf32> => tensor<?xi32>
c2: Operand and result have the same number of elements.
  ~ tensor<?xf32> => tensor<5xf32>
c4: output_shape has one entry for each dimension of the result.
  ~ tensor<1xi32> => tensor<2xi32>
i2: output_shape is one-dimensional and of an integer or index type.
  ~ tensor<1xi32> => tensor<1xf32>

## dynamic_iota (%s: tensor<2xi32>)
%0 = stablehlo.dynamic_iota %s, dim = 1 : (tensor<2xi32>) -> tensor<?x3xi32>
c1: iota_dimension is a dimension of the result.
  ~ dim = 1 => dim = 2
c2: output_shape has one entry for each dimension of the result.
  ~ tensor<2xi32> => tensor<3xi32>
i1: output_shape is one-dimensional and of an integer or index type.
  ~ tensor<2xi32> => tensor<2xf32>
o1: The elements of the result are of an integer, float, complex or quantized type.
  ~ tensor<?x3xi32> => tensor<?x3xi1>

## dynamic_pad (%x: tensor<3xf32>, %v: tensor<f32>, %l: tensor<1xi32>, %h: tensor<1xi32>, %i: tensor<1xi32>)
%0 = stablehlo.dynamic_pad %x, %v, %l, %h, %i : (tensor<3xf32>, tensor<f32>, tensor<1xi32>, tensor<1xi32>, tensor<1xi32>) -> tensor<?xf32>
c1: Operand, padding value and result have the same element type.
  ~ tensor<f32> => tensor<i32>
c2: The amounts of padding have one entry for each dimension of the operand.
  ~ tensor<1xi32> => tensor<2xi32>
i2: The padding value is a scalar.
  ~ tensor<f32> => tensor<1xf32>
i3: edge_padding_low is one-dimensional and of an integer or index type.
  ~ %l: tensor<1xi32> => %l: tensor<1xf32>
  ~ tensor<f32>, tensor<1xi32>, => tensor<f32>, tensor<1xf32>,
i4: edge_padding_high is one-dimensional and of an integer or index type.
  ~ %h: tensor<1xi32> => %h: tensor<1xf32>
  ~ tensor<1xi32>, tensor<1xi32>) => tensor<1xf32>, tensor<1xi32>)
i5: interior_padding is one-dimensional and of an integer or index type.
  ~ %i: tensor<1xi32> => %i: tensor<1xf32>
  ~ tensor<1xi32>) => tensor<1xf32>)

## dynamic_pad (%x: tensor<3xf32>, %v: tensor<f32>)
%l = stablehlo.constant dense<[1]> : tensor<1xi32>
%i = stablehlo.constant dense<[2]> : tensor<1xi32>
%0 = stablehlo.dynamic_pad %x, %v, %l, %l, %i : (tensor<3xf32>, tensor<f32>, tensor<1xi32>, tensor<1xi32>, tensor<1xi32>) -> tensor<9xf32>
c3: Interior padding is not negative; padding at the edges may be, and cuts off.
  ~ dense<[2]> => dense<[-1]>
c4: A size of the result is low + size + (size - 1) * interior + high.
  ~ tensor<9xf32> => tensor<8xf32>

## get_dimension_size (%x: tensor<?xf32>)
%0 = stablehlo.get_dimension_size %x, dim = 0 : (tensor<?xf32>) -> tensor<i32>
c1: dimension is one of the operand's.
  ~ dim = 0 => dim = 1
o1: The result is a scalar of type i32.
  ~ tensor<i32> => tensor<i64>

## set_dimension_size (%x: tensor<4xf32>, %n: tensor<i32>)
%0 = stablehlo.set_dimension_size %x, %n, dim = 0 : (tensor<4xf32>, tensor<i32>) -> tensor<?xf32, #stablehlo.bounds<4>>
c1: dimension is one of the operand's.
  ~ dim = 0 => dim = 1
c2: The result has the operand's type, but for the size of the dimension.
  ~ -> tensor<?xf32, => -> tensor<?xi32,
i2: The size is an integer scalar.
  ~ tensor<i32> => tensor<f32>

## set_dimension_size (%x: tensor<4xf32>)
%n = stablehlo.constant dense<3> : tensor<i32>
%0 = stablehlo.set_dimension_size %x, %n, dim = 0 : (tensor<4xf32>, tensor<i32>) -> tensor<?xf32, #stablehlo.bounds<4>>
c3: The new size is not negative and at most the old one.
  ~ dense<3> => dense<5>
"""
