// RUN: hlo-opt %s --fuse-hlo=most-ops=6 | filecheck %s
// RUN: hlo-opt %s --fuse-hlo=most-ops=6 --fuse-hlo=most-ops=6 | filecheck %s
// RUN: hlo-opt %s --fuse-hlo=most-ops=6 --fuse-remarks 2>&1 >/dev/null | filecheck %s --check-prefix=REMARK
// RUN: hlo-opt %s --fuse-hlo=most-ops=6 | hlo-run --entry=narrow --compare --rtol=1e-5
// RUN: hlo-opt %s --fuse-hlo=most-ops=6 | hlo-run --entry=interleaved --compare --rtol=1e-5
// RUN: hlo-opt %s --fuse-hlo=most-ops=6 | hlo-run --entry=again --compare --rtol=1e-5
// RUN: hlo-opt %s --fuse-hlo | filecheck %s --check-prefix=WHOLE

// Ten operations: counted from the end, six would leave four that write three values. One crosses after the fifth.

// CHECK-LABEL: func.func @narrow(
// CHECK:         %[[A:.*]] = hlo.fusion loop
// CHECK-COUNT-2:   hlo.multiply
// CHECK:         hlo.fusion loop (%{{.*}} = %[[A]] :
// CHECK-COUNT-2:   hlo.add
// CHECK-NOT:     hlo.fusion

// REMARK: remark: not fused hlo.multiply with hlo.tanh: the fusion would have more than 6 operations, and is cut where 16.4 KB cross

// WHOLE-LABEL: func.func @narrow(
// WHOLE-COUNT-1: hlo.fusion loop
// WHOLE-NOT:     hlo.fusion
// WHOLE:       func.func @interleaved(
func.func @narrow(%x: tensor<4096xf32>) -> tensor<4096xf32> {
  %0 = hlo.exponential %x : tensor<4096xf32>
  %1 = hlo.sine %x : tensor<4096xf32>
  %2 = hlo.cosine %x : tensor<4096xf32>
  %3 = hlo.multiply %0, %1 : tensor<4096xf32>
  %4 = hlo.multiply %3, %2 : tensor<4096xf32>
  %5 = hlo.tanh %4 : tensor<4096xf32>
  %6 = hlo.logistic %4 : tensor<4096xf32>
  %7 = hlo.sine %4 : tensor<4096xf32>
  %8 = hlo.add %5, %6 : tensor<4096xf32>
  %9 = hlo.add %8, %7 : tensor<4096xf32>
  return %9 : tensor<4096xf32>
}

// Two expressions whose operations take turns: no border in the order of the program is narrow, so another order is cut.

// CHECK-LABEL: func.func @interleaved(
// CHECK:         %[[A:.*]] = hlo.fusion loop
// CHECK-COUNT-3:   hlo.sine
// CHECK:           hlo.add
// CHECK-NEXT:      hlo.multiply
// CHECK:         hlo.fusion loop
// CHECK-SAME:      %[[A]] :
// CHECK-COUNT-3:   hlo.tanh
// CHECK-NOT:     hlo.fusion
func.func @interleaved(%x: tensor<4096xf32>, %y: tensor<4096xf32>) -> tensor<4096xf32> {
  %s0 = hlo.sine %x : tensor<4096xf32>
  %t0 = hlo.tanh %y : tensor<4096xf32>
  %s1 = hlo.sine %s0 : tensor<4096xf32>
  %t1 = hlo.tanh %t0 : tensor<4096xf32>
  %s2 = hlo.sine %s1 : tensor<4096xf32>
  %t2 = hlo.tanh %t1 : tensor<4096xf32>
  %s3 = hlo.add %s2, %s0 : tensor<4096xf32>
  %t3 = hlo.add %t2, %t0 : tensor<4096xf32>
  %s4 = hlo.multiply %s3, %s1 : tensor<4096xf32>
  %r = hlo.add %s4, %t3 : tensor<4096xf32>
  return %r : tensor<4096xf32>
}

// What both parts can compute in less time than it takes to write and read it is not written.

// CHECK-LABEL: func.func @again(
// CHECK:         %[[A:.*]] = hlo.fusion loop (%{{.*}} = %x : tensor<4096xf32>) -> tensor<4096xf32> {
// CHECK:           hlo.add
// CHECK:         hlo.fusion loop
// CHECK-SAME:      %[[A]] :
// CHECK:           hlo.negate
// CHECK-NOT:     hlo.fusion
func.func @again(%x: tensor<4096xf32>) -> tensor<4096xf32> {
  %n = hlo.negate %x : tensor<4096xf32>
  %0 = hlo.sine %n : tensor<4096xf32>
  %1 = hlo.tanh %x : tensor<4096xf32>
  %2 = hlo.add %0, %1 : tensor<4096xf32>
  %3 = hlo.exponential %2 : tensor<4096xf32>
  %4 = hlo.cosine %3 : tensor<4096xf32>
  %5 = hlo.sine %3 : tensor<4096xf32>
  %6 = hlo.multiply %n, %4 : tensor<4096xf32>
  %7 = hlo.add %6, %5 : tensor<4096xf32>
  return %7 : tensor<4096xf32>
}
