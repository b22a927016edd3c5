// RUN: hlo-opt %s --split-input-file --verify-diagnostics

func.func @two_operations(%a: tensor<4x6xf32>, %d: tensor<?x6xf32>, %t: !stablehlo.token) {
  // expected-error@+1 {{async_start_body: body holds hlo.slice, hlo.slice, expected one collective or slice}}
  %0 = "stablehlo.async_start"(%a) ({
  ^bb0(%x: tensor<4x6xf32>):
    %s = stablehlo.slice %x [0:2, 0:2] : (tensor<4x6xf32>) -> tensor<2x2xf32>
    %u = stablehlo.slice %x [0:2, 0:2] : (tensor<4x6xf32>) -> tensor<2x2xf32>
    stablehlo.return %s : tensor<2x2xf32>
  }) : (tensor<4x6xf32>) -> !stablehlo.future<tensor<2x2xf32>>
  return
}

// -----

func.func @no_collective(%a: tensor<4x6xf32>, %d: tensor<?x6xf32>, %t: !stablehlo.token) {
  // expected-error@+1 {{async_start_body: body holds hlo.negate}}
  %0 = "stablehlo.async_start"(%a) ({
  ^bb0(%x: tensor<4x6xf32>):
    %s = stablehlo.negate %x : tensor<4x6xf32>
    stablehlo.return %s : tensor<4x6xf32>
  }) : (tensor<4x6xf32>) -> !stablehlo.future<tensor<4x6xf32>>
  return
}

// -----

func.func @operand_types(%a: tensor<4x6xf32>, %d: tensor<?x6xf32>, %t: !stablehlo.token) {
  // expected-error@+1 {{async_start_operands: body takes (tensor<4x7xf32>), given (tensor<?x6xf32>)}}
  %0 = "stablehlo.async_start"(%d) ({
  ^bb0(%x: tensor<4x7xf32>):
    %s = stablehlo.slice %x [0:2, 0:2] : (tensor<4x7xf32>) -> tensor<2x2xf32>
    stablehlo.return %s : tensor<2x2xf32>
  }) : (tensor<?x6xf32>) -> !stablehlo.future<tensor<2x2xf32>>
  return
}

// -----

func.func @two_results(%a: tensor<4x6xf32>, %d: tensor<?x6xf32>, %t: !stablehlo.token) {
  // expected-error@+1 {{async_start_body: body returns 2 values, expected one}}
  %0 = "stablehlo.async_start"(%a) ({
  ^bb0(%x: tensor<4x6xf32>):
    %s = stablehlo.slice %x [0:2, 0:2] : (tensor<4x6xf32>) -> tensor<2x2xf32>
    stablehlo.return %s, %s : tensor<2x2xf32>, tensor<2x2xf32>
  }) : (tensor<4x6xf32>) -> !stablehlo.future<tensor<2x2xf32>>
  return
}

// -----

func.func @result_type(%a: tensor<4x6xf32>, %d: tensor<?x6xf32>, %t: !stablehlo.token) {
  // expected-error@+1 {{async_start_result: result has type !hlo.future<tensor<2x3xf32>>, expected !hlo.future<tensor<2x2xf32>>}}
  %0 = "stablehlo.async_start"(%a) ({
  ^bb0(%x: tensor<4x6xf32>):
    %s = stablehlo.slice %x [0:2, 0:2] : (tensor<4x6xf32>) -> tensor<2x2xf32>
    stablehlo.return %s : tensor<2x2xf32>
  }) : (tensor<4x6xf32>) -> !stablehlo.future<tensor<2x3xf32>>
  return
}

// -----

func.func @done_of_a_tensor(%a: tensor<4x6xf32>, %d: tensor<?x6xf32>, %t: !stablehlo.token) {
  // expected-error@+1 {{async_done_operand: operand has type tensor<4x6xf32>, expected a future}}
  %0 = "stablehlo.async_done"(%a) : (tensor<4x6xf32>) -> tensor<4x6xf32>
  return
}

// -----

func.func @done_of_two(%f: !stablehlo.future<tensor<2xf32>, tensor<i32>>) {
  // expected-error@+1 {{async_done_operand: !hlo.future<tensor<2xf32>, tensor<i32>> holds 2 tensors, expected one}}
  %0:2 = "stablehlo.async_done"(%f) : (!stablehlo.future<tensor<2xf32>, tensor<i32>>) -> (tensor<2xf32>, tensor<i32>)
  return
}

// -----

func.func @done_type(%f: !stablehlo.future<tensor<2xf32>>) {
  // expected-error@+1 {{async_done_result: results have types (tensor<3xf32>), expected (tensor<2xf32>)}}
  %0 = "stablehlo.async_done"(%f) : (!stablehlo.future<tensor<2xf32>>) -> tensor<3xf32>
  return
}

// -----

// expected-error@+1 {{a future holds ranked tensors, not f32}}
func.func @future_of_a_scalar(%f: !stablehlo.future<f32>) {
  return
}
