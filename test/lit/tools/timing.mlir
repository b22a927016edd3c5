// RUN: hlo-opt %s --cse --verify-each --timing -o /dev/null 2>&1 | filecheck %s

// CHECK: ms       %  stage
// CHECK: read
// CHECK: verify
// CHECK: cse
// CHECK: print
// CHECK: 100.0  total
func.func @main() {
  return
}
