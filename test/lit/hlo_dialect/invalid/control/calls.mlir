// RUN: hlo-opt %s --split-input-file --verify-diagnostics

func.func @dictionary_for_an_old_version(%x: tensor<4xf32>) {
  // expected-error@+1 {{custom_call_i4: backend_config is not a string, which api_version 1 takes}}
  %0 = hlo.custom_call @f(%x) {backend_config = {a = 1 : i32}} : (tensor<4xf32>) -> tensor<4xf32>
  return
}

// -----

func.func @unknown_version(%x: tensor<4xf32>) {
  // expected-error@+1 {{custom_call_i5: api_version 7 : i32 is not one of 0, 1, 2, 3, 4}}
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

// -----

func.func @string_for_the_typed_version(%x: tensor<4xf32>) {
  // expected-error@+1 {{custom_call_i4: backend_config is not a dictionary, which api_version 4 takes}}
  %0 = hlo.custom_call @f(%x) {api_version = 4 : i32, backend_config = "a"} : (tensor<4xf32>) -> tensor<4xf32>
  return
}

// -----

func.func @layout_that_is_no_permutation(%x: tensor<4x2xf32>) {
  // expected-error@+1 {{custom_call_layouts: operand layout dense<0> : tensor<2xindex> is no permutation of the 2 dimensions of tensor<4x2xf32>}}
  %0 = hlo.custom_call @f(%x) {operand_layouts = [dense<[0, 0]> : tensor<2xindex>], result_layouts = [dense<> : tensor<0xindex>]} : (tensor<4x2xf32>) -> tensor<f32>
  return
}

// -----

func.func @a_layout_too_many(%x: tensor<4xf32>) {
  // expected-error@+1 {{custom_call_layouts: there are 2 operand_layouts for 1 operands}}
  %0 = hlo.custom_call @f(%x) {operand_layouts = [dense<0> : tensor<1xindex>, dense<0> : tensor<1xindex>], result_layouts = [dense<> : tensor<0xindex>]} : (tensor<4xf32>) -> tensor<f32>
  return
}

// -----

func.func @alias_of_no_result(%x: tensor<4xf32>) {
  // expected-error@+1 {{custom_call_output_operand_aliases: output_tuple_indices: there is no 0 in tensor<4xf32>}}
  %0 = hlo.custom_call @f(%x) {output_operand_aliases = [#hlo.output_operand_alias<output_tuple_indices = [0], operand_index = 0, operand_tuple_indices = []>]} : (tensor<4xf32>) -> tensor<4xf32>
  return
}

// -----

func.func @alias_of_another_type(%x: tensor<4xf32>) {
  // expected-error@+1 {{custom_call_output_operand_aliases: the operand's part has type tensor<4xf32>, the output's tensor<2xf32>}}
  %0 = hlo.custom_call @f(%x) {output_operand_aliases = [#hlo.output_operand_alias<output_tuple_indices = [], operand_index = 0, operand_tuple_indices = []>]} : (tensor<4xf32>) -> tensor<2xf32>
  return
}

// -----

func.func @no_target(%x: tensor<4xf32>) {
  // expected-error@+1 {{custom_call_i2: call_target_name is empty}}
  %0 = "hlo.custom_call"(%x) {call_target_name = ""} : (tensor<4xf32>) -> tensor<4xf32>
  return
}

// -----

func.func private @f(%x: tensor<f32>) -> tensor<f32>

func.func @composite_without_namespace(%x: tensor<f32>) {
  // expected-error@+1 {{composite_c1: name 'relu' has no namespace before its own name}}
  %0 = hlo.composite "relu" %x {decomposition = @f} : (tensor<f32>) -> tensor<f32>
  return
}

// -----

func.func @composite_of_nothing(%x: tensor<f32>) {
  // expected-error@+1 {{composite_c2: calls '@f', which is not defined}}
  %0 = hlo.composite "my.relu" %x {decomposition = @f} : (tensor<f32>) -> tensor<f32>
  return
}

// -----

// expected-note@+2 {{'@f' is defined here}}
// expected-note@+1 {{'@f' is defined here}}
func.func private @f(%x: tensor<f32>) -> tensor<f32>

func.func @composite_operands(%x: tensor<2xf32>, %y: tensor<f32>) {
  // expected-error@+1 {{composite_c3: operand #0 has type tensor<2xf32>, but '@f' has tensor<f32>}}
  %0 = hlo.composite "my.relu" %x {decomposition = @f} : (tensor<2xf32>) -> tensor<f32>
  // expected-error@+1 {{composite_c3: has 2 operands, but '@f' has 1}}
  %1 = hlo.composite "my.relu" %y, %y {decomposition = @f} : (tensor<f32>, tensor<f32>) -> tensor<f32>
  return
}

// -----

// expected-note@+1 {{'@f' is defined here}}
func.func private @f(%x: tensor<f32>) -> tensor<f32>

func.func @composite_results(%x: tensor<f32>) {
  // expected-error@+1 {{composite_c4: result #0 has type tensor<i32>, but '@f' has tensor<f32>}}
  %0 = hlo.composite "my.relu" %x {decomposition = @f} : (tensor<f32>) -> tensor<i32>
  return
}

// -----

func.func private @f(%x: tensor<f32>) -> tensor<f32>

func.func @composite_attributes(%x: tensor<f32>) {
  // expected-error@+1 {{composite_i3: composite_attributes is not a dictionary}}
  %0 = hlo.composite "my.relu" %x {decomposition = @f, composite_attributes = 1 : i32} : (tensor<f32>) -> tensor<f32>
  // expected-error@+1 {{composite_i5: version has type i64, expected i32}}
  %1 = hlo.composite "my.relu" %x {decomposition = @f, version = 1 : i64} : (tensor<f32>) -> tensor<f32>
  return
}

// -----

func.func private @f(%x: tensor<f32>) -> tensor<f32> {
  // expected-error@+1 {{recursive call: @f -> @f}}
  %0 = hlo.composite "my.relu" %x {decomposition = @f} : (tensor<f32>) -> tensor<f32>
  return %0 : tensor<f32>
}

// -----

func.func @effect_that_is_a_number(%x: tensor<4xf32>) {
  // expected-error@+1 {{custom_call_i3: has_side_effect is 1 : i32, expected true or false}}
  %0 = hlo.custom_call @f(%x) {has_side_effect = 1 : i32} : (tensor<4xf32>) -> tensor<4xf32>
  // expected-error@+1 {{custom_call_i5: api_version "x" is not one of 0, 1, 2, 3, 4}}
  %1 = hlo.custom_call @f(%x) {api_version = "x"} : (tensor<4xf32>) -> tensor<4xf32>
  // expected-error@+1 {{custom_call_i6: called_computations is [1 : i32], expected names of functions}}
  %2 = hlo.custom_call @f(%x) {called_computations = [1 : i32]} : (tensor<4xf32>) -> tensor<4xf32>
  return
}

// -----

"builtin.module"() ({
  // expected-error@+1 {{property 'function_type' expected}}
  "func.func"() <{sym_name = "without_type"}> ({
  ^bb0(%x: tensor<4xf32>):
    // expected-error@+1 {{'function_type'}}
    "func.return"(%x) : (tensor<4xf32>) -> ()
  }) : () -> ()
  "func.func"() <{sym_name = "main", function_type = (tensor<4xf32>) -> tensor<4xf32>}> ({
  ^bb0(%x: tensor<4xf32>):
    %0 = "func.call"(%x) <{callee = @without_type}> : (tensor<4xf32>) -> tensor<4xf32>
    "func.return"(%0) : (tensor<4xf32>) -> ()
  }) : () -> ()
}) : () -> ()
