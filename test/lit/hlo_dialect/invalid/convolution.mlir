// RUN: hlo-opt %s --split-input-file --verify-diagnostics

func.func @ranks(%x: tensor<2x8x8x4xf32>, %w: tensor<3x4x6xf32>) {
  // expected-error@+1 {{convolution_c1: lhs has rank 4, rhs 3}}
  %0 = hlo.convolution(%x, %w) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], window = {} {feature_group_count = 1 : i64, batch_group_count = 1 : i64} : (tensor<2x8x8x4xf32>, tensor<3x4x6xf32>) -> tensor<2x6x6x6xf32>
  return
}

// -----

func.func @count_of_strides(%x: tensor<2x8x8x4xf32>, %w: tensor<3x3x4x6xf32>) {
  // expected-error@+1 {{convolution_c2: window_strides has 1 entries for 2 spatial dimensions}}
  %0 = hlo.convolution(%x, %w) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], window = {stride = [1]} {feature_group_count = 1 : i64, batch_group_count = 1 : i64} : (tensor<2x8x8x4xf32>, tensor<3x3x4x6xf32>) -> tensor<2x6x6x6xf32>
  return
}

// -----

func.func @negative_stride(%x: tensor<2x8x8x4xf32>, %w: tensor<3x3x4x6xf32>) {
  // expected-error@+1 {{convolution_c3: window_strides (1, -1) are not all positive}}
  %0 = hlo.convolution(%x, %w) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], window = {stride = [1, -1]} {feature_group_count = 1 : i64, batch_group_count = 1 : i64} : (tensor<2x8x8x4xf32>, tensor<3x3x4x6xf32>) -> tensor<2x6x6x6xf32>
  return
}

// -----

func.func @shape_of_padding(%x: tensor<2x8x8x4xf32>, %w: tensor<3x3x4x6xf32>) {
  // expected-error@+1 {{convolution_c4: padding has shape (1, 2), expected (2, 2)}}
  %0 = hlo.convolution(%x, %w) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], window = {pad = [[0, 0]]} {feature_group_count = 1 : i64, batch_group_count = 1 : i64} : (tensor<2x8x8x4xf32>, tensor<3x3x4x6xf32>) -> tensor<2x6x6x6xf32>
  return
}

// -----

func.func @count_of_lhs_dilation(%x: tensor<2x8x8x4xf32>, %w: tensor<3x3x4x6xf32>) {
  // expected-error@+1 {{convolution_c5: lhs_dilation has 3 entries for 2 spatial dimensions}}
  %0 = hlo.convolution(%x, %w) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], window = {lhs_dilate = [1, 1, 1]} {feature_group_count = 1 : i64, batch_group_count = 1 : i64} : (tensor<2x8x8x4xf32>, tensor<3x3x4x6xf32>) -> tensor<2x6x6x6xf32>
  return
}

// -----

func.func @lhs_dilation_of_zero(%x: tensor<2x8x8x4xf32>, %w: tensor<3x3x4x6xf32>) {
  // expected-error@+1 {{convolution_c6: lhs_dilation (0, 1) are not all positive}}
  %0 = hlo.convolution(%x, %w) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], window = {lhs_dilate = [0, 1]} {feature_group_count = 1 : i64, batch_group_count = 1 : i64} : (tensor<2x8x8x4xf32>, tensor<3x3x4x6xf32>) -> tensor<2x6x6x6xf32>
  return
}

// -----

func.func @count_of_rhs_dilation(%x: tensor<2x8x8x4xf32>, %w: tensor<3x3x4x6xf32>) {
  // expected-error@+1 {{convolution_c7: rhs_dilation has 0 entries for 2 spatial dimensions}}
  %0 = hlo.convolution(%x, %w) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], window = {rhs_dilate = []} {feature_group_count = 1 : i64, batch_group_count = 1 : i64} : (tensor<2x8x8x4xf32>, tensor<3x3x4x6xf32>) -> tensor<2x6x6x6xf32>
  return
}

// -----

func.func @rhs_dilation_of_zero(%x: tensor<2x8x8x4xf32>, %w: tensor<3x3x4x6xf32>) {
  // expected-error@+1 {{convolution_c8: rhs_dilation (0, 1) are not all positive}}
  %0 = hlo.convolution(%x, %w) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], window = {rhs_dilate = [0, 1]} {feature_group_count = 1 : i64, batch_group_count = 1 : i64} : (tensor<2x8x8x4xf32>, tensor<3x3x4x6xf32>) -> tensor<2x6x6x6xf32>
  return
}

// -----

