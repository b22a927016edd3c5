// RUN: hlo-opt %s --extract-checks | filecheck %s

// The operands of a check become results of the entry.

// CHECK: builtin.module attributes {
// CHECK-SAME: xhlo.checks = [{
// CHECK-SAME: kind = "expect_eq"
// CHECK-SAME: results = [1 : i64, 2 : i64]
// CHECK-SAME: xhlo.result_count = 1
// CHECK: func.func @main(%[[X:.*]]: tensor<2xi32>) -> (tensor<2xi32>, tensor<2xi32>, tensor<2xi32>)
// CHECK-NEXT: %[[S:.*]] = hlo.add %[[X]], %[[X]]
// CHECK-NEXT: func.return %[[S]], %[[S]], %[[X]]
func.func @main(%x: tensor<2xi32>) -> tensor<2xi32> {
  %1 = hlo.add %x, %x : tensor<2xi32>
  hlo.custom_call @check.expect_eq(%1, %x) {has_side_effect = true} : (tensor<2xi32>, tensor<2xi32>) -> ()
  return %1 : tensor<2xi32>
}

// A program runs @main only: the checks of other functions go.
// CHECK: func.func @other
// CHECK-NOT: check.
func.func @other(%x: tensor<2x0xf32>) {
  check.expect_eq_const %x, dense<> : tensor<2x0xf32>
  return
}
