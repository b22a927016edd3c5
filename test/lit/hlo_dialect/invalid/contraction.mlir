// RUN: hlo-opt %s --split-input-file --verify-diagnostics

func.func @depths_differ(%x: tensor<2x3xf32>, %y: tensor<4x5xf32>) {
  // expected-error@+1 {{dot_general_c10: contracting dimension 1 of lhs has size 3, dimension 0 of rhs 4}}
  %0 = hlo.dot_general %x, %y, contracting_dims = [1] x [0] : (tensor<2x3xf32>, tensor<4x5xf32>) -> tensor<2x5xf32>
  return
}

// -----

func.func @batched_and_contracted(%x: tensor<3xf32>, %y: tensor<3xf32>) {
  // expected-error@+1 {{dot_general_c3: batching and contracting dimensions (0, 0) of lhs are not unique}}
  %0 = hlo.dot_general %x, %y, batching_dims = [0] x [0], contracting_dims = [0] x [0] : (tensor<3xf32>, tensor<3xf32>) -> tensor<3xf32>
  return
}

// -----

func.func @wrong_result(%x: tensor<2x3xf32>, %y: tensor<3x5xf32>) {
  // expected-error@+1 {{dot_general_c12: result has type tensor<5x2xf32>, expected tensor<2x5xf32>}}
  %0 = hlo.dot_general %x, %y, contracting_dims = [1] x [0] : (tensor<2x3xf32>, tensor<3x5xf32>) -> tensor<5x2xf32>
  return
}

// -----

func.func @mixed_operands(%x: tensor<3xf32>, %y: tensor<3xi32>) {
  // expected-error@+1 {{dot_general_c13: lhs and rhs have different element types f32 and i32}}
  %0 = hlo.dot_general %x, %y, contracting_dims = [0] x [0] : (tensor<3xf32>, tensor<3xi32>) -> tensor<f32>
  return
}

// -----

func.func @batching_of_lhs(%x: tensor<2x3xf32>, %y: tensor<2x3xf32>) {
  // expected-error@+1 {{dot_general_c5: lhs_batching_dimensions (2,) are not all in [0, 2)}}
  %0 = hlo.dot_general %x, %y, batching_dims = [2] x [0], contracting_dims = [1] x [1] : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2xf32>
  return
}

// -----

func.func @batching_of_rhs(%x: tensor<2x3xf32>, %y: tensor<2x3xf32>) {
  // expected-error@+1 {{dot_general_c7: rhs_batching_dimensions (-1,) are not all in [0, 2)}}
  %0 = hlo.dot_general %x, %y, batching_dims = [0] x [-1], contracting_dims = [1] x [1] : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2xf32>
  return
}

// -----

func.func @precision_beside_an_algorithm(%x: tensor<2xf32>, %y: tensor<2xf32>) {
  // expected-error@+1 {{dot_general_c21: an algorithm is given, so precision_config must be DEFAULT}}
  %0 = hlo.dot_general %x, %y, contracting_dims = [0] x [0], precision = [HIGH, DEFAULT], algorithm = <lhs_precision_type = f32, rhs_precision_type = f32, accumulation_type = f32, lhs_component_count = 1, rhs_component_count = 1, num_primitive_operations = 1, allow_imprecise_accumulation = false> : (tensor<2xf32>, tensor<2xf32>) -> tensor<f32>
  return
}

// -----

func.func @components_of_lhs(%x: tensor<2xf32>, %y: tensor<2xf32>) {
  // expected-error@+1 {{dot_general_c22: lhs_component_count 0 is not positive}}
  %0 = hlo.dot_general %x, %y, contracting_dims = [0] x [0], algorithm = <lhs_precision_type = f32, rhs_precision_type = f32, accumulation_type = f32, lhs_component_count = 0, rhs_component_count = 1, num_primitive_operations = 1, allow_imprecise_accumulation = false> : (tensor<2xf32>, tensor<2xf32>) -> tensor<f32>
  return
}

// -----

func.func @components_of_rhs(%x: tensor<2xf32>, %y: tensor<2xf32>) {
  // expected-error@+1 {{dot_general_c23: rhs_component_count -1 is not positive}}
  %0 = hlo.dot_general %x, %y, contracting_dims = [0] x [0], algorithm = <lhs_precision_type = f32, rhs_precision_type = f32, accumulation_type = f32, lhs_component_count = 1, rhs_component_count = -1, num_primitive_operations = 1, allow_imprecise_accumulation = false> : (tensor<2xf32>, tensor<2xf32>) -> tensor<f32>
  return
}

// -----

func.func @primitive_operations(%x: tensor<2xf32>, %y: tensor<2xf32>) {
  // expected-error@+1 {{dot_general_c24: num_primitive_operations 0 is not positive}}
  %0 = hlo.dot_general %x, %y, contracting_dims = [0] x [0], algorithm = <lhs_precision_type = f32, rhs_precision_type = f32, accumulation_type = f32, lhs_component_count = 1, rhs_component_count = 1, num_primitive_operations = 0, allow_imprecise_accumulation = false> : (tensor<2xf32>, tensor<2xf32>) -> tensor<f32>
  return
}

// -----

func.func @unknown_algorithm(%x: tensor<2xf32>, %y: tensor<2xf32>) {
  // expected-error@+1 {{dot_general_i8: no machine is known to multiply 3 x f32 by 1 x f32 in 1 operations and to add in f32}}
  %0 = hlo.dot_general %x, %y, contracting_dims = [0] x [0], algorithm = <lhs_precision_type = f32, rhs_precision_type = f32, accumulation_type = f32, lhs_component_count = 3, rhs_component_count = 1, num_primitive_operations = 1, allow_imprecise_accumulation = false> : (tensor<2xf32>, tensor<2xf32>) -> tensor<f32>
  return
}

// -----

func.func @imprecise_algorithm(%x: tensor<2xf32>, %y: tensor<2xf32>) {
  %0 = hlo.dot_general %x, %y, contracting_dims = [0] x [0], algorithm = <lhs_precision_type = f8E5M2, rhs_precision_type = f8E4M3FN, accumulation_type = f32, lhs_component_count = 1, rhs_component_count = 1, num_primitive_operations = 1, allow_imprecise_accumulation = true> : (tensor<2xf32>, tensor<2xf32>) -> tensor<f32>
  // expected-error@+1 {{dot_general_i8: no machine is known to multiply 1 x bf16 by 1 x bf16 in 3 operations imprecisely and to add in f32}}
  %1 = hlo.dot_general %x, %y, contracting_dims = [0] x [0], algorithm = <lhs_precision_type = bf16, rhs_precision_type = bf16, accumulation_type = f32, lhs_component_count = 1, rhs_component_count = 1, num_primitive_operations = 3, allow_imprecise_accumulation = true> : (tensor<2xf32>, tensor<2xf32>) -> tensor<f32>
  return
}