func.func @count_of_reversals(%x: tensor<2x8x8x4xf32>, %w: tensor<3x3x4x6xf32>) {
  // expected-error@+1 {{convolution_c9: window_reversal has 1 entries for 2 spatial dimensions}}
  %0 = hlo.convolution(%x, %w) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], window = {reverse = [true]} {feature_group_count = 1 : i64, batch_group_count = 1 : i64} : (tensor<2x8x8x4xf32>, tensor<3x3x4x6xf32>) -> tensor<2x6x6x6xf32>
  return
}

// -----

func.func @batch_in_groups(%x: tensor<2x8x8x4xf32>, %w: tensor<3x3x4x6xf32>) {
  // expected-error@+1 {{convolution_c10: the batch of lhs (2) are not divisible by batch_group_count 3}}
  %0 = hlo.convolution(%x, %w) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], window = {} {feature_group_count = 1 : i64, batch_group_count = 3 : i64} : (tensor<2x8x8x4xf32>, tensor<3x3x4x6xf32>) -> tensor<2x6x6x6xf32>
  return
}

// -----

func.func @features_in_groups(%x: tensor<2x8x8x4xf32>, %w: tensor<3x3x4x6xf32>) {
  // expected-error@+1 {{convolution_c11: the features of lhs (4) are not divisible by feature_group_count 3}}
  %0 = hlo.convolution(%x, %w) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], window = {} {feature_group_count = 3 : i64, batch_group_count = 1 : i64} : (tensor<2x8x8x4xf32>, tensor<3x3x4x6xf32>) -> tensor<2x6x6x6xf32>
  return
}

// -----

func.func @input_spatial_dimensions(%x: tensor<2x8x8x4xf32>, %w: tensor<3x3x4x6xf32>) {
  // expected-error@+1 {{convolution_c12: input_spatial_dimensions has 1 entries for 2 spatial dimensions}}
  %0 = "hlo.convolution"(%x, %w) <{dimension_numbers = #hlo.conv<raw input_batch_dimension = 0, input_feature_dimension = 3, input_spatial_dimensions = [1], kernel_input_feature_dimension = 2, kernel_output_feature_dimension = 3, kernel_spatial_dimensions = [0, 1], output_batch_dimension = 0, output_feature_dimension = 3, output_spatial_dimensions = [1, 2]>, feature_group_count = 1 : i64, batch_group_count = 1 : i64}> : (tensor<2x8x8x4xf32>, tensor<3x3x4x6xf32>) -> tensor<2x6x6x6xf32>
  return
}

// -----

func.func @input_dimensions(%x: tensor<2x8x8x4xf32>, %w: tensor<3x3x4x6xf32>) {
  // expected-error@+1 {{convolution_c13: input dimensions (0, 1, 1, 3) are not unique and all in [0, 4)}}
  %0 = "hlo.convolution"(%x, %w) <{dimension_numbers = #hlo.conv<raw input_batch_dimension = 0, input_feature_dimension = 3, input_spatial_dimensions = [1, 1], kernel_input_feature_dimension = 2, kernel_output_feature_dimension = 3, kernel_spatial_dimensions = [0, 1], output_batch_dimension = 0, output_feature_dimension = 3, output_spatial_dimensions = [1, 2]>, feature_group_count = 1 : i64, batch_group_count = 1 : i64}> : (tensor<2x8x8x4xf32>, tensor<3x3x4x6xf32>) -> tensor<2x6x6x6xf32>
  return
}

// -----

func.func @input_dimensions_range(%x: tensor<2x8x8x4xf32>, %w: tensor<3x3x4x6xf32>) {
  // expected-error@+1 {{convolution_c13: input dimensions (0, 1, 4, 3) are not unique and all in [0, 4)}}
  %0 = "hlo.convolution"(%x, %w) <{dimension_numbers = #hlo.conv<raw input_batch_dimension = 0, input_feature_dimension = 3, input_spatial_dimensions = [1, 4], kernel_input_feature_dimension = 2, kernel_output_feature_dimension = 3, kernel_spatial_dimensions = [0, 1], output_batch_dimension = 0, output_feature_dimension = 3, output_spatial_dimensions = [1, 2]>, feature_group_count = 1 : i64, batch_group_count = 1 : i64}> : (tensor<2x8x8x4xf32>, tensor<3x3x4x6xf32>) -> tensor<2x6x6x6xf32>
  return
}

// -----

func.func @kernel_features(%x: tensor<2x8x8x4xf32>, %w: tensor<3x3x3x6xf32>) {
  // expected-error@+1 {{convolution_c14: rhs has 3 input features, expected 4}}
  %0 = hlo.convolution(%x, %w) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], window = {} {feature_group_count = 1 : i64, batch_group_count = 1 : i64} : (tensor<2x8x8x4xf32>, tensor<3x3x3x6xf32>) -> tensor<2x6x6x6xf32>
  return
}

// -----

func.func @kernel_features_in_batch_groups(%x: tensor<2x8x8x4xf32>, %w: tensor<3x3x4x5xf32>) {
  // expected-error@+1 {{convolution_c15: the output features of rhs (5) are not divisible by batch_group_count 2}}
  %0 = hlo.convolution(%x, %w) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], window = {} {feature_group_count = 1 : i64, batch_group_count = 2 : i64} : (tensor<2x8x8x4xf32>, tensor<3x3x4x5xf32>) -> tensor<2x6x6x6xf32>
  return
}

// -----

func.func @kernel_features_in_groups(%x: tensor<2x8x8x4xf32>, %w: tensor<3x3x2x5xf32>) {
  // expected-error@+1 {{convolution_c16: the output features of rhs (5) are not divisible by feature_group_count 2}}
  %0 = hlo.convolution(%x, %w) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], window = {} {feature_group_count = 2 : i64, batch_group_count = 1 : i64} : (tensor<2x8x8x4xf32>, tensor<3x3x2x5xf32>) -> tensor<2x6x6x6xf32>
  return
}

