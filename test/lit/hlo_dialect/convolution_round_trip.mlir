// RUN: hlo-opt %s | filecheck %s
// RUN: hlo-opt %s | hlo-opt | filecheck %s
// RUN: hlo-opt %s --stablehlo | hlo-opt | filecheck %s
// RUN: hlo-opt %s --print-generic | hlo-opt | filecheck %s

func.func @main(%x: tensor<2x8x8x4xf32>, %w: tensor<3x3x4x6xf32>, %u: tensor<?x?x8x4xf32>, %p: tensor<2x2xi64>, %m: tensor<2x4xf32>, %k: tensor<4x6xf32>, %b: tensor<2x8x8x4xi8>, %c: tensor<3x3x2x6xi8>) {
  // CHECK: %{{.*}} = hlo.convolution(%x, %w) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], window = {stride = [1, 2], pad = [[1, 1], [-1, 2]], lhs_dilate = [1, 1], rhs_dilate = [1, 2], reverse = [false, true]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64, precision_config = [#hlo<precision DEFAULT>, #hlo<precision HIGH>]} : (tensor<2x8x8x4xf32>, tensor<3x3x4x6xf32>) -> tensor<2x8x3x6xf32>
  %0 = stablehlo.convolution(%x, %w) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], window = {stride = [1, 2], pad = [[1, 1], [-1, 2]], lhs_dilate = [1, 1], rhs_dilate = [1, 2], reverse = [false, true]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64, precision_config = [#stablehlo<precision DEFAULT>, #stablehlo<precision HIGH>]} : (tensor<2x8x8x4xf32>, tensor<3x3x4x6xf32>) -> tensor<2x8x3x6xf32>
  // CHECK: hlo.convolution(%x, %w) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], window = {} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<2x8x8x4xf32>, tensor<3x3x4x6xf32>) -> tensor<2x6x6x6xf32>
  %1 = "stablehlo.convolution"(%x, %w) <{dimension_numbers = #stablehlo.conv<raw input_batch_dimension = 0, input_feature_dimension = 3, input_spatial_dimensions = [1, 2], kernel_input_feature_dimension = 2, kernel_output_feature_dimension = 3, kernel_spatial_dimensions = [0, 1], output_batch_dimension = 0, output_feature_dimension = 3, output_spatial_dimensions = [1, 2]>, feature_group_count = 1 : i64, batch_group_count = 1 : i64}> : (tensor<2x8x8x4xf32>, tensor<3x3x4x6xf32>) -> tensor<2x6x6x6xf32>
  // CHECK: dim_numbers = [b, 0, f, 1]x[o, 0, i, 1]->[1, f, b, 0], window = {pad = {{\[\[}}1, 1], [1, 1]{{\]}}}
  %2 = "stablehlo.convolution"(%x, %x) <{dimension_numbers = #stablehlo.conv<[b, 0, f, 1]x[o, 0, i, 1]->[1, f, b, 0]>, padding = dense<1> : tensor<2x2xi64>, feature_group_count = 1 : i64, batch_group_count = 1 : i64}> : (tensor<2x8x8x4xf32>, tensor<2x8x8x4xf32>) -> tensor<3x2x2x3xf32>
  // CHECK: hlo.convolution(%u, %w) {{.*}} : (tensor<?x?x8x4xf32>, tensor<3x3x4x6xf32>) -> tensor<?x?x6x6xf32>
  %3 = stablehlo.convolution(%u, %w) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], window = {} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<?x?x8x4xf32>, tensor<3x3x4x6xf32>) -> tensor<?x?x6x6xf32>
  // CHECK: hlo.convolution(%m, %k) dim_numbers = [b, f]x[i, o]->[b, f], window = {pad = []}
  %4 = stablehlo.convolution(%m, %k) dim_numbers = [b, f]x[i, o]->[b, f], window = {pad = []} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<2x4xf32>, tensor<4x6xf32>) -> tensor<2x6xf32>
  // CHECK: {batch_group_count = 1 : i64, feature_group_count = 2 : i64} : (tensor<2x8x8x4xi8>, tensor<3x3x2x6xi8>) -> tensor<2x6x6x6xi32>
  %5 = stablehlo.convolution(%b, %c) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], window = {reverse = [0, 1]} {batch_group_count = 1 : i64, feature_group_count = 2 : i64} : (tensor<2x8x8x4xi8>, tensor<3x3x2x6xi8>) -> tensor<2x6x6x6xi32>
  // CHECK: "hlo.dynamic_conv"(%x, %w, %p) <{batch_group_count = 1 : i64, dimension_numbers = #hlo.conv<[b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f]>, feature_group_count = 1 : i64, window_strides = array<i64: 1, 2>}> : (tensor<2x8x8x4xf32>, tensor<3x3x4x6xf32>, tensor<2x2xi64>) -> tensor<2x?x?x6xf32>
  %6 = "stablehlo.dynamic_conv"(%x, %w, %p) <{batch_group_count = 1 : i64, dimension_numbers = #stablehlo.conv<[b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f]>, feature_group_count = 1 : i64, window_strides = array<i64: 1, 2>}> : (tensor<2x8x8x4xf32>, tensor<3x3x4x6xf32>, tensor<2x2xi64>) -> tensor<2x?x?x6xf32>
  return
}
