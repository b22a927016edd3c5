// RUN: hlo-opt %s --flatten-tuples --split-input-file --verify-diagnostics | filecheck %s

// Tokens vanish: from the signature, from loops, and from the layouts and aliases of custom calls.
// CHECK-LABEL: func.func @main(%a: tensor<4xf32>, %n: tensor<i32>) -> (tensor<4xf32>)
func.func @main(%t: !stablehlo.token {jax.token = true}, %a: tensor<4xf32>, %n: tensor<i32>) -> (!stablehlo.token {jax.token = true}, tensor<4xf32>) {
  // CHECK-NOT: after_all
  %0 = stablehlo.after_all %t, %t : !stablehlo.token
  // CHECK: hlo.custom_call @callback(%a) {has_side_effect = true, operand_layouts = [dense<0> : tensor<1xindex>], output_operand_aliases = [#hlo.output_operand_alias<output_tuple_indices = [], operand_index = 0, operand_tuple_indices = []>], result_layouts = [dense<0> : tensor<1xindex>]} : (tensor<4xf32>) -> tensor<4xf32>
  %1:2 = stablehlo.custom_call @callback(%0, %a) {has_side_effect = true, operand_layouts = [dense<> : tensor<0xindex>, dense<0> : tensor<1xindex>], result_layouts = [dense<> : tensor<0xindex>, dense<0> : tensor<1xindex>], output_operand_aliases = [#stablehlo.output_operand_alias<output_tuple_indices = [1], operand_index = 1, operand_tuple_indices = []>]} : (!stablehlo.token, tensor<4xf32>) -> (!stablehlo.token, tensor<4xf32>)
  // CHECK: hlo.while(%i = %n, %v = %{{.*}}) : tensor<i32>, tensor<4xf32>
  %2:3 = stablehlo.while(%i = %n, %k = %1#0, %v = %1#1) : tensor<i32>, !stablehlo.token, tensor<4xf32>
  cond {
    %c = stablehlo.compare LT, %i, %n : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %c : tensor<i1>
  } do {
    // CHECK: hlo.custom_call @callback(%{{.*}}) {has_side_effect = true} : (tensor<4xf32>) -> ()
    %3 = stablehlo.custom_call @callback(%k, %v) {has_side_effect = true} : (!stablehlo.token, tensor<4xf32>) -> !stablehlo.token
    %4 = stablehlo.create_token : !stablehlo.token
    %5 = stablehlo.after_all %3, %4 : !stablehlo.token
    // CHECK: hlo.return %i, %v : tensor<i32>, tensor<4xf32>
    stablehlo.return %i, %5, %v : tensor<i32>, !stablehlo.token, tensor<4xf32>
  }
  // CHECK: func.return %{{.*}} : tensor<4xf32>
  return %2#1, %2#2 : !stablehlo.token, tensor<4xf32>
}

// -----

// A future becomes its values; the operation is executed where it starts.
// CHECK-LABEL: func.func @future
// CHECK-NEXT:    %[[S:.*]] = hlo.slice %a [0:2] : (tensor<4xf32>) -> tensor<2xf32>
// CHECK-NEXT:    hlo.negate
// CHECK-NEXT:    func.return %[[S]] : tensor<2xf32>
func.func @future(%a: tensor<4xf32>) -> tensor<2xf32> {
  %0 = "stablehlo.async_start"(%a) ({
  ^bb0(%x: tensor<4xf32>):
    %s = stablehlo.slice %x [0:2] : (tensor<4xf32>) -> tensor<2xf32>
    stablehlo.return %s : tensor<2xf32>
  }) : (tensor<4xf32>) -> !stablehlo.future<tensor<2xf32>>
  %1 = stablehlo.negate %a : tensor<4xf32>
  %2 = "stablehlo.async_done"(%0) : (!stablehlo.future<tensor<2xf32>>) -> tensor<2xf32>
  return %2 : tensor<2xf32>
}

// -----

func.func @infeed(%t: !stablehlo.token) -> tensor<4xf32> {
  // expected-error@+1 {{'hlo.infeed' op is not supported: it needs a host that feeds the data, and compiled programs have none}}
  %0:2 = "stablehlo.infeed"(%t) : (!stablehlo.token) -> (tensor<4xf32>, !stablehlo.token)
  return %0#0 : tensor<4xf32>
}

// -----

func.func @send(%t: !stablehlo.token, %a: tensor<4xf32>) -> !stablehlo.token {
  // expected-error@+1 {{'hlo.send' op is not supported: it needs a host that takes the data}}
  %0 = "stablehlo.send"(%a, %t) {channel_handle = #stablehlo.channel_handle<handle = 5, type = 2>, is_host_transfer = true} : (tensor<4xf32>, !stablehlo.token) -> !stablehlo.token
  return %0 : !stablehlo.token
}
