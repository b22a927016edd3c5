// RUN: hlo-opt %s --extract-checks=number=true | filecheck %s

// The program compares the values itself: one more result is the place of the first check that fails, from 1, or 0.

// CHECK: builtin.module attributes {
// CHECK-SAME: kind = "expect_eq", results = [1 : i64]
// CHECK-SAME: kind = "shape_assertion", results = [1 : i64]
// CHECK-SAME: xhlo.result_count = 1
// CHECK: func.func @main(%[[X:.*]]: tensor<2xi32>, %[[P:.*]]: tensor<i1>) -> (tensor<2xi32>, tensor<i32>)
// CHECK-NEXT: %[[S:.*]] = hlo.add %[[X]], %[[X]]
// CHECK-NEXT: %[[D:.*]] = hlo.compare NE, %[[S]], %[[X]]
// CHECK: %[[FIRST:.*]] = hlo.reduce(%[[D]]
// CHECK: %[[SECOND:.*]] = hlo.not %[[P]]
// CHECK-DAG: %[[NONE:.*]] = hlo.constant dense<0> : tensor<i32>
// CHECK-DAG: %[[TWO:.*]] = hlo.constant dense<2> : tensor<i32>
// CHECK: %[[LATER:.*]] = hlo.select %[[SECOND]], %[[TWO]], %[[NONE]]
// CHECK: %[[ONE:.*]] = hlo.constant dense<1> : tensor<i32>
// CHECK: %[[NUMBER:.*]] = hlo.select %[[FIRST]], %[[ONE]], %[[LATER]]
// CHECK: func.return %[[S]], %[[NUMBER]]
func.func @main(%x: tensor<2xi32>, %p: tensor<i1>) -> tensor<2xi32> {
  %1 = hlo.add %x, %x : tensor<2xi32>
  check.expect_eq %1, %x : tensor<2xi32>
  hlo.custom_call @shape_assertion(%p, %x) {error_message = "{0} is odd", has_side_effect = true} : (tensor<i1>, tensor<2xi32>) -> ()
  return %1 : tensor<2xi32>
}
