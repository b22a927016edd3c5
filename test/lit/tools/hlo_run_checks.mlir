// A failing check of the program: its location, the difference, exit status 1.
// RUN: not hlo-run %s --target=reference 2>&1 | filecheck %s

// CHECK: hlo_run_checks.mlir:8:{{[0-9]+}}: error:
func.func @main() {
  %a = stablehlo.constant dense<[1, 2]> : tensor<2xi32>
  %b = stablehlo.constant dense<[1, 3]> : tensor<2xi32>
  stablehlo.custom_call @check.expect_eq(%a, %b) {has_side_effect = true} : (tensor<2xi32>, tensor<2xi32>) -> ()
  return
}
