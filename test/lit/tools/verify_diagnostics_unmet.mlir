// A diagnostic that nobody expected, and an expected one that never came, both fail.
// RUN: not hlo-opt %s --split-input-file --verify-diagnostics >/dev/null 2>%t.err
// RUN: filecheck %s --input-file %t.err
// RUN: not hlo-opt %s --split-input-file --verify-diagnostics=only-expected >/dev/null 2>%t.only
// RUN: filecheck %s --check-prefix=ONLY --input-file %t.only

// CHECK: verify_diagnostics_unmet.mlir:10:{{[0-9]+}}: error: unexpected error: 'func.return' op
// ONLY-NOT: unexpected error
func.func @unexpected(%x: tensor<2xf32>) -> tensor<3xf32> {
  return %x : tensor<2xf32>
}

// -----

// CHECK: verify_diagnostics_unmet.mlir:18:{{[0-9]+}}: error: expected error "never said" was not produced
// ONLY:  verify_diagnostics_unmet.mlir:18:{{[0-9]+}}: error: expected error "never said" was not produced
func.func @never() {
  // expected-error@+1 {{never said}}
  return
}
