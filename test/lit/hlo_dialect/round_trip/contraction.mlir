// RUN: hlo-opt %s --verify-roundtrip | filecheck %s

// CHECK-LABEL: func.func @dots
func.func @dots(%x: tensor<3x4x5x6xf32>, %y: tensor<6x3x7x5xf32>, %a: tensor<2x3xbf16>, %b: tensor<3x4xbf16>) {
  // CHECK: hlo.dot_general %{{.*}}, %{{.*}}, batching_dims = [0] x [1], contracting_dims = [3, 2] x [0, 3], precision = [DEFAULT, HIGHEST] : (tensor<3x4x5x6xf32>, tensor<6x3x7x5xf32>) -> tensor<3x4x7xf32>
  %0 = stablehlo.dot_general %x, %y, batching_dims = [0] x [1], contracting_dims = [3, 2] x [0, 3], precision = [DEFAULT, HIGHEST] : (tensor<3x4x5x6xf32>, tensor<6x3x7x5xf32>) -> tensor<3x4x7xf32>
  // CHECK: hlo.dot_general %{{.*}}, %{{.*}}, contracting_dims = [1] x [0] : (tensor<2x3xbf16>, tensor<3x4xbf16>) -> tensor<2x4xf32>
  %1 = hlo.dot_general %a, %b, contracting_dims = [1] x [0] : (tensor<2x3xbf16>, tensor<3x4xbf16>) -> tensor<2x4xf32>
  // CHECK: hlo.dot_general %{{.*}}, %{{.*}}, contracting_dims = [] x [] : (tensor<2x3xbf16>, tensor<3x4xbf16>) -> tensor<2x3x3x4xbf16>
  %2 = hlo.dot_general %a, %b, contracting_dims = [] x [] : (tensor<2x3xbf16>, tensor<3x4xbf16>) -> tensor<2x3x3x4xbf16>
  // CHECK: precision = [DEFAULT, DEFAULT], algorithm = <lhs_precision_type = bf16, rhs_precision_type = bf16, accumulation_type = f32, lhs_component_count = 1, rhs_component_count = 1, num_primitive_operations = 1, allow_imprecise_accumulation = false> :
  %3 = hlo.dot_general %a, %b, contracting_dims = [1] x [0], precision = [DEFAULT, DEFAULT], algorithm = <lhs_precision_type = bf16, rhs_precision_type = bf16, accumulation_type = f32, lhs_component_count = 1, rhs_component_count = 1, num_primitive_operations = 1, allow_imprecise_accumulation = false> : (tensor<2x3xbf16>, tensor<3x4xbf16>) -> tensor<2x4xf32>
  // CHECK: hlo.dot_general %{{.*}}, %{{.*}}, contracting_dims = [1] x [0], precision = [HIGH, HIGH] :
  %4 = "stablehlo.dot_general"(%a, %b) {dot_dimension_numbers = #stablehlo.dot<lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [0]>, precision_config = [#stablehlo<precision HIGH>, #stablehlo<precision HIGH>]} : (tensor<2x3xbf16>, tensor<3x4xbf16>) -> tensor<2x4xbf16>
  return
}
