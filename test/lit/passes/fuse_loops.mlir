// RUN: hlo-opt %s --fuse-loops --split-input-file | filecheck %s
// RUN: hlo-opt %s --fuse-loops --fuse-loops --split-input-file | filecheck %s
// RUN: hlo-opt %s --fuse-loops --fuse-remarks --split-input-file --verify-diagnostics

// A counted loop becomes a kernel, with the splats and the invariant broadcast that it reads.

// CHECK-LABEL: func.func @counted
// CHECK-SAME: (%[[X:.*]]: tensor<4x8xf32>, %[[B:.*]]: tensor<8xf32>)
// CHECK-NEXT: %[[ZERO:.*]] = hlo.constant dense<0> : tensor<i32>
// CHECK-NEXT: %[[R:.*]] = hlo.fusion loop (%[[XI:.*]] = %[[X]] : tensor<4x8xf32>, %[[BI:.*]] = %[[B]] : tensor<8xf32>) -> tensor<4x8xf32> {
// CHECK-NEXT: %[[Z:.*]] = hlo.constant dense<0> : tensor<i32>
// CHECK-NEXT: %[[WIDE:.*]] = hlo.broadcast_in_dim %[[BI]], dims = [1]
// CHECK-NEXT: %[[L:.*]]:2 = hlo.while(%[[I:.*]] = %[[Z]], %[[V:.*]] = %[[XI]])
// CHECK: hlo.add %[[V]], %[[WIDE]]
// CHECK: hlo.return %[[L]]#1 : tensor<4x8xf32>
// CHECK: func.return %[[R]]
func.func @counted(%x: tensor<4x8xf32>, %b: tensor<8xf32>) -> tensor<4x8xf32> {
  %zero = hlo.constant dense<0> : tensor<i32>
  // expected-remark@+1 {{one kernel runs the whole loop}}
  %0:2 = hlo.while(%i = %zero, %v = %x) : tensor<i32>, tensor<4x8xf32>
    cond {
      %n = hlo.constant dense<9> : tensor<i32>
      %1 = hlo.compare LT, %i, %n, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
      hlo.return %1 : tensor<i1>
    } do {
      %wide = hlo.broadcast_in_dim %b, dims = [1] : (tensor<8xf32>) -> tensor<4x8xf32>
      %1 = hlo.add %v, %wide : tensor<4x8xf32>
      %one = hlo.constant dense<1> : tensor<i32>
      %2 = hlo.add %i, %one : tensor<i32>
      hlo.return %2, %1 : tensor<i32>, tensor<4x8xf32>
    }
  return %0#1 : tensor<4x8xf32>
}

// -----

// Elements that stop early, as jax.vmap writes it: each has a counter of its own, which bounds the loop.

// CHECK-LABEL: func.func @any
// CHECK: hlo.fusion loop
// CHECK: hlo.while
// CHECK: hlo.reduce
func.func @any(%x: tensor<8xf32>) -> (tensor<8xf32>, tensor<8xi32>) {
  %zeros = hlo.constant dense<0> : tensor<8xi32>
  // expected-remark@+1 {{one kernel runs the whole loop}}
  %0:2 = hlo.while(%n = %zeros, %v = %x) : tensor<8xi32>, tensor<8xf32>
    cond {
      %most = hlo.constant dense<50> : tensor<8xi32>
      %one = hlo.constant dense<1.0> : tensor<8xf32>
      %below = hlo.compare LT, %n, %most, SIGNED : (tensor<8xi32>, tensor<8xi32>) -> tensor<8xi1>
      %small = hlo.compare LT, %v, %one : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xi1>
      %go = hlo.and %below, %small : tensor<8xi1>
      %false = hlo.constant dense<false> : tensor<i1>
      %any = hlo.reduce(%go init: %false) applies hlo.or across dimensions = [0] : (tensor<8xi1>, tensor<i1>) -> tensor<i1>
      hlo.return %any : tensor<i1>
    } do {
      %most = hlo.constant dense<50> : tensor<8xi32>
      %one = hlo.constant dense<1.0> : tensor<8xf32>
      %unit = hlo.constant dense<1> : tensor<8xi32>
      %below = hlo.compare LT, %n, %most, SIGNED : (tensor<8xi32>, tensor<8xi32>) -> tensor<8xi1>
      %small = hlo.compare LT, %v, %one : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xi1>
      %go = hlo.and %below, %small : tensor<8xi1>
      %1 = hlo.add %v, %v : tensor<8xf32>
      %2 = hlo.add %n, %unit : tensor<8xi32>
      %3 = hlo.select %go, %1, %v : tensor<8xi1>, tensor<8xf32>
      %4 = hlo.select %go, %2, %n : tensor<8xi1>, tensor<8xi32>
      hlo.return %4, %3 : tensor<8xi32>, tensor<8xf32>
    }
  return %0#1, %0#0 : tensor<8xf32>, tensor<8xi32>
}

