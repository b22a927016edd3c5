"""The constraints of matrix products, convolutions, and solvers; see `table.py` for the notation."""

TABLE = r"""
## dot_general (%x: tensor<2x3x4xf32>, %y: tensor<2x4x5xf32>)
%0 = stablehlo.dot_general %x, %y, batching_dims = [0] x [0], contracting_dims = [2] x [1], precision = [DEFAULT, DEFAULT] : (tensor<2x3x4xf32>, tensor<2x4x5xf32>) -> tensor<2x3x5xf32>
c1: Both sides have as many batching dimensions.
  ~ batching_dims = [0] x [0] => batching_dims = [0] x []
c2: Both sides have as many contracting dimensions.
  ~ contracting_dims = [2] x [1] => contracting_dims = [2] x []
c3: The batching and contracting dimensions of lhs are different ones.
  ~ contracting_dims = [2] => contracting_dims = [0]
c4: The batching and contracting dimensions of rhs are different ones.
  ~ x [1] => x [0]
c5: The batching dimensions of lhs are dimensions of lhs.
  ~ batching_dims = [0] => batching_dims = [3]
c6: The contracting dimensions of lhs are dimensions of lhs.
  ~ contracting_dims = [2] => contracting_dims = [3]
c7: The batching dimensions of rhs are dimensions of rhs.
  ~ x [0], contracting => x [3], contracting
c8: The contracting dimensions of rhs are dimensions of rhs.
  ~ x [1] => x [3]
c9: Batching dimensions that belong together have the same size.
  ~ tensor<2x4x5xf32> => tensor<3x4x5xf32>
c10: Contracting dimensions that belong together have the same size.
  ~ tensor<2x4x5xf32> => tensor<2x3x5xf32>
c11: precision_config has no entries, or one for each operand.
  ~ [DEFAULT, DEFAULT] => [DEFAULT]
c12: The result has the batching dimensions, then the others of lhs, then those of rhs.
  ~ tensor<2x3x5xf32> => tensor<2x5x3xf32>
c13: The operands have the same element type; the result's may be wider, of the same kind.
  ~ tensor<2x4x5xf32> => tensor<2x4x5xi32>
i8: The algorithm is one of those that the specification lists.
  ~ [2] x [1], precision = [DEFAULT, DEFAULT] => [2] x [1], algorithm = <lhs_precision_type = f16, rhs_precision_type = f64, accumulation_type = f16, lhs_component_count = 1, rhs_component_count = 1, num_primitive_operations = 1, allow_imprecise_accumulation = false>
c21: With an algorithm the precision is DEFAULT: the algorithm says it.
  ~ [DEFAULT, DEFAULT] => [HIGH, HIGH], algorithm = <lhs_precision_type = f32, rhs_precision_type = f32, accumulation_type = f32, lhs_component_count = 1, rhs_component_count = 1, num_primitive_operations = 1, allow_imprecise_accumulation = false>
c22: The algorithm has at least one component of lhs.
  ~ [2] x [1], precision = [DEFAULT, DEFAULT] => [2] x [1], algorithm = <lhs_precision_type = f32, rhs_precision_type = f32, accumulation_type = f32, lhs_component_count = 0, rhs_component_count = 1, num_primitive_operations = 1, allow_imprecise_accumulation = false>
c23: The algorithm has at least one component of rhs.
  ~ [2] x [1], precision = [DEFAULT, DEFAULT] => [2] x [1], algorithm = <lhs_precision_type = f32, rhs_precision_type = f32, accumulation_type = f32, lhs_component_count = 1, rhs_component_count = 0, num_primitive_operations = 1, allow_imprecise_accumulation = false>
c24: The algorithm has at least one primitive operation.
  ~ [2] x [1], precision = [DEFAULT, DEFAULT] => [2] x [1], algorithm = <lhs_precision_type = f32, rhs_precision_type = f32, accumulation_type = f32, lhs_component_count = 1, rhs_component_count = 1, num_primitive_operations = 0, allow_imprecise_accumulation = false>

## convolution (%x: tensor<2x8x8x4xf32>, %w: tensor<3x3x4x6xf32>)
%0 = stablehlo.convolution(%x, %w) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], window = {stride = [1, 1], pad = [[0, 0], [0, 0]], lhs_dilate = [1, 1], rhs_dilate = [1, 1], reverse = [false, false]} {feature_group_count = 1 : i64, batch_group_count = 1 : i64} : (tensor<2x8x8x4xf32>, tensor<3x3x4x6xf32>) -> tensor<2x6x6x6xf32>
c1: Input and kernel have the same rank.
  ~ tensor<3x3x4x6xf32> => tensor<3x4x6xf32>
c2: There is one stride for each spatial dimension.
  ~ stride = [1, 1] => stride = [1]
c3: Strides are positive.
  ~ stride = [1, 1] => stride = [1, 0]
c4: There is one pair of paddings for each spatial dimension.
  ~ pad = [[0, 0], [0, 0]] => pad = [[0, 0]]
c5: There is one dilation of the input for each spatial dimension.
  ~ lhs_dilate = [1, 1] => lhs_dilate = [1]
c6: Dilations of the input are positive.
  ~ lhs_dilate = [1, 1] => lhs_dilate = [1, 0]
c7: There is one dilation of the kernel for each spatial dimension.
  ~ rhs_dilate = [1, 1] => rhs_dilate = [1]
c8: Dilations of the kernel are positive.
  ~ rhs_dilate = [1, 1] => rhs_dilate = [1, 0]
c9: There is one flag of window_reversal for each spatial dimension.
  ~ reverse = [false, false] => reverse = [false]
c10: The batch of the input divides into batch_group_count groups.
  ~ batch_group_count = 1 => batch_group_count = 3
c11: The features of the input divide into feature_group_count groups.
  ~ feature_group_count = 1 => feature_group_count = 3
c14: The kernel has the input's features, divided by feature_group_count, as its input features.
  ~ tensor<3x3x4x6xf32> => tensor<3x3x2x6xf32>
c15: The output features of the kernel divide into batch_group_count groups.
  ~ batch_group_count = 1 => batch_group_count = 2
  ~ tensor<3x3x4x6xf32> => tensor<3x3x4x5xf32>
c16: The output features of the kernel divide into feature_group_count groups.
  ~ feature_group_count = 1 => feature_group_count = 4
  ~ tensor<3x3x4x6xf32> => tensor<3x3x1x6xf32>
c21: feature_group_count is positive.
  ~ feature_group_count = 1 => feature_group_count = 0
c22: batch_group_count is positive.
  ~ batch_group_count = 1 => batch_group_count = 0
c23: One of feature_group_count and batch_group_count is 1.
  ~ feature_group_count = 1 => feature_group_count = 2
  ~ batch_group_count = 1 => batch_group_count = 2
c24: precision_config has no entries, or one for each operand.
  ~ batch_group_count = 1 : i64 => batch_group_count = 1 : i64, precision_config = [#stablehlo<precision DEFAULT>]
c25: The result has the sizes that the window leaves, with the input's batch and the kernel's output features.
  ~ tensor<2x6x6x6xf32> => tensor<2x8x8x6xf32>
c27: The operands have the same element type; the result's may be wider, of the same kind.
  ~ tensor<3x3x4x6xf32> => tensor<3x3x4x6xi32>

## convolution (%x: tensor<2x8x8x4xf32>, %w: tensor<3x3x4x6xf32>)
%0 = "stablehlo.convolution"(%x, %w) <{dimension_numbers = #stablehlo.conv<raw input_batch_dimension = 0, input_feature_dimension = 3, input_spatial_dimensions = [1, 2], kernel_input_feature_dimension = 2, kernel_output_feature_dimension = 3, kernel_spatial_dimensions = [0, 1], output_batch_dimension = 0, output_feature_dimension = 3, output_spatial_dimensions = [1, 2]>, feature_group_count = 1 : i64, batch_group_count = 1 : i64}> : (tensor<2x8x8x4xf32>, tensor<3x3x4x6xf32>) -> tensor<2x6x6x6xf32>
c12: input_spatial_dimensions has an entry for each spatial dimension.
  ~ input_spatial_dimensions = [1, 2] => input_spatial_dimensions = [1]
c13: The dimension numbers of the input name each of its dimensions once.
  ~ input_spatial_dimensions = [1, 2] => input_spatial_dimensions = [1, 1]
c17: kernel_spatial_dimensions has an entry for each spatial dimension.
  ~ kernel_spatial_dimensions = [0, 1] => kernel_spatial_dimensions = [0, 1, 2]
c18: The dimension numbers of the kernel name each of its dimensions once.
  ~ kernel_output_feature_dimension = 3 => kernel_output_feature_dimension = 2
c19: output_spatial_dimensions has an entry for each spatial dimension.
  ~ output_spatial_dimensions = [1, 2] => output_spatial_dimensions = []
c20: The dimension numbers of the result name each of its dimensions once.
  ~ output_feature_dimension = 3, output => output_feature_dimension = 2, output
c26: The result has the rank of the operands.
  ~ tensor<2x6x6x6xf32> => tensor<2x6x6xf32>

## dynamic_conv like convolution (%x: tensor<2x8x8x4xf32>, %w: tensor<3x3x4x6xf32>, %p: tensor<2x2xi32>)
%0 = "stablehlo.dynamic_conv"(%x, %w, %p) <{window_strides = array<i64: 1, 1>, lhs_dilation = array<i64: 1, 1>, rhs_dilation = array<i64: 1, 1>, window_reversal = array<i1: false, false>, dimension_numbers = #stablehlo.conv<raw input_batch_dimension = 0, input_feature_dimension = 3, input_spatial_dimensions = [1, 2], kernel_input_feature_dimension = 2, kernel_output_feature_dimension = 3, kernel_spatial_dimensions = [0, 1], output_batch_dimension = 0, output_feature_dimension = 3, output_spatial_dimensions = [1, 2]>, feature_group_count = 1 : i64, batch_group_count = 1 : i64}> : (tensor<2x8x8x4xf32>, tensor<3x3x4x6xf32>, tensor<2x2xi32>) -> tensor<2x?x?x6xf32>
c2: There is one stride for each spatial dimension.
  ~ window_strides = array<i64: 1, 1> => window_strides = array<i64: 1>
c3: Strides are positive.
  ~ window_strides = array<i64: 1, 1> => window_strides = array<i64: 1, 0>
c5: There is one dilation of the input for each spatial dimension.
  ~ lhs_dilation = array<i64: 1, 1> => lhs_dilation = array<i64: 1>
c6: Dilations of the input are positive.
  ~ lhs_dilation = array<i64: 1, 1> => lhs_dilation = array<i64: 1, 0>
c7: There is one dilation of the kernel for each spatial dimension.
  ~ rhs_dilation = array<i64: 1, 1> => rhs_dilation = array<i64: 1>
c8: Dilations of the kernel are positive.
  ~ rhs_dilation = array<i64: 1, 1> => rhs_dilation = array<i64: 1, 0>
c9: There is one flag of window_reversal for each spatial dimension.
  ~ array<i1: false, false> => array<i1: false>
c26: The result has the rank of the operands.
  ~ tensor<2x?x?x6xf32> => tensor<2x?x6xf32>
c4: There is one pair of paddings for each spatial dimension.
  ~ tensor<2x2xi32> => tensor<1x2xi32>
c25: The result has the sizes that the window leaves, with the input's batch and the kernel's output features.
  ~ tensor<2x?x?x6xf32> => tensor<3x?x?x6xf32>
i3: The padding is of an integer type.
  ~ tensor<2x2xi32> => tensor<2x2xf32>

## cholesky (%x: tensor<2x3x3xf32>)
%0 = stablehlo.cholesky %x, lower = true : tensor<2x3x3xf32>
c1: Operand and result have the same type.
  ~ lower = true : tensor<2x3x3xf32> => lower = true : (tensor<2x3x3xf32>) -> tensor<3x3x3xf32>
c2: The operand has at least two dimensions.
  ~ tensor<2x3x3xf32> => tensor<3xf32>
c3: The last two dimensions are equal: the matrices are square.
  ~ tensor<2x3x3xf32> => tensor<2x3x4xf32>
i1: The elements are of a float or complex type.
  ~ tensor<2x3x3xf32> => tensor<2x3x3xi32>

## triangular_solve (%a: tensor<3x3xf32>, %b: tensor<3x2xf32>)
%0 = "stablehlo.triangular_solve"(%a, %b) {left_side = true, lower = true, unit_diagonal = false, transpose_a = #stablehlo<transpose NO_TRANSPOSE>} : (tensor<3x3xf32>, tensor<3x2xf32>) -> tensor<3x2xf32>
c1: a and b have the same element type.
  ~ %a: tensor<3x3xf32> => %a: tensor<3x3xf64>
  ~ (tensor<3x3xf32> => (tensor<3x3xf64>
c2: a and b have the same rank, at least 2.
  ~ tensor<3x2xf32> => tensor<1x3x2xf32>
c3: The matrices of a are square, their size is that of b's rows (columns if left_side is false), and the leading dimensions are equal.
  ~ tensor<3x3xf32> => tensor<4x4xf32>
c4: The result has the type of b.
  ~ -> tensor<3x2xf32> => -> tensor<2x3xf32>
i1: a has elements of a float or complex type.
  ~ tensor<3x3xf32> => tensor<3x3xi32>
i2: b has elements of a float or complex type.
  ~ tensor<3x2xf32> => tensor<3x2xi32>
i6: transpose_a is NO_TRANSPOSE, TRANSPOSE or ADJOINT.
  ~ NO_TRANSPOSE => TRANSPOSE_INVALID

## fft (%x: tensor<4x8xf32>)
%0 = stablehlo.fft %x, type = RFFT, length = [8] : (tensor<4x8xf32>) -> tensor<4x5xcomplex<f32>>
c1: There are at most as many lengths as the operand has dimensions.
  ~ length = [8] => length = [4, 4, 8]
c2: FFT and IFFT take complex elements, RFFT takes real and IRFFT complex ones, and they return their counterparts.
  ~ type = RFFT => type = FFT
c3: There are one to three lengths.
  ~ length = [8] => length = []
c4: The last dimensions of the real operand are those that fft_length states.
  ~ length = [8] => length = [6]
c5: The result has the operand's sizes, but for the last dimension of RFFT (length / 2 + 1) and IRFFT.
  ~ tensor<4x5xcomplex<f32>> => tensor<4x8xcomplex<f32>>
i1: The elements of the operand are floats of 32 or 64 bits, or complex numbers of these.
  ~ tensor<4x8xf32> => tensor<4x8xf16>
i2: The last dimensions of the operand of FFT and IFFT are those that fft_length states.
  ~ type = RFFT => type = FFT
  ~ tensor<4x8xf32> => tensor<4x6xcomplex<f32>>
  ~ tensor<4x5xcomplex<f32>> => tensor<4x6xcomplex<f32>>
"""
