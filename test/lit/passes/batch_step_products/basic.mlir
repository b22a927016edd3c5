// RUN: hlo-opt %s --batch-step-products --split-input-file | filecheck %s
// RUN: hlo-opt %s --batch-step-products --batch-step-products --split-input-file | filecheck %s
// RUN: hlo-opt %s --batch-step-products --fuse-remarks --split-input-file --verify-diagnostics

// The slice is an operand on either side, with or without its first dimension.

// CHECK-LABEL: func.func @scan
// CHECK-SAME: (%[[XS:.*]]: tensor<10x4x6xf32>, %[[VS:.*]]: tensor<10x6xf32>, %[[W:.*]]: tensor<6x5xf32>, %[[U:.*]]: tensor<5x6xf32>)
// CHECK: %[[ALL:.*]] = hlo.dot_general %[[XS]], %[[W]], contracting_dims = [2] x [0] : {{.*}} -> tensor<10x4x5xf32>
// CHECK: %[[EVERY:.*]] = hlo.dot_general %[[VS]], %[[U]], contracting_dims = [1] x [1], precision = [HIGH, DEFAULT] : {{.*}} -> tensor<10x5xf32>
// CHECK: hlo.while(%[[I:[a-z]+]] =
// CHECK: do {
// CHECK: hlo.dynamic_slice %[[ALL]], %[[I]], %{{.*}}, %{{.*}}, sizes = [1, 4, 5]
// CHECK: hlo.reshape {{.*}} -> tensor<4x5xf32>
// CHECK: hlo.dynamic_slice %[[EVERY]], %[[I]], %{{.*}}, sizes = [1, 5]
// CHECK: hlo.reshape {{.*}} -> tensor<5x1xf32>
// CHECK-NOT: hlo.dot_general
func.func @scan(%xs: tensor<10x4x6xf32>, %vs: tensor<10x6xf32>, %w: tensor<6x5xf32>, %u: tensor<5x6xf32>) -> (tensor<4x5xf32>, tensor<5x1xf32>) {
  %zero = hlo.constant dense<0> : tensor<i32>
  %one = hlo.constant dense<1> : tensor<i32>
  %a = hlo.constant dense<0.0> : tensor<4x5xf32>
  %b = hlo.constant dense<0.0> : tensor<5x1xf32>
  %0:3 = hlo.while(%i = %zero, %p = %a, %q = %b) : tensor<i32>, tensor<4x5xf32>, tensor<5x1xf32>
    cond {
      %n = hlo.constant dense<10> : tensor<i32>
      %1 = hlo.compare LT, %i, %n, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
      hlo.return %1 : tensor<i1>
    } do {
      %1 = hlo.dynamic_slice %xs, %i, %zero, %zero, sizes = [1, 4, 6] : (tensor<10x4x6xf32>, tensor<i32>, tensor<i32>, tensor<i32>) -> tensor<1x4x6xf32>
      %2 = hlo.reshape %1 : (tensor<1x4x6xf32>) -> tensor<4x6xf32>
      // expected-remark@+1 {{the products of all steps are computed at once, before the loop}}
      %3 = hlo.dot_general %2, %w, contracting_dims = [1] x [0] : (tensor<4x6xf32>, tensor<6x5xf32>) -> tensor<4x5xf32>
      %4 = hlo.add %p, %3 : tensor<4x5xf32>
      %5 = hlo.dynamic_slice %vs, %i, %zero, sizes = [1, 6] : (tensor<10x6xf32>, tensor<i32>, tensor<i32>) -> tensor<1x6xf32>
      // expected-remark@+1 {{the products of all steps are computed at once, before the loop}}
      %6 = hlo.dot_general %u, %5, contracting_dims = [1] x [1], precision = [DEFAULT, HIGH] : (tensor<5x6xf32>, tensor<1x6xf32>) -> tensor<5x1xf32>
      %7 = hlo.add %q, %6 : tensor<5x1xf32>
      %8 = hlo.add %i, %one : tensor<i32>
      hlo.return %8, %4, %7 : tensor<i32>, tensor<4x5xf32>, tensor<5x1xf32>
    }
  return %0#1, %0#2 : tensor<4x5xf32>, tensor<5x1xf32>
}

// -----

// The loop would leave the input; the matrix changes; the product of the state is not of a slice.

// CHECK-LABEL: func.func @stay
// CHECK: do {
// CHECK-COUNT-2: hlo.dot_general
func.func @stay(%vs: tensor<10x6xf32>, %w: tensor<6x6xf32>) -> tensor<1x6xf32> {
  %zero = hlo.constant dense<0> : tensor<i32>
  %one = hlo.constant dense<1> : tensor<i32>
  %a = hlo.constant dense<1.0> : tensor<1x6xf32>
  %0:2 = hlo.while(%i = %zero, %p = %a) : tensor<i32>, tensor<1x6xf32>
    cond {
      %n = hlo.constant dense<11> : tensor<i32>
      %1 = hlo.compare LT, %i, %n, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
      hlo.return %1 : tensor<i1>
    } do {
      %1 = hlo.dynamic_slice %vs, %i, %zero, sizes = [1, 6] : (tensor<10x6xf32>, tensor<i32>, tensor<i32>) -> tensor<1x6xf32>
      %2 = hlo.dot_general %1, %w, contracting_dims = [1] x [0] : (tensor<1x6xf32>, tensor<6x6xf32>) -> tensor<1x6xf32>
      %3 = hlo.dot_general %p, %w, contracting_dims = [1] x [0] : (tensor<1x6xf32>, tensor<6x6xf32>) -> tensor<1x6xf32>
      %4 = hlo.add %2, %3 : tensor<1x6xf32>
      %5 = hlo.add %i, %one : tensor<i32>
      hlo.return %5, %4 : tensor<i32>, tensor<1x6xf32>
    }
  return %0#1 : tensor<1x6xf32>
}
