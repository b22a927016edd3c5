// RUN: not hlo-opt %s 2>&1 | filecheck %s --check-prefix=REFUSED
// RUN: hlo-opt %s --allow-unregistered-dialect | filecheck %s

// REFUSED: allow_unregistered.mlir:8:{{[0-9]+}}: error:
// CHECK:   "strange.op"() : () -> ()
func.func @main() {
  // The line above the operation that no dialect has.
  "strange.op"() : () -> ()
  return
}
