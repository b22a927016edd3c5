"""The constraints of control flow, tuples, calls, choices and complex numbers; see `table.py` for the notation."""

TABLE = r"""
## if (%p: tensor<i1>, %x: tensor<f32>)
%0 = "stablehlo.if"(%p) ({
  stablehlo.return %x : tensor<f32>
}, {
  %n = stablehlo.negate %x : tensor<f32>
  stablehlo.return %n : tensor<f32>
}) : (tensor<i1>) -> tensor<f32>
c1: The branches take no arguments.
  ~ (%p) ({ => (%p) ({^bb0(%q: tensor<f32>):
c2: Both branches return values of the same types.
  ~ %n = stablehlo.negate %x : tensor<f32> => %n = stablehlo.convert %x : (tensor<f32>) -> tensor<f64>
  ~ return %n : tensor<f32> => return %n : tensor<f64>
c3: The results have the types that the branches return.
  ~ (tensor<i1>) -> tensor<f32> => (tensor<i1>) -> tensor<f64>
i1: The predicate is a boolean scalar.
  ~ tensor<i1> => tensor<1xi1>

## case (%i: tensor<i32>, %x: tensor<f32>)
%0 = "stablehlo.case"(%i) ({
  stablehlo.return %x : tensor<f32>
}, {
  %n = stablehlo.negate %x : tensor<f32>
  stablehlo.return %n : tensor<f32>
}) : (tensor<i32>) -> tensor<f32>
c1: There is at least one branch.
  | "stablehlo.case"(%i) : (tensor<i32>) -> ()
c2: The branches take no arguments.
  ~ (%i) ({ => (%i) ({^bb0(%q: tensor<f32>):
c3: All branches return values of the same types.
  ~ %n = stablehlo.negate %x : tensor<f32> => %n = stablehlo.convert %x : (tensor<f32>) -> tensor<f64>
  ~ return %n : tensor<f32> => return %n : tensor<f64>
c4: The results have the types that the branches return.
  ~ (tensor<i32>) -> tensor<f32> => (tensor<i32>) -> tensor<f64>
i1: The index is a scalar of type i32.
  ~ tensor<i32> => tensor<i64>

## while (%n: tensor<i32>)
%0 = "stablehlo.while"(%n) ({
^bb0(%i: tensor<i32>):
  %z = stablehlo.constant dense<0> : tensor<i32>
  %p = stablehlo.compare GT, %i, %z : (tensor<i32>, tensor<i32>) -> tensor<i1>
  stablehlo.return %p : tensor<i1>
}, {
^bb0(%i: tensor<i32>):
  %one = stablehlo.constant dense<1> : tensor<i32>
  %less = stablehlo.subtract %i, %one : tensor<i32>
  stablehlo.return %less : tensor<i32>
}) : (tensor<i32>) -> tensor<i32>
c1: The condition takes the values of the loop and returns a boolean scalar.
  ~ return %p : tensor<i1> => return %i : tensor<i32>
c2: The body takes the values of the loop and returns them.
  ~ return %less : tensor<i32> => return
c3: The results have the types of the operands.
  ~ (tensor<i32>) -> tensor<i32> => (tensor<i32>) -> tensor<i64>

## tuple (%x: tensor<f32>, %y: tensor<2xi32>)
%0 = stablehlo.tuple %x, %y : tuple<tensor<f32>, tensor<2xi32>>
c1: The result is the tuple of the operands' types.
  ~ stablehlo.tuple %x, %y : tuple<tensor<f32>, tensor<2xi32>> => "stablehlo.tuple"(%x, %y) : (tensor<f32>, tensor<2xi32>) -> tuple<tensor<f32>>

## get_tuple_element (%t: tuple<tensor<f32>, tensor<2xi32>>)
%0 = stablehlo.get_tuple_element %t[1] : (tuple<tensor<f32>, tensor<2xi32>>) -> tensor<2xi32>
c1: The index is one of the tuple's.
  ~ [1] => [2]
c2: The result has the element's type.
  ~ -> tensor<2xi32> => -> tensor<f32>

## optimization_barrier (%x: tensor<f32>, %y: tensor<2xi32>)
%0:2 = stablehlo.optimization_barrier %x, %y : tensor<f32>, tensor<2xi32>
c1: The results have the types of the operands.
  ~ stablehlo.optimization_barrier %x, %y : tensor<f32>, tensor<2xi32> => "stablehlo.optimization_barrier"(%x, %y) : (tensor<f32>, tensor<2xi32>) -> (tensor<f32>, tensor<3xi32>)

## composite
func.func private @double(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = stablehlo.add %x, %x : tensor<4xf32>
  return %0 : tensor<4xf32>
}
func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = stablehlo.composite "my.double" %x {decomposition = @double, version = 1 : i32} : (tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}
c1: The name of a composite has a namespace: `my.double`.
  ~ "my.double" => "double"
c2: The decomposition is a function of the module.
  ~ @double, => @triple,
c3: The operands have the types of the decomposition's arguments.
  ~ @double(%x: tensor<4xf32>) -> tensor<4xf32> { => @double(%y: tensor<5xf32>, %x: tensor<4xf32>) -> tensor<4xf32> {
c4: The results have the types of the decomposition's results.
  | func.func private @double(%x: tensor<4xf32>) -> tensor<4xf32> {
  |   return %x : tensor<4xf32>
  | }
  | func.func @main(%x: tensor<4xf32>) -> tensor<5xf32> {
  |   %0 = stablehlo.composite "my.double" %x {decomposition = @double, version = 1 : i32} : (tensor<4xf32>) -> tensor<5xf32>
  |   return %0 : tensor<5xf32>
  | }

## clamp (%a: tensor<f32>, %x: tensor<4xf32>, %b: tensor<4xf32>)
%0 = stablehlo.clamp %a, %x, %b : (tensor<f32>, tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
c1: min is a scalar or has the operand's shape.
  ~ tensor<f32> => tensor<3xf32>
c2: max is a scalar or has the operand's shape.
  ~ %b: tensor<4xf32> => %b: tensor<3xf32>
  ~ tensor<4xf32>) -> => tensor<3xf32>) ->
c3: The operands have the same element type.
  ~ tensor<f32> => tensor<i32>
c4: The result has the operand's type.
  ~ -> tensor<4xf32> => -> tensor<4xf64>

## select (%p: tensor<4xi1>, %x: tensor<4xf32>, %y: tensor<4xf32>)
%0 = stablehlo.select %p, %x, %y : tensor<4xi1>, tensor<4xf32>
c1: The predicate is a scalar or has the shape of the others.
  ~ tensor<4xi1> => tensor<3xi1>
c2: on_true, on_false and the result have the same type.
  ~ %x, %y : tensor<4xi1>, tensor<4xf32> => %x, %y : (tensor<4xi1>, tensor<4xf32>, tensor<4xf32>) -> tensor<5xf32>
i1: The predicate is boolean.
  ~ tensor<4xi1> => tensor<4xi32>
i2: The elements are of a boolean, integer, float or complex type.
  ~ tensor<4xf32> => tensor<4xindex>

## compare (%x: tensor<4xf32>, %y: tensor<4xf32>)
%0 = stablehlo.compare LT, %x, %y : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xi1>
c1: The operands have the same element type.
  ~ %y: tensor<4xf32> => %y: tensor<4xi32>
  ~ tensor<4xf32>) -> => tensor<4xi32>) ->
c2: Operands and result have the same shape.
  ~ tensor<4xi1> => tensor<5xi1>
i1: The elements are of a boolean, integer, float or complex type.
  ~ tensor<4xf32> => tensor<4xindex>
o1: The result is boolean.
  ~ tensor<4xi1> => tensor<4xf32>

## complex (%x: tensor<4xf32>, %y: tensor<4xf32>)
%0 = stablehlo.complex %x, %y : tensor<4xcomplex<f32>>
c1: The operands have the same type.
  ~ %y: tensor<4xf32> => %y: tensor<4xf64>
  ~ : tensor<4xcomplex<f32>> => : (tensor<4xf32>, tensor<4xf64>) -> tensor<4xcomplex<f32>>
c2: The result has the operands' shape.
  ~ : tensor<4xcomplex<f32>> => : (tensor<4xf32>, tensor<4xf32>) -> tensor<5xcomplex<f32>>
c3: The result has complex numbers of the operands' element type.
  ~ : tensor<4xcomplex<f32>> => : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xcomplex<f64>>
i1: The operands have elements of type f32 or f64.
  ~ %x: tensor<4xf32>, %y: tensor<4xf32> => %x: tensor<4xf16>, %y: tensor<4xf16>
  ~ : tensor<4xcomplex<f32>> => : (tensor<4xf16>, tensor<4xf16>) -> tensor<4xcomplex<f32>>

## reduce_precision (%x: tensor<4xf32>)
%0 = stablehlo.reduce_precision %x, format = e5m10 : tensor<4xf32>
c1: Operand and result have the same type.
  ~ stablehlo.reduce_precision %x, format = e5m10 : tensor<4xf32> => "stablehlo.reduce_precision"(%x) {exponent_bits = 5 : i32, mantissa_bits = 10 : i32} : (tensor<4xf32>) -> tensor<5xf32>
c2: There is at least one bit of the exponent.
  ~ e5m10 => e0m10
c3: The number of bits of the mantissa is not negative.
  ~ stablehlo.reduce_precision %x, format = e5m10 : tensor<4xf32> => "stablehlo.reduce_precision"(%x) {exponent_bits = 5 : i32, mantissa_bits = -1 : i32} : (tensor<4xf32>) -> tensor<4xf32>
i1: The operand has elements of a float type.
  ~ tensor<4xf32> => tensor<4xi32>

## chlo.constant_like (%x: tensor<2x3xf32>)
%0 = "chlo.constant_like"(%x) {value = 1.0 : f32} : (tensor<2x3xf32>) -> tensor<2x3xf32>
c1: The value has the result's element type.
  ~ 1.0 : f32 => 1 : i32
c2: The result has the operand's shape.
  ~ -> tensor<2x3xf32> => -> tensor<2xf32>

## chlo.constant ()
%0 = "chlo.constant"() {value = dense<1.0> : tensor<2xf32>} : () -> tensor<2xf32>

## chlo.broadcast_select (%p: tensor<3xi1>, %x: tensor<2x3xf32>, %y: tensor<f32>)
%0 = chlo.broadcast_select %p, %x, %y : (tensor<3xi1>, tensor<2x3xf32>, tensor<f32>) -> tensor<2x3xf32>
c1: on_true and on_false have the same element type.
  ~ tensor<f32> => tensor<i32>
c2: The sizes of a dimension are equal, or 1 where they are not.
  ~ tensor<3xi1> => tensor<2xi1>
c5: The result has the shape to which the operands broadcast.
  ~ -> tensor<2x3xf32> => -> tensor<3x3xf32>
i1: The predicate is boolean.
  ~ tensor<3xi1> => tensor<3xi32>

## chlo.broadcast_compare (%x: tensor<3xf32>, %y: tensor<2x3xf32>)
%0 = chlo.broadcast_compare %x, %y {broadcast_dimensions = array<i64: 1>, comparison_direction = #chlo<comparison_direction LT>} : (tensor<3xf32>, tensor<2x3xf32>) -> tensor<2x3xi1>
c1: The operands have the same element type.
  ~ tensor<3xf32> => tensor<3xi32>
c2: The sizes of a dimension are equal, or one of them is 1.
  ~ tensor<3xf32> => tensor<2xf32>
c3: There is one entry of broadcast_dimensions for each dimension of the operand of lower rank.
  ~ array<i64: 1> => array<i64: 0, 1>
c4: The entries of broadcast_dimensions are dimensions of the other operand, in rising order.
  ~ array<i64: 1> => array<i64: 2>
c5: The result has the shape that both broadcast to.
  ~ tensor<2x3xi1> => tensor<3x3xi1>
i1: The elements are of a boolean, integer, float or complex type.
  ~ tensor<3xf32> => tensor<3xsi32>
  ~ tensor<2x3xf32> => tensor<2x3xsi32>

## chlo.broadcast_complex (%x: tensor<3xf32>, %y: tensor<2x3xf32>)
%0 = chlo.broadcast_complex %x, %y {broadcast_dimensions = array<i64: 1>} : (tensor<3xf32>, tensor<2x3xf32>) -> tensor<2x3xcomplex<f32>>
c1: The operands have the same element type.
  ~ tensor<3xf32> => tensor<3xf64>
c2: The sizes of a dimension are equal, or one of them is 1.
  ~ tensor<3xf32> => tensor<2xf32>
c3: There is one entry of broadcast_dimensions for each dimension of the operand of lower rank.
  ~ array<i64: 1> => array<i64: 0, 1>
c4: The entries of broadcast_dimensions are dimensions of the other operand, in rising order.
  ~ array<i64: 1> => array<i64: 2>
c5: The result has the shape that both broadcast to, and complex numbers of the operands' element type.
  ~ complex<f32> => complex<f64>
i1: The operands have elements of type f32 or f64.
  ~ tensor<3xf32> => tensor<3xf16>
  ~ tensor<2x3xf32> => tensor<2x3xf16>

## chlo.ragged_dot (%l: tensor<11x5xf32>, %r: tensor<3x5x7xf32>, %g: tensor<3xi64>)
%0 = "chlo.ragged_dot"(%l, %r, %g) {precision_config = [], ragged_dot_dimension_numbers = #chlo.ragged_dot<lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [1], lhs_ragged_dimensions = [0], rhs_group_dimensions = [0]>} : (tensor<11x5xf32>, tensor<3x5x7xf32>, tensor<3xi64>) -> tensor<11x7xf32>
c1: There is one ragged dimension, of lhs.
  ~ lhs_ragged_dimensions = [0] => lhs_ragged_dimensions = [2]
c2: rhs has one group dimension if the ragged one is neither batching nor contracting, else none.
  ~ rhs_group_dimensions = [0] => rhs_group_dimensions = []
c3: The group dimension is one of rhs, and neither batching nor contracting.
  ~ rhs_group_dimensions = [0] => rhs_group_dimensions = [1]
c4: There is one size for each group.
  ~ tensor<3xi64> => tensor<4xi64>
c5: precision_config has no entries, or one for each operand.
  ~ precision_config = [] => precision_config = [#chlo<precision DEFAULT>]
c6: The result has the dimensions of lhs and rhs that are left.
  ~ tensor<11x7xf32> => tensor<11x8xf32>
i3: The sizes of the groups are integers.
  ~ tensor<3xi64> => tensor<3xf32>
"""