// -----

func.func @kernel_spatial_dimensions(%x: tensor<2x8x8x4xf32>, %w: tensor<3x3x4x6xf32>) {
  // expected-error@+1 {{convolution_c17: kernel_spatial_dimensions has 3 entries for 2 spatial dimensions}}
  %0 = "hlo.convolution"(%x, %w) <{dimension_numbers = #hlo.conv<raw input_batch_dimension = 0, input_feature_dimension = 3, input_spatial_dimensions = [1, 2], kernel_input_feature_dimension = 2, kernel_output_feature_dimension = 3, kernel_spatial_dimensions = [0, 1, 2], output_batch_dimension = 0, output_feature_dimension = 3, output_spatial_dimensions = [1, 2]>, feature_group_count = 1 : i64, batch_group_count = 1 : i64}> : (tensor<2x8x8x4xf32>, tensor<3x3x4x6xf32>) -> tensor<2x6x6x6xf32>
  return
}

// -----

func.func @kernel_dimensions(%x: tensor<2x8x8x4xf32>, %w: tensor<3x3x4x6xf32>) {
  // expected-error@+1 {{convolution_c18: kernel dimensions (2, 0, 1, -3) are not unique and all in [0, 4)}}
  %0 = "hlo.convolution"(%x, %w) <{dimension_numbers = #hlo.conv<raw input_batch_dimension = 0, input_feature_dimension = 3, input_spatial_dimensions = [1, 2], kernel_input_feature_dimension = 2, kernel_output_feature_dimension = -3, kernel_spatial_dimensions = [0, 1], output_batch_dimension = 0, output_feature_dimension = 3, output_spatial_dimensions = [1, 2]>, feature_group_count = 1 : i64, batch_group_count = 1 : i64}> : (tensor<2x8x8x4xf32>, tensor<3x3x4x6xf32>) -> tensor<2x6x6x6xf32>
  return
}

// -----

func.func @output_spatial_dimensions(%x: tensor<2x8x8x4xf32>, %w: tensor<3x3x4x6xf32>) {
  // expected-error@+1 {{convolution_c19: output_spatial_dimensions has 0 entries for 2 spatial dimensions}}
  %0 = "hlo.convolution"(%x, %w) <{dimension_numbers = #hlo.conv<raw input_batch_dimension = 0, input_feature_dimension = 3, input_spatial_dimensions = [1, 2], kernel_input_feature_dimension = 2, kernel_output_feature_dimension = 3, kernel_spatial_dimensions = [0, 1], output_batch_dimension = 0, output_feature_dimension = 3, output_spatial_dimensions = []>, feature_group_count = 1 : i64, batch_group_count = 1 : i64}> : (tensor<2x8x8x4xf32>, tensor<3x3x4x6xf32>) -> tensor<2x6x6x6xf32>
  return
}

// -----

func.func @output_dimensions(%x: tensor<2x8x8x4xf32>, %w: tensor<3x3x4x6xf32>) {
  // expected-error@+1 {{convolution_c20: output dimensions (0, 1, 2, 2) are not unique and all in [0, 4)}}
  %0 = "hlo.convolution"(%x, %w) <{dimension_numbers = #hlo.conv<raw input_batch_dimension = 0, input_feature_dimension = 3, input_spatial_dimensions = [1, 2], kernel_input_feature_dimension = 2, kernel_output_feature_dimension = 3, kernel_spatial_dimensions = [0, 1], output_batch_dimension = 0, output_feature_dimension = 2, output_spatial_dimensions = [1, 2]>, feature_group_count = 1 : i64, batch_group_count = 1 : i64}> : (tensor<2x8x8x4xf32>, tensor<3x3x4x6xf32>) -> tensor<2x6x6x6xf32>
  return
}

// -----

func.func @feature_group_count(%x: tensor<2x8x8x4xf32>, %w: tensor<3x3x4x6xf32>) {
  // expected-error@+1 {{convolution_c21: feature_group_count 0 is not positive}}
  %0 = hlo.convolution(%x, %w) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], window = {} {feature_group_count = 0 : i64, batch_group_count = 1 : i64} : (tensor<2x8x8x4xf32>, tensor<3x3x4x6xf32>) -> tensor<2x6x6x6xf32>
  return
}

// -----

func.func @batch_group_count(%x: tensor<2x8x8x4xf32>, %w: tensor<3x3x4x6xf32>) {
  // expected-error@+1 {{convolution_c22: batch_group_count -1 is not positive}}
  %0 = hlo.convolution(%x, %w) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], window = {} {feature_group_count = 1 : i64, batch_group_count = -1 : i64} : (tensor<2x8x8x4xf32>, tensor<3x3x4x6xf32>) -> tensor<2x6x6x6xf32>
  return
}

// -----

func.func @both_groups(%x: tensor<2x8x8x4xf32>, %w: tensor<3x3x4x6xf32>) {
  // expected-error@+1 {{convolution_c23: feature_group_count 2 and batch_group_count 2 are both greater than 1}}
  %0 = hlo.convolution(%x, %w) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], window = {} {feature_group_count = 2 : i64, batch_group_count = 2 : i64} : (tensor<2x8x8x4xf32>, tensor<3x3x4x6xf32>) -> tensor<2x6x6x6xf32>
  return
}

// -----

func.func @precision(%x: tensor<2x8x8x4xf32>, %w: tensor<3x3x4x6xf32>) {
  // expected-error@+1 {{convolution_c24: precision_config has 1 entries, expected 2}}
  %0 = hlo.convolution(%x, %w) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], window = {} {feature_group_count = 1 : i64, batch_group_count = 1 : i64, precision_config = [#hlo<precision HIGH>]} : (tensor<2x8x8x4xf32>, tensor<3x3x4x6xf32>) -> tensor<2x6x6x6xf32>
  return
}

// -----

func.func @shape(%x: tensor<2x8x8x4xf32>, %w: tensor<3x3x4x6xf32>) {
  // expected-error@+1 {{convolution_c25: result has type tensor<2x6x5x6xf32>, expected tensor<2x6x6x6xf32>}}
  %0 = hlo.convolution(%x, %w) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], window = {} {feature_group_count = 1 : i64, batch_group_count = 1 : i64} : (tensor<2x8x8x4xf32>, tensor<3x3x4x6xf32>) -> tensor<2x6x5x6xf32>
  return
}

// -----

func.func @rank_of_the_result(%x: tensor<2x8x8x4xf32>, %w: tensor<3x3x4x6xf32>) {
  // expected-error@+1 {{convolution_c26: result has rank 3, expected 4}}
  %0 = hlo.convolution(%x, %w) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], window = {} {feature_group_count = 1 : i64, batch_group_count = 1 : i64} : (tensor<2x8x8x4xf32>, tensor<3x3x4x6xf32>) -> tensor<2x6x6xf32>
  return
}

