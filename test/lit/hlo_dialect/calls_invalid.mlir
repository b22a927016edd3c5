// RUN: hlo-opt %s --split-input-file --verify-diagnostics

func.func @dictionary_for_an_old_version(%x: tensor<4xf32>) {
  // expected-error@+1 {{custom_call_backend_config: api_version 1 takes a string}}
  %0 = hlo.custom_call @f(%x) {backend_config = {a = 1 : i32}} : (tensor<4xf32>) -> tensor<4xf32>
  return
}

// -----

func.func @unknown_version(%x: tensor<4xf32>) {
  // expected-error@+1 {{custom_call_api_version: 7 is not one of 0, 1, 2, 3, 4}}
  %0 = hlo.custom_call @f(%x) {api_version = 7 : i32} : (tensor<4xf32>) -> tensor<4xf32>
  return
}

// -----

func.func @layouts_of_one_side(%x: tensor<4xf32>) {
  // expected-error@+1 {{custom_call_layouts: operand_layouts and result_layouts are given both or neither}}
  %0 = hlo.custom_call @f(%x) {operand_layouts = [dense<0> : tensor<1xindex>]} : (tensor<4xf32>) -> tensor<4xf32>
  return
}

// -----

func.func @alias_of_no_operand(%x: tensor<4xf32>) {
  // expected-error@+1 {{custom_call_output_operand_aliases: operand_index 1 is not in [0, 1)}}
  %0 = hlo.custom_call @f(%x) {output_operand_aliases = [#hlo.output_operand_alias<output_tuple_indices = [], operand_index = 1, operand_tuple_indices = []>]} : (tensor<4xf32>) -> tensor<4xf32>
  return
}
