// RUN: hlo-opt %s --split-input-file --verify-diagnostics

sdy.mesh @mesh = <["x"=2, "y"=4]>
func.func @main(%a: tensor<8x6xf32>) {
  // expected-error@+1 {{sharding_constraint_sharding: the operand has 2 dimensions, its sharding 1}}
  %0 = sdy.sharding_constraint %a <@mesh, [{"x"}]> : tensor<8x6xf32>
  return
}

// -----

sdy.mesh @mesh = <["x"=2, "y"=4]>
func.func @main(%a: tensor<8x6xf32>) {
  // expected-error@+1 {{the mesh has no axis "z", which the sharding of the operand names}}
  %0 = sdy.reshard %a <@mesh, [{"z"}, {}]> : tensor<8x6xf32>
  return
}

// -----

sdy.mesh @mesh = <["x"=2, "y"=4]>
func.func @main(%a: tensor<8x6xf32>) {
  // expected-error@+1 {{sub-axes of axis "x" overlap}}
  %0 = sdy.sharding_constraint %a <@mesh, [{"x"}, {"x"}]> : tensor<8x6xf32>
  return
}

// -----

sdy.mesh @mesh = <["x"=2, "y"=4]>
func.func @main(%a: tensor<8x6xf32>) {
  // expected-error@+1 {{sub-axis (3)2 does not divide axis "y" of size 4}}
  %0 = sdy.sharding_constraint %a <@mesh, [{"y":(3)2}, {}]> : tensor<8x6xf32>
  return
}

// -----

sdy.mesh @mesh = <["x"=2, "y"=4]>
func.func @main(%a: tensor<8x6xf32>) {
  // expected-error@+1 {{the mesh @other is not defined}}
  %0 = sdy.sharding_constraint %a <@other, [{}, {}]> : tensor<8x6xf32>
  return
}

// -----

sdy.mesh @mesh = <["x"=2, "y"=4]>
func.func @main(%a: tensor<8x6xf32>) {
  // expected-error@+1 {{sub-axes of axis "x" overlap}}
  %0 = sdy.sharding_constraint %a <@mesh, [{"x"}, {}], replicated={"x"}> : tensor<8x6xf32>
  return
}

// -----

