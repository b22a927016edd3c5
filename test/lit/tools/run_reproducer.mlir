// xhlo-reproducer: a module and the passes to run on it
// xhlo-pipeline: cse,dce
// RUN: hlo-opt --run-reproducer %s --print-ir-after-all 2>&1 | filecheck %s
// RUN: not hlo-opt --run-reproducer %s --cse 2>&1 | filecheck %s --check-prefix=OTHER
// RUN: hlo-opt %s | not hlo-opt --run-reproducer 2>&1 | filecheck %s --check-prefix=NONE

// CHECK: IR Dump After cse
// CHECK: IR Dump After dce
// OTHER: --run-reproducer takes its passes from the file
// NONE:  <stdin> is no reproducer
func.func @main() {
  return
}
