// RUN: hlo-opt %s --verify-roundtrip | filecheck %s

func.func @main(%a: tensor<3x4xf32>, %b: tensor<4x5xbf16>, %v: tensor<4xf32>, %u: tensor<?x4xf32>) {
  // CHECK: hlo.dot %a, %b, precision = [DEFAULT, HIGH] : (tensor<3x4xf32>, tensor<4x5xbf16>) -> tensor<3x5xf32>
  %0 = stablehlo.dot %a, %b, precision = [DEFAULT, HIGH] : (tensor<3x4xf32>, tensor<4x5xbf16>) -> tensor<3x5xf32>
  // CHECK: hlo.dot %u, %v {tag} : (tensor<?x4xf32>, tensor<4xf32>) -> tensor<?xf32>
  %1 = "stablehlo.dot"(%u, %v) {tag} : (tensor<?x4xf32>, tensor<4xf32>) -> tensor<?xf32>
  // CHECK: hlo.einsum %a, %b, config = "ij,jk->ik" : (tensor<3x4xf32>, tensor<4x5xbf16>) -> tensor<3x5xf32>
  %2 = "stablehlo.einsum"(%a, %b) <{einsum_config = "ij,jk->ik"}> : (tensor<3x4xf32>, tensor<4x5xbf16>) -> tensor<3x5xf32>
  // CHECK: hlo.unary_einsum %a, config = "ij->j" : (tensor<3x4xf32>) -> tensor<4xf32>
  %3 = stablehlo.unary_einsum %a, config = "ij->j" : (tensor<3x4xf32>) -> tensor<4xf32>
  // CHECK: hlo.dot_general %a, %b, contracting_dims = [1] x [0], precision = [DEFAULT, DEFAULT], algorithm = <lhs_precision_type = tf32, rhs_precision_type = tf32, accumulation_type = f32, lhs_component_count = 1, rhs_component_count = 1, num_primitive_operations = 1, allow_imprecise_accumulation = false> : (tensor<3x4xf32>, tensor<4x5xbf16>) -> tensor<3x5xf32>
  %4 = stablehlo.dot_general %a, %b, contracting_dims = [1] x [0], precision = [DEFAULT, DEFAULT], algorithm = <lhs_precision_type = tf32, rhs_precision_type = tf32, accumulation_type = f32, lhs_component_count = 1, rhs_component_count = 1, num_primitive_operations = 1, allow_imprecise_accumulation = false> : (tensor<3x4xf32>, tensor<4x5xbf16>) -> tensor<3x5xf32>
  return
}
