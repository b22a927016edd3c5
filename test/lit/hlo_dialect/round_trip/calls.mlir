// RUN: hlo-opt %s --verify-roundtrip | filecheck %s

// Every attribute of every API version is kept.
// CHECK-LABEL: func.func @calls
func.func @calls(%x: tensor<4x4xf32>) {
  // CHECK: hlo.custom_call @check.expect_eq(%[[X:.*]], %[[X]]) {has_side_effect = true} : (tensor<4x4xf32>, tensor<4x4xf32>) -> ()
  stablehlo.custom_call @check.expect_eq(%x, %x) {has_side_effect = true} : (tensor<4x4xf32>, tensor<4x4xf32>) -> ()
  // CHECK: hlo.custom_call @nothing() : () -> ()
  stablehlo.custom_call @nothing() : () -> ()
  // CHECK: hlo.custom_call @"two words"(%{{.*}}) {backend_config = "fast", mhlo.sharding = "{replicated}"} : (tensor<4x4xf32>) -> tensor<4x4xf32>
  %0 = stablehlo.custom_call @"two words"(%x) {backend_config = "fast", mhlo.sharding = "{replicated}"} : (tensor<4x4xf32>) -> tensor<4x4xf32>
  // CHECK: hlo.custom_call @ffi(%{{.*}}) {api_version = 4 : i32, backend_config = {uplo = 76 : ui8}, operand_layouts = [dense<[0, 1]> : tensor<2xindex>], output_operand_aliases = [#hlo.output_operand_alias<output_tuple_indices = [0], operand_index = 0, operand_tuple_indices = []>], result_layouts = [dense<[0, 1]> : tensor<2xindex>, dense<> : tensor<0xindex>]} : (tensor<4x4xf32>) -> (tensor<4x4xf32>, tensor<i32>)
  %1:2 = stablehlo.custom_call @ffi(%x) {api_version = 4 : i32, backend_config = {uplo = 76 : ui8}, operand_layouts = [dense<[0, 1]> : tensor<2xindex>], output_operand_aliases = [#stablehlo.output_operand_alias<output_tuple_indices = [0], operand_index = 0, operand_tuple_indices = []>], result_layouts = [dense<[0, 1]> : tensor<2xindex>, dense<> : tensor<0xindex>]} : (tensor<4x4xf32>) -> (tensor<4x4xf32>, tensor<i32>)
  return
}