// -----

// CHECK-LABEL: func.func @moves_on
// CHECK-NOT: hlo.fusion
func.func @moves_on(%x: tensor<8xf32>) -> tensor<8xf32> {
  // expected-remark@+1 {{not made a kernel: its body changes elements that do not go on}}
  %0 = hlo.while(%v = %x) : tensor<8xf32>
    cond {
      %one = hlo.constant dense<1.0> : tensor<8xf32>
      %go = hlo.compare LT, %v, %one : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xi1>
      %false = hlo.constant dense<false> : tensor<i1>
      %any = hlo.reduce(%go init: %false) applies hlo.or across dimensions = [0] : (tensor<8xi1>, tensor<i1>) -> tensor<i1>
      hlo.return %any : tensor<i1>
    } do {
      %1 = hlo.add %v, %v : tensor<8xf32>
      hlo.return %1 : tensor<8xf32>
    }
  return %0 : tensor<8xf32>
}

// -----

// An outer loop keeps the condition: it can be interrupted between runs of the kernel. The counter, which it needs, is
// computed by a kernel of its own.

// CHECK-LABEL: func.func @unbounded
// CHECK-SAME: (%[[X:.*]]: tensor<8xf32>, %[[N:.*]]: tensor<i32>)
// CHECK: hlo.while(%[[I:.*]] = %{{.*}}, %[[V:.*]] = %[[X]])
// CHECK-NEXT: cond {
// CHECK-NEXT: hlo.compare LT, %[[I]], %[[N]]
// CHECK: do {
// CHECK: %[[COUNT:.*]] = hlo.fusion loop
// CHECK: hlo.while
// CHECK: %[[R:.*]] = hlo.fusion loop
// CHECK: hlo.while
// CHECK: dense<65536>
// CHECK: hlo.sine
// CHECK: hlo.return %[[COUNT]], %[[R]]
func.func @unbounded(%x: tensor<8xf32>, %n: tensor<i32>) -> tensor<8xf32> {
  %zero = hlo.constant dense<0> : tensor<i32>
  %one = hlo.constant dense<1> : tensor<i32>
  // expected-remark@+1 {{one kernel runs up to 65536 iterations of the loop}}
  %0:2 = hlo.while(%i = %zero, %v = %x) : tensor<i32>, tensor<8xf32>
    cond {
      %1 = hlo.compare LT, %i, %n, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
      hlo.return %1 : tensor<i1>
    } do {
      %1 = hlo.sine %v : tensor<8xf32>
      %2 = hlo.add %i, %one : tensor<i32>
      hlo.return %2, %1 : tensor<i32>, tensor<8xf32>
    }
  return %0#1 : tensor<8xf32>
}

// -----

// CHECK-LABEL: func.func @others
// CHECK-NOT: hlo.fusion
func.func @others(%x: tensor<8xf32>, %n: tensor<i32>) -> tensor<8xf32> {
  %zero = hlo.constant dense<0> : tensor<i32>
  %one = hlo.constant dense<1> : tensor<i32>
  // expected-remark@+1 {{not made a kernel: hlo.reverse is not elementwise}}
  %3:2 = hlo.while(%i = %zero, %v = %x) : tensor<i32>, tensor<8xf32>
    cond {
      %4 = hlo.compare LT, %i, %one, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
      hlo.return %4 : tensor<i1>
    } do {
      %4 = hlo.reverse %v, dims = [0] : tensor<8xf32>
      %5 = hlo.add %i, %one : tensor<i32>
      hlo.return %5, %4 : tensor<i32>, tensor<8xf32>
    }
  return %3#1 : tensor<8xf32>
}
