"""The constraints on quantized types; see `table.py` for the notation."""

TABLE = r"""
## add (%x: tensor<4x!quant.uniform<i8:f32, 0.5>>, %y: tensor<4x!quant.uniform<i8:f32, 0.25>>)
%0 = stablehlo.add %x, %y : (tensor<4x!quant.uniform<i8:f32, 0.5>>, tensor<4x!quant.uniform<i8:f32, 0.25>>) -> tensor<4x!quant.uniform<i8:f32, 1.0>>
c2: Operands and result are all quantized, or none is.
  ~ -> tensor<4x!quant.uniform<i8:f32, 1.0>> => -> tensor<4xf32>
c3: Quantized operands and result have the same storage type.
  ~ <i8:f32, 1.0> => <i16:f32, 1.0>
c4: Quantized operands and result stand for values of the same type.
  ~ <i8:f32, 1.0> => <i8:f16, 1.0>
c5: The result has a scale for each index of a dimension if one of the operands has.
  ~ <i8:f32, 1.0> => <i8:f32:0, {1.0, 1.0, 1.0, 1.0}>

## add (%x: tensor<2x2x!quant.uniform<i8:f32:0, {0.5, 0.25}>>, %y: tensor<2x2x!quant.uniform<i8:f32:0, {1.0, 2.0}>>)
%0 = stablehlo.add %x, %y : (tensor<2x2x!quant.uniform<i8:f32:0, {0.5, 0.25}>>, tensor<2x2x!quant.uniform<i8:f32:0, {1.0, 2.0}>>) -> tensor<2x2x!quant.uniform<i8:f32:0, {3.0, 3.0}>>
c6: lhs and the result have their scales along the same dimension.
  ~ f32:0, {0.5 => f32:1, {0.5
c7: rhs and the result have their scales along the same dimension.
  ~ f32:0, {1.0 => f32:1, {1.0

## transpose (%x: tensor<2x3x!quant.uniform<i8:f32:0, {0.5, 0.25}>>)
%0 = stablehlo.transpose %x, dims = [1, 0] : (tensor<2x3x!quant.uniform<i8:f32:0, {0.5, 0.25}>>) -> tensor<3x2x!quant.uniform<i8:f32:1, {0.5, 0.25}>>
c4: The scales stay with their dimension.
  ~ dims = [1, 0] => dims = [0, 1]
  ~ -> tensor<3x2x => -> tensor<2x3x
  ~ tensor<2x3x!quant.uniform<i8:f32:0 => tensor<2x2x!quant.uniform<i8:f32:0
  ~ tensor<2x3x!quant.uniform<i8:f32:1 => tensor<2x2x!quant.uniform<i8:f32:1

## reshape (%x: tensor<2x6x!quant.uniform<i8:f32:0, {0.5, 0.25}>>)
%0 = stablehlo.reshape %x : (tensor<2x6x!quant.uniform<i8:f32:0, {0.5, 0.25}>>) -> tensor<2x3x2x!quant.uniform<i8:f32:0, {0.5, 0.25}>>
c3: The dimensions up to the one with the scales stay.
  ~ -> tensor<2x3x2x!quant.uniform<i8:f32:0 => -> tensor<3x2x2x!quant.uniform<i8:f32:1

## broadcast_in_dim (%x: tensor<2x!quant.uniform<i8:f32:0, {0.5, 0.25}>>)
%0 = stablehlo.broadcast_in_dim %x, dims = [0] : (tensor<2x!quant.uniform<i8:f32:0, {0.5, 0.25}>>) -> tensor<2x2x!quant.uniform<i8:f32:0, {0.5, 0.25}>>
c6: The scales stay with their dimension; where it has size 1 and is repeated, so are they.
  ~ tensor<2x2x!quant.uniform<i8:f32:0 => tensor<2x2x!quant.uniform<i8:f32:1

## dynamic_broadcast_in_dim (%x: tensor<2x!quant.uniform<i8:f32:0, {0.5, 0.25}>>, %s: tensor<2xi32>)
%0 = stablehlo.dynamic_broadcast_in_dim %x, %s, dims = [0] : (tensor<2x!quant.uniform<i8:f32:0, {0.5, 0.25}>>, tensor<2xi32>) -> tensor<2x2x!quant.uniform<i8:f32:0, {0.5, 0.25}>>
c6: The scales stay with their dimension; where it has size 1 and is repeated, so are they.
  ~ tensor<2x2x!quant.uniform<i8:f32:0 => tensor<2x2x!quant.uniform<i8:f32:1

## dynamic_reshape (%x: tensor<2x6x!quant.uniform<i8:f32:0, {0.5, 0.25}>>, %s: tensor<3xi32>)
%0 = stablehlo.dynamic_reshape %x, %s : (tensor<2x6x!quant.uniform<i8:f32:0, {0.5, 0.25}>>, tensor<3xi32>) -> tensor<2x3x2x!quant.uniform<i8:f32:0, {0.5, 0.25}>>
c3: The dimensions up to the one with the scales stay.
  ~ -> tensor<2x3x2x!quant.uniform<i8:f32:0 => -> tensor<3x2x2x!quant.uniform<i8:f32:1

## dot_general (%x: tensor<3x4x!quant.uniform<i8:f32, 0.5>>, %y: tensor<4x2x!quant.uniform<i8:f32, 0.25>>)
%0 = stablehlo.dot_general %x, %y, contracting_dims = [1] x [0] : (tensor<3x4x!quant.uniform<i8:f32, 0.5>>, tensor<4x2x!quant.uniform<i8:f32, 0.25>>) -> tensor<3x2x!quant.uniform<i32:f32, 1.0>>
c14: rhs is quantized, and lhs and the result both or neither.
  ~ -> tensor<3x2x!quant.uniform<i32:f32, 1.0>> => -> tensor<3x2xf32>
c15: The zero points of rhs are 0.
  ~ <i8:f32, 0.25> => <i8:f32, 0.25:3>
c16: rhs has no scales along a contracting dimension.
  ~ <i8:f32, 0.25> => <i8:f32:0, {1.0, 1.0, 1.0, 1.0}>
c17: lhs and rhs have the same storage type.
  ~ <i8:f32, 0.25> => <i16:f32, 0.25>
c18: Operands and result stand for values of the same type.
  ~ <i32:f32, 1.0> => <i32:f16, 1.0>
c19: If rhs has one scale for all, so has the result.
  ~ <i32:f32, 1.0> => <i32:f32:1, {1.0, 1.0}>

## dot_general (%x: tensor<3x4xf32>, %y: tensor<4x2x!quant.uniform<i8:f32, 0.25>>)
%0 = stablehlo.dot_general %x, %y, contracting_dims = [1] x [0] : (tensor<3x4xf32>, tensor<4x2x!quant.uniform<i8:f32, 0.25>>) -> tensor<3x2xf32>
c20: If only rhs is quantized, lhs and the result have the type that it stands for.
  ~ i8:f32 => i8:f16

## convolution (%x: tensor<1x8x4x!quant.uniform<i8:f32, 0.5>>, %w: tensor<3x4x2x!quant.uniform<i8:f32, 0.25>>)
%0 = stablehlo.convolution(%x, %w) dim_numbers = [b, 0, f]x[0, i, o]->[b, 0, f], window = {} {feature_group_count = 1 : i64, batch_group_count = 1 : i64} : (tensor<1x8x4x!quant.uniform<i8:f32, 0.5>>, tensor<3x4x2x!quant.uniform<i8:f32, 0.25>>) -> tensor<1x6x2x!quant.uniform<i32:f32, 1.0>>
c28: The kernel is quantized, and input and result both or neither.
  ~ -> tensor<1x6x2x!quant.uniform<i32:f32, 1.0>> => -> tensor<1x6x2xf32>
c29: The kernel has scales along its output features, or one for all.
  ~ <i8:f32, 0.25> => <i8:f32:0, {1.0, 1.0, 1.0}>
c30: The result has scales along its features, or one for all.
  ~ <i32:f32, 1.0> => <i32:f32:0, {1.0}>
c31: Input and kernel have the same storage type.
  ~ <i8:f32, 0.25> => <i16:f32, 0.25>
c32: Operands and result stand for values of the same type.
  ~ <i32:f32, 1.0> => <i32:f16, 1.0>
c33: If the kernel has one scale for all, so has the result.
  ~ <i32:f32, 1.0> => <i32:f32:2, {1.0, 1.0}>

## convolution (%x: tensor<1x8x4xf32>, %w: tensor<3x4x2x!quant.uniform<i8:f32, 0.25>>)
%0 = stablehlo.convolution(%x, %w) dim_numbers = [b, 0, f]x[0, i, o]->[b, 0, f], window = {} {feature_group_count = 1 : i64, batch_group_count = 1 : i64} : (tensor<1x8x4xf32>, tensor<3x4x2x!quant.uniform<i8:f32, 0.25>>) -> tensor<1x6x2xf32>
c34: If only the kernel is quantized, input and result have the type that it stands for.
  ~ i8:f32 => i8:f16

## dynamic_conv like convolution (%x: tensor<1x8x4x!quant.uniform<i8:f32, 0.5>>, %w: tensor<3x4x2x!quant.uniform<i8:f32, 0.25>>, %p: tensor<1x2xi32>)
%0 = "stablehlo.dynamic_conv"(%x, %w, %p) {dimension_numbers = #stablehlo.conv<[b, 0, f]x[0, i, o]->[b, 0, f]>, feature_group_count = 1 : i64, batch_group_count = 1 : i64} : (tensor<1x8x4x!quant.uniform<i8:f32, 0.5>>, tensor<3x4x2x!quant.uniform<i8:f32, 0.25>>, tensor<1x2xi32>) -> tensor<1x6x2x!quant.uniform<i32:f32, 1.0>>
c34: If only the kernel is quantized, input and result have the type that it stands for.
  ~ !quant.uniform<i8:f32, 0.5> => f16
  ~ !quant.uniform<i32:f32, 1.0> => f16
"""
