"""The constraints of operations that the specification does not have; see `table.py` for the notation."""

TABLE = r"""
## async_start (%x: tensor<4x6xf32>)
%0 = "stablehlo.async_start"(%x) ({
^bb0(%a: tensor<4x6xf32>):
  %s = stablehlo.slice %a [0:2, 0:2] : (tensor<4x6xf32>) -> tensor<2x2xf32>
  stablehlo.return %s : tensor<2x2xf32>
}) : (tensor<4x6xf32>) -> !stablehlo.future<tensor<2x2xf32>>
body: The body holds one collective or slice, and returns its result.
  | %0 = "stablehlo.async_start"(%x) ({
  | ^bb0(%a: tensor<4x6xf32>):
  |   %s = stablehlo.negate %a : tensor<4x6xf32>
  |   stablehlo.return %s : tensor<4x6xf32>
  | }) : (tensor<4x6xf32>) -> !stablehlo.future<tensor<4x6xf32>>
operands: The body takes the operands.
  ~ %a: tensor<4x6xf32> => %a: tensor<4x7xf32>
  ~ %a [0:2, 0:2] : (tensor<4x6xf32>) => %a [0:2, 0:2] : (tensor<4x7xf32>)
result: The result is a future of what the body returns.
  ~ future<tensor<2x2xf32>> => future<tensor<2x3xf32>>

## async_done (%f: !stablehlo.future<tensor<2xf32>>)
%0 = "stablehlo.async_done"(%f) : (!stablehlo.future<tensor<2xf32>>) -> tensor<2xf32>
operand: The operand is a future of one tensor.
  ~ !stablehlo.future<tensor<2xf32>> => tensor<2xf32>
result: The result has the type of the future's tensor.
  ~ -> tensor<2xf32> => -> tensor<3xf32>

## return
func.func @main(%p: tensor<i1>, %x: tensor<f32>) -> tensor<f32> {
  %0 = "stablehlo.if"(%p) ({
    stablehlo.return %x : tensor<f32>
  }, {
    stablehlo.return %x : tensor<f32>
  }) : (tensor<i1>) -> tensor<f32>
  stablehlo.return %0 : tensor<f32>
}

## dot (%a: tensor<3x4xf32>, %b: tensor<4x5xf32>)
%0 = stablehlo.dot %a, %b, precision = [DEFAULT, DEFAULT] : (tensor<3x4xf32>, tensor<4x5xf32>) -> tensor<3x5xf32>
ranks: The operands are vectors or matrices.
  ~ tensor<3x4xf32> => tensor<2x3x4xf32>
sizes: The last dimension of lhs has the size of the first one of rhs.
  ~ tensor<4x5xf32> => tensor<3x5xf32>
types: The operands have the same element type; the result's may be wider, of the same kind.
  ~ tensor<4x5xf32> => tensor<4x5xi32>
precision: precision_config has no entries, or one for each operand.
  ~ [DEFAULT, DEFAULT] => [HIGH]
result: The result has the dimensions that are left, those of lhs first.
  ~ -> tensor<3x5xf32> => -> tensor<5x3xf32>

## sdy.sharding_constraint
sdy.mesh @mesh = <["x"=2, "y"=4]>
func.func @main(%x: tensor<8x6xf32>) {
  %0 = "sdy.sharding_constraint"(%x) <{sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}> : (tensor<8x6xf32>) -> tensor<8x6xf32>
  return
}
sharding: The sharding has an entry for each dimension of the operand.
  ~ [{"x"}, {}] => [{"x"}]
result: The result has the operand's type.
  ~ -> tensor<8x6xf32> => -> tensor<8x7xf32>

## sdy.sharding_group (%x: tensor<8x6xf32>)
sdy.sharding_group %x group_id=1 : tensor<8x6xf32>
id: The number of a group is not negative.
  ~ group_id=1 => group_id=-1

## sdy.propagation_barrier (%x: tensor<8x6xf32>)
%0 = "sdy.propagation_barrier"(%x) <{allowed_direction = 3 : i32}> : (tensor<8x6xf32>) -> tensor<8x6xf32>
direction: The direction is one of NONE, FORWARD, BACKWARD and BOTH, 0 to 3.
  ~ allowed_direction = 3 => allowed_direction = 4

## sdy.manual_computation
sdy.mesh @mesh = <["x"=2, "y"=4]>
func.func @main(%x: tensor<8x6xf32>) {
  %0 = sdy.manual_computation(%x) in_shardings=[<@mesh, [{"x"}, {}]>] out_shardings=[<@mesh, [{"x"}, {}]>] manual_axes={"x"} (%p: tensor<4x6xf32>) {
    sdy.return %p : tensor<4x6xf32>
  } : (tensor<8x6xf32>) -> tensor<8x6xf32>
  return
}
operands: There is a sharding, and an argument of the body, for each operand.
  ~ in_shardings=[<@mesh, [{"x"}, {}]>] => in_shardings=[]
parts: The body takes and returns the parts that one device holds.
  ~ %p: tensor<4x6xf32> => %p: tensor<8x6xf32>
  ~ %p : tensor<4x6xf32> => %p : tensor<8x6xf32>
sharding: A manual axis is one of the mesh, and divides its dimension.
  ~ manual_axes={"x"} => manual_axes={"z"}
"""