sdy.mesh @mesh = <["x"=2, "y"=4]>
func.func @main(%a: tensor<8x6xf32>) {
  // expected-error@+1 {{sharding_constraint_result: result has type tensor<8x7xf32>, expected tensor<8x6xf32>}}
  %0 = "sdy.sharding_constraint"(%a) <{sharding = #sdy.sharding<@mesh, [{}, {}]>}> : (tensor<8x6xf32>) -> tensor<8x7xf32>
  return
}

// -----

sdy.mesh @mesh = <["x"=2, "y"=4]>
func.func @main(%a: tensor<8x6xf32>) {
  // expected-error@+1 {{expected `}` after `?`}}
  %0 = sdy.sharding_constraint %a <@mesh, [{?, "x"}, {}]> : tensor<8x6xf32>
  return
}

// -----

sdy.mesh @mesh = <["x"=2, "y"=4]>
func.func @main(%a: tensor<8x6xf32>) {
  // expected-error@+1 {{expected a priority, p0, p1, ..}}
  %0 = sdy.sharding_constraint %a <@mesh, [{"x"}q, {}]> : tensor<8x6xf32>
  return
}

// -----

sdy.mesh @mesh = <["x"=2, "y"=4]>
func.func @main(%a: tensor<8x6xf32>) {
  // expected-error@+1 {{expected 'replicated' or 'unreduced'}}
  %0 = sdy.sharding_constraint %a <@mesh, [{"x"}, {}], split={}> : tensor<8x6xf32>
  return
}

// -----

sdy.mesh @mesh = <["x"=2, "y"=4]>
func.func @main(%a: tensor<8x6xf32>) {
  // expected-error@+1 {{sharding_group_id: group_id -1 is negative}}
  sdy.sharding_group %a group_id=-1 : tensor<8x6xf32>
  return
}

// -----

sdy.mesh @mesh = <["x"=2, "y"=4]>
func.func @main(%a: tensor<8x6xf32>) {
  // expected-error@+1 {{propagation_barrier_direction: allowed_direction is 4, expected 0 to 3}}
  %0 = "sdy.propagation_barrier"(%a) <{allowed_direction = 4 : i32}> : (tensor<8x6xf32>) -> tensor<8x6xf32>
  return
}

// -----

sdy.mesh @mesh = <["x"=2, "y"=4]>
func.func @main(%a: tensor<8x6xf32>) {
  // expected-error@+1 {{manual_computation_parts: the body's part of operand 0 has type tensor<8x6xf32>, expected tensor<4x6xf32>}}
  %0 = sdy.manual_computation(%a) in_shardings=[<@mesh, [{"x"}, {}]>] out_shardings=[<@mesh, [{"x"}, {}]>] manual_axes={"x"} (%p: tensor<8x6xf32>) {
    sdy.return %p : tensor<8x6xf32>
  } : (tensor<8x6xf32>) -> tensor<8x6xf32>
  return
}

// -----

sdy.mesh @mesh = <["x"=2, "y"=4]>
func.func @main(%a: tensor<8x6xf32>) {
  // expected-error@+1 {{manual_computation_parts: the body's part of result 0 has type tensor<4x6xf32>, expected tensor<8x6xf32>}}
  %0 = sdy.manual_computation(%a) in_shardings=[<@mesh, [{"x"}, {}]>] out_shardings=[<@mesh, [{}, {}]>] manual_axes={"x"} (%p: tensor<4x6xf32>) {
    sdy.return %p : tensor<4x6xf32>
  } : (tensor<8x6xf32>) -> tensor<8x6xf32>
  return
}

// -----

sdy.mesh @mesh = <["x"=2, "y"=4]>
func.func @main(%a: tensor<8x6xf32>) {
  // expected-error@+1 {{manual_computation_operands: there are 1 operands, 0 shardings for them and 1 values of the body}}
  %0 = sdy.manual_computation(%a) in_shardings=[] out_shardings=[<@mesh, [{}, {}]>] manual_axes={"x"} (%p: tensor<4x6xf32>) {
    sdy.return %p : tensor<4x6xf32>
  } : (tensor<8x6xf32>) -> tensor<8x6xf32>
  return
}

// -----

sdy.mesh @mesh = <["x"=2, "y"=4]>
func.func @main(%a: tensor<8x6xf32>) {
  // expected-error@+1 {{manual_computation_sharding: dimension 1 of operand 0 does not divide into 4 parts}}
  %0 = sdy.manual_computation(%a) in_shardings=[<@mesh, [{}, {"y"}]>] out_shardings=[<@mesh, [{}, {"y"}]>] manual_axes={"y"} (%p: tensor<8x1xf32>) {
    sdy.return %p : tensor<8x1xf32>
  } : (tensor<8x6xf32>) -> tensor<8x6xf32>
  return
}

// -----

sdy.mesh @mesh = <["x"=2, "y"=4]>
func.func @main(%a: tensor<8x6xf32>) {
  // expected-error@+1 {{manual_computation_sharding: a manual axis follows one that is not in dimension 0 of operand 0}}
  %0 = sdy.manual_computation(%a) in_shardings=[<@mesh, [{"y", "x"}, {}]>] out_shardings=[<@mesh, [{"x"}, {}]>] manual_axes={"x"} (%p: tensor<4x6xf32>) {
    sdy.return %p : tensor<4x6xf32>
  } : (tensor<8x6xf32>) -> tensor<8x6xf32>
  return
}

// -----

sdy.mesh @mesh = <["x"=2, "y"=4]>
func.func @main(%a: tensor<8x6xf32>) {
  // expected-error@+1 {{manual_computation_sharding: the mesh of operand 0 has no axis "z", which is manual}}
  %0 = sdy.manual_computation(%a) in_shardings=[<@mesh, [{}, {}]>] out_shardings=[<@mesh, [{}, {}]>] manual_axes={"z"} (%p: tensor<8x6xf32>) {
    sdy.return %p : tensor<8x6xf32>
  } : (tensor<8x6xf32>) -> tensor<8x6xf32>
  return
}

// -----

sdy.mesh @mesh = <["x"=2, "y"=4]>
func.func @main(%a: tensor<8x6xf32>) {
  // expected-error@+1 {{manual axes x, x name one twice}}
  %0 = sdy.manual_computation(%a) in_shardings=[<@mesh, [{"x"}, {}]>] out_shardings=[<@mesh, [{"x"}, {}]>] manual_axes={"x", "x"} (%p: tensor<4x6xf32>) {
    sdy.return %p : tensor<4x6xf32>
  } : (tensor<8x6xf32>) -> tensor<8x6xf32>
  return
}

// -----

// expected-error@+1 {{'sdy.mesh' op mesh: an axis stands twice}}
sdy.mesh @mesh = <["x"=2, "x"=2]>

// -----

// expected-error@+1 {{'sdy.mesh' op mesh: device_ids names a device twice}}
sdy.mesh @mesh = <["x"=2, "y"=2], device_ids=[0, 1, 1, 3]>
