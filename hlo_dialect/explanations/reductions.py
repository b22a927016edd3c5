"""The constraints of reductions, windows, sorting and scans; see `table.py` for the notation."""

TABLE = r"""
## reduce (%x: tensor<2x3xf32>, %z: tensor<f32>)
%0 = "stablehlo.reduce"(%x, %z) ({
^bb0(%a: tensor<f32>, %b: tensor<f32>):
  %s = stablehlo.add %a, %b : tensor<f32>
  stablehlo.return %s : tensor<f32>
}) {dimensions = array<i64: 1>} : (tensor<2x3xf32>, tensor<f32>) -> tensor<2xf32>
c2: An input has the element type of its initial value.
  ~ tensor<2x3xf32> => tensor<2x3xf64>
c3: There are as many results as inputs and initial values.
  ~ %0 = => %0:2 =
  ~ -> tensor<2xf32> => -> (tensor<2xf32>, tensor<2xf32>)
c4: The dimensions to reduce are dimensions of the inputs.
  ~ array<i64: 1> => array<i64: 2>
c5: No dimension is reduced twice.
  ~ array<i64: 1> => array<i64: 1, 1>
c6: The body takes two arguments and returns one result of each accumulator's type: a scalar that the elements promote to.
  ~ return %s : tensor<f32> => return %s, %s : tensor<f32>, tensor<f32>
c7: The results have the inputs' sizes without those of the reduced dimensions.
  ~ -> tensor<2xf32> => -> tensor<3xf32>
c8: The results have the element types that the body returns.
  ~ -> tensor<2xf32> => -> tensor<2xf64>
i2: The initial values are scalars.
  ~ %z: tensor<f32> => %z: tensor<5xf32>
  ~ (tensor<2x3xf32>, tensor<f32>) => (tensor<2x3xf32>, tensor<5xf32>)

## reduce (%x: tensor<2x3xf32>, %y: tensor<2x3xi32>, %z: tensor<f32>, %w: tensor<i32>)
%0:2 = "stablehlo.reduce"(%x, %y, %z, %w) ({
^bb0(%a: tensor<f32>, %b: tensor<i32>, %c: tensor<f32>, %d: tensor<i32>):
  stablehlo.return %a, %b : tensor<f32>, tensor<i32>
}) {dimensions = array<i64: 1>} : (tensor<2x3xf32>, tensor<2x3xi32>, tensor<f32>, tensor<i32>) -> (tensor<2xf32>, tensor<2xi32>)
c1: The inputs have the same shape.
  ~ tensor<2x3xi32> => tensor<2x4xi32>

## reduce_window (%x: tensor<4x6xf32>, %z: tensor<f32>)
%0 = "stablehlo.reduce_window"(%x, %z) ({
^bb0(%a: tensor<f32>, %b: tensor<f32>):
  %s = stablehlo.maximum %a, %b : tensor<f32>
  stablehlo.return %s : tensor<f32>
}) {window_dimensions = array<i64: 2, 2>, window_strides = array<i64: 2, 2>, base_dilations = array<i64: 1, 1>, window_dilations = array<i64: 1, 1>, padding = dense<0> : tensor<2x2xi64>} : (tensor<4x6xf32>, tensor<f32>) -> tensor<2x3xf32>
c1: There are as many results as inputs and initial values.
  ~ %0 = => %0:2 =
  ~ -> tensor<2x3xf32> => -> (tensor<2x3xf32>, tensor<2x3xf32>)
c3: An input has the element type of its initial value.
  ~ tensor<4x6xf32> => tensor<4x6xf64>
c4: There is one size of the window for each dimension of the inputs.
  ~ window_dimensions = array<i64: 2, 2> => window_dimensions = array<i64: 2>
c5: The sizes of the window are positive.
  ~ window_dimensions = array<i64: 2, 2> => window_dimensions = array<i64: 2, 0>
c6: There is one stride for each dimension of the inputs.
  ~ window_strides = array<i64: 2, 2> => window_strides = array<i64: 2>
c7: Strides are positive.
  ~ window_strides = array<i64: 2, 2> => window_strides = array<i64: 2, 0>
c8: There is one dilation of the inputs for each dimension.
  ~ base_dilations = array<i64: 1, 1> => base_dilations = array<i64: 1>
c9: Dilations of the inputs are positive.
  ~ base_dilations = array<i64: 1, 1> => base_dilations = array<i64: 1, 0>
c10: There is one dilation of the window for each dimension.
  ~ window_dilations = array<i64: 1, 1> => window_dilations = array<i64: 1>
c11: Dilations of the window are positive.
  ~ window_dilations = array<i64: 1, 1> => window_dilations = array<i64: 1, 0>
c12: There is one pair of paddings for each dimension.
  ~ dense<0> : tensor<2x2xi64> => dense<0> : tensor<1x2xi64>
c13: The body takes two arguments and returns one result of each accumulator's type: a scalar that the elements promote to.
  ~ return %s : tensor<f32> => return %s, %s : tensor<f32>, tensor<f32>
c15: The results have the number of positions of the window in each dimension.
  ~ -> tensor<2x3xf32> => -> tensor<3x3xf32>
c16: The results have the element types that the body returns.
  ~ -> tensor<2x3xf32> => -> tensor<2x3xf64>
i2: The initial values are scalars.
  ~ %z: tensor<f32> => %z: tensor<5xf32>
  ~ (tensor<4x6xf32>, tensor<f32>) => (tensor<4x6xf32>, tensor<5xf32>)

## reduce_window (%x: tensor<4xf32>, %y: tensor<4xi32>, %z: tensor<f32>, %w: tensor<i32>)
%0:2 = "stablehlo.reduce_window"(%x, %y, %z, %w) ({
^bb0(%a: tensor<f32>, %b: tensor<i32>, %c: tensor<f32>, %d: tensor<i32>):
  stablehlo.return %a, %b : tensor<f32>, tensor<i32>
}) {window_dimensions = array<i64: 2>} : (tensor<4xf32>, tensor<4xi32>, tensor<f32>, tensor<i32>) -> (tensor<3xf32>, tensor<3xi32>)
c2: The inputs have the same shape.
  ~ tensor<4xi32> => tensor<5xi32>

## select_and_scatter (%x: tensor<4x6xf32>, %y: tensor<2x3xf32>, %z: tensor<f32>)
%0 = "stablehlo.select_and_scatter"(%x, %y, %z) ({
^bb0(%a: tensor<f32>, %b: tensor<f32>):
  %p = stablehlo.compare GE, %a, %b : (tensor<f32>, tensor<f32>) -> tensor<i1>
  stablehlo.return %p : tensor<i1>
}, {
^bb0(%c: tensor<f32>, %d: tensor<f32>):
  %s = stablehlo.add %c, %d : tensor<f32>
  stablehlo.return %s : tensor<f32>
}) {window_dimensions = array<i64: 2, 2>, window_strides = array<i64: 2, 2>, padding = dense<0> : tensor<2x2xi64>} : (tensor<4x6xf32>, tensor<2x3xf32>, tensor<f32>) -> tensor<4x6xf32>
c1: Operand and source have the same element type.
  ~ tensor<2x3xf32> => tensor<2x3xf64>
c2: The source has the number of positions of the window in each dimension.
  ~ tensor<2x3xf32> => tensor<3x3xf32>
c3: The initial value has the operand's element type.
  ~ %z: tensor<f32> => %z: tensor<f64>
  ~ tensor<2x3xf32>, tensor<f32>) => tensor<2x3xf32>, tensor<f64>)
c4: There is one size of the window for each dimension of the operand.
  ~ window_dimensions = array<i64: 2, 2> => window_dimensions = array<i64: 2>
c5: The sizes of the window are positive.
  ~ window_dimensions = array<i64: 2, 2> => window_dimensions = array<i64: 2, 0>
c6: There is one stride for each dimension of the operand.
  ~ window_strides = array<i64: 2, 2> => window_strides = array<i64: 2>
c7: Strides are positive.
  ~ window_strides = array<i64: 2, 2> => window_strides = array<i64: 2, 0>
c8: There is one pair of paddings for each dimension.
  ~ dense<0> : tensor<2x2xi64> => dense<0> : tensor<1x2xi64>
c9: select takes two scalars of the operand's element type and returns a boolean.
  ~ return %p : tensor<i1> => return %a : tensor<f32>
c10: scatter takes two scalars and returns one, of a type that the operand's elements promote to.
  ~ return %s : tensor<f32> => return %s, %s : tensor<f32>, tensor<f32>
c11: The result has the operand's shape.
  ~ -> tensor<4x6xf32> => -> tensor<6x4xf32>
c12: The result has the element type that scatter returns.
  ~ -> tensor<4x6xf32> => -> tensor<4x6xf64>
i3: The initial value is a scalar.
  ~ %z: tensor<f32> => %z: tensor<1xf32>
  ~ tensor<2x3xf32>, tensor<f32>) => tensor<2x3xf32>, tensor<1xf32>)

## sort (%x: tensor<2x3xf32>, %y: tensor<2x3xi32>)
%0:2 = "stablehlo.sort"(%x, %y) ({
^bb0(%a: tensor<f32>, %b: tensor<f32>, %c: tensor<i32>, %d: tensor<i32>):
  %p = stablehlo.compare LT, %a, %b : (tensor<f32>, tensor<f32>) -> tensor<i1>
  stablehlo.return %p : tensor<i1>
}) {dimension = 1 : i64, is_stable = true} : (tensor<2x3xf32>, tensor<2x3xi32>) -> (tensor<2x3xf32>, tensor<2x3xi32>)
c1: There is at least one input.
  ~ %0:2 = "stablehlo.sort"(%x, %y) => "stablehlo.sort"()
  ~ (tensor<2x3xf32>, tensor<2x3xi32>) -> (tensor<2x3xf32>, tensor<2x3xi32>) => () -> ()
c2: The results have the types of the inputs.
  ~ -> (tensor<2x3xf32>, => -> (tensor<3x2xf32>,
c3: The inputs have the same shape.
  ~ tensor<2x3xi32> => tensor<2x4xi32>
c4: dimension is one of the inputs'; a negative one counts from the last.
  ~ dimension = 1 => dimension = 2
c5: The comparator takes two scalars of each input and returns a boolean.
  ~ return %p : tensor<i1> => return %a : tensor<f32>

## map (%x: tensor<4xf32>, %y: tensor<4xf32>)
%0 = "stablehlo.map"(%x, %y) ({
^bb0(%a: tensor<f32>, %b: tensor<f32>):
  %s = stablehlo.add %a, %b : tensor<f32>
  stablehlo.return %s : tensor<f32>
}) {dimensions = array<i64: 0>} : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
c1: Inputs and result have the same shape.
  ~ -> tensor<4xf32> => -> tensor<5xf32>
c2: There is at least one input.
  ~ (%x, %y) => ()
  ~ (tensor<4xf32>, tensor<4xf32>) -> => () ->
c3: dimensions are all dimensions of the inputs, in order.
  ~ array<i64: 0> => array<i64: 1>
c4: The computation takes a scalar of each input and returns a scalar of the result's element type.
  ~ return %s : tensor<f32> => return %s, %s : tensor<f32>, tensor<f32>

## chlo.scan (%x: tensor<2x3xf32>, %c: tensor<3xf32>)
%0:2 = chlo.scan(%x) inits (%c) dimension=0 {
^bb0(%a: tensor<3xf32>, %b: tensor<3xf32>):
  %s = stablehlo.add %a, %b : tensor<3xf32>
  stablehlo.return %s, %s : tensor<3xf32>, tensor<3xf32>
} : (tensor<2x3xf32>, tensor<3xf32>) -> (tensor<2x3xf32>, tensor<3xf32>)
c1: dimension is one of every input's and output's.
  ~ dimension=0 => dimension=2
c2: The inputs have one size along the dimension, and scan_dim_size, where it is given, is that.
  ~ dimension=0 => dimension=0 attributes {scan_dim_size = 5 : i64}
c3: The body takes a slice of each input, then the carries.
  ~ %a: tensor<3xf32> => %a: tensor<2xf32>
  ~ %s = stablehlo.add %a, %b => %s = stablehlo.add %b, %b
c4: The body returns a slice of each output, then the carries.
  ~ return %s, %s : tensor<3xf32>, tensor<3xf32> => return :
  ~ return : => return
c5: The results have the slices that the body returns, stacked along the dimension, then the carries.
  ~ -> (tensor<2x3xf32>, => -> (tensor<2x4xf32>,

## chlo.top_k (%x: tensor<2x8xf32>)
%0:2 = chlo.top_k(%x, k = 3) : tensor<2x8xf32> -> (tensor<2x3xf32>, tensor<2x3xi32>)
c1: The operand has at least one dimension.
  ~ tensor<2x8xf32> => tensor<f32>
c2: k is not negative.
  ~ k = 3 => k = -1
c3: k is at most the size of the last dimension.
  ~ k = 3 => k = 9
c4: The results have k as their last size; the values have the operand's element type, the indices i32.
  ~ tensor<2x3xi32> => tensor<2x3xi64>
i1: The elements of the operand are booleans, integers or floats.
  ~ tensor<2x8xf32> => tensor<2x8xcomplex<f32>>
"""