// -----

func.func @mixed_operands(%x: tensor<2x8x8x4xf32>, %w: tensor<3x3x4x6xf64>) {
  // expected-error@+1 {{convolution_c27: lhs and rhs have different element types f32 and f64}}
  %0 = hlo.convolution(%x, %w) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], window = {} {feature_group_count = 1 : i64, batch_group_count = 1 : i64} : (tensor<2x8x8x4xf32>, tensor<3x3x4x6xf64>) -> tensor<2x6x6x6xf32>
  return
}

// -----

func.func @label_twice(%x: tensor<2x8x8x4xf32>, %w: tensor<3x3x4x6xf32>) {
  // expected-error@+1 {{expected each of b, f and the numbers from 0 on once}}
  %0 = hlo.convolution(%x, %w) dim_numbers = [b, 0, 0, f]x[0, 1, i, o]->[b, 0, 1, f], window = {} {feature_group_count = 1 : i64, batch_group_count = 1 : i64} : (tensor<2x8x8x4xf32>, tensor<3x3x4x6xf32>) -> tensor<2x6x6x6xf32>
  return
}

// -----

func.func @label_missing(%x: tensor<2x8x8x4xf32>, %w: tensor<3x3x4x6xf32>) {
  // expected-error@+1 {{expected each of b, f and the numbers from 0 on once}}
  %0 = hlo.convolution(%x, %w) dim_numbers = [b, 0, 2, f]x[0, 1, i, o]->[b, 0, 1, f], window = {} {feature_group_count = 1 : i64, batch_group_count = 1 : i64} : (tensor<2x8x8x4xf32>, tensor<3x3x4x6xf32>) -> tensor<2x6x6x6xf32>
  return
}

