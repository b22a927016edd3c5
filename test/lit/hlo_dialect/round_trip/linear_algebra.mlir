// RUN: hlo-opt %s --verify-roundtrip | filecheck %s
// RUN: hlo-opt %s --stablehlo | filecheck %s --check-prefix=STABLE

// CHECK-LABEL: func.func @main
func.func @main(%a: tensor<2x3x3xf32>, %b: tensor<2x3x4xf32>, %z: tensor<?x?xcomplex<f64>>) {
  // CHECK-NEXT: hlo.cholesky %a : tensor<2x3x3xf32>
  // STABLE: stablehlo.cholesky %a : tensor<2x3x3xf32>
  %0 = "stablehlo.cholesky"(%a) : (tensor<2x3x3xf32>) -> tensor<2x3x3xf32>
  // CHECK-NEXT: hlo.cholesky %a, lower = true : tensor<2x3x3xf32>
  // STABLE: stablehlo.cholesky %a, lower = true : tensor<2x3x3xf32>
  %1 = stablehlo.cholesky %a, lower = true : tensor<2x3x3xf32>
  // CHECK-NEXT: hlo.cholesky %z, lower = false : (tensor<?x?xcomplex<f64>>) -> tensor<4x?xcomplex<f64>>
  %2 = stablehlo.cholesky %z, lower = false : (tensor<?x?xcomplex<f64>>) -> tensor<4x?xcomplex<f64>>
  // CHECK-NEXT: "hlo.triangular_solve"(%a, %b) <{
  // CHECK-SAME: left_side = true
  // CHECK-SAME: transpose_a = #hlo<transpose ADJOINT>
  // STABLE: "stablehlo.triangular_solve"(%a, %b) <{
  // STABLE-SAME: transpose_a = #stablehlo<transpose ADJOINT>
  %3 = "stablehlo.triangular_solve"(%a, %b) {left_side = true, lower = true, unit_diagonal = false, transpose_a = #stablehlo<transpose ADJOINT>} : (tensor<2x3x3xf32>, tensor<2x3x4xf32>) -> tensor<2x3x4xf32>
  return
}
