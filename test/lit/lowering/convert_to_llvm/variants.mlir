// RUN: hlo-opt %s --convert-to-llvm | filecheck %s

// LLVM's vectorizer finds the variants of a function without effects by an attribute.
// CHECK:      llvm.func internal @f(%{{.*}}: f64, %{{.*}}: f64) -> f64
// CHECK-SAME:   passthrough = ["noinline", "cold", "nounwind", "willreturn", "memory(none)", "{{.*}}vector-function-abi-variant{{.*}}_ZGV_LLVM_M4vv_f(f_x4){{.*}}"]
func.func private @f(%x: f64, %y: f64) -> f64 attributes {xhlo.pure, xhlo.variants = array<i64: 4>} {
  %0 = arith.addf %x, %y : f64
  func.return %0 : f64
}

// CHECK: llvm.func @f_x4
func.func @f_x4(%x: vector<4xf64>, %y: vector<4xf64>, %mask: vector<4xi1>) -> vector<4xf64> attributes {xhlo.inline} {
  func.return %x : vector<4xf64>
}