// -----

func.func @window_twice(%x: tensor<2x8x8x4xf32>, %w: tensor<3x3x4x6xf32>) {
  // expected-error@+1 {{stride is given twice}}
  %0 = hlo.convolution(%x, %w) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], window = {stride = [1, 1], stride = [1, 1]} {feature_group_count = 1 : i64, batch_group_count = 1 : i64} : (tensor<2x8x8x4xf32>, tensor<3x3x4x6xf32>) -> tensor<2x6x6x6xf32>
  return
}

// -----

func.func @window_pairs(%x: tensor<2x8x8x4xf32>, %w: tensor<3x3x4x6xf32>) {
  // expected-error@+1 {{expected two numbers for each dimension}}
  %0 = hlo.convolution(%x, %w) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], window = {pad = [[1, 1], [1]]} {feature_group_count = 1 : i64, batch_group_count = 1 : i64} : (tensor<2x8x8x4xf32>, tensor<3x3x4x6xf32>) -> tensor<2x6x6x6xf32>
  return
}

// -----

func.func @dynamic_padding(%x: tensor<2x8x8x4xf32>, %w: tensor<3x3x4x6xf32>, %p: tensor<2x2xf32>) {
  // expected-error@+1 {{dynamic_conv_i3: padding has element type f32, expected integer}}
  %0 = "hlo.dynamic_conv"(%x, %w, %p) <{dimension_numbers = #hlo.conv<[b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f]>, feature_group_count = 1 : i64, batch_group_count = 1 : i64}> : (tensor<2x8x8x4xf32>, tensor<3x3x4x6xf32>, tensor<2x2xf32>) -> tensor<2x?x?x6xf32>
  return
}

// -----

func.func @dynamic_padding_shape(%x: tensor<2x8x8x4xf32>, %w: tensor<3x3x4x6xf32>, %p: tensor<2x3xi32>) {
  // expected-error@+1 {{dynamic_conv_c4: padding has shape (2, 3), expected (2, 2)}}
  %0 = "hlo.dynamic_conv"(%x, %w, %p) <{dimension_numbers = #hlo.conv<[b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f]>, feature_group_count = 1 : i64, batch_group_count = 1 : i64}> : (tensor<2x8x8x4xf32>, tensor<3x3x4x6xf32>, tensor<2x3xi32>) -> tensor<2x?x?x6xf32>
  return
}

// -----

func.func @dynamic_result(%x: tensor<2x8x8x4xf32>, %w: tensor<3x3x4x6xf32>, %p: tensor<2x2xi32>) {
  // expected-error@+1 {{dynamic_conv_c25: result has type tensor<2x?x?x7xf32>, expected tensor<2x?x?x6xf32>}}
  %0 = "hlo.dynamic_conv"(%x, %w, %p) <{dimension_numbers = #hlo.conv<[b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f]>, feature_group_count = 1 : i64, batch_group_count = 1 : i64}> : (tensor<2x8x8x4xf32>, tensor<3x3x4x6xf32>, tensor<2x2xi32>) -> tensor<2x?x?x7xf32>
  return
}

// -----

func.func @main(%x: tensor<1x8x1xf32>, %w: tensor<3x1x1xf32>) -> tensor<1x6x1xf32> {
  // expected-error@+1 {{expected an integer of 64 bits}}
  %0 = hlo.convolution(%x, %w) dim_numbers = [b, 0, f]x[0, i, o]->[b, 0, f], window = {pad = [[0, 9223372036854775808]]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<1x8x1xf32>, tensor<3x1x1xf32>) -> tensor<1x6x1xf32>
  return %0 : tensor<1x6x1xf32>
}
