// RUN: hlo-opt %s --batch-step-products --split-input-file | filecheck %s
// RUN: hlo-opt %s --batch-step-products --batch-step-products --split-input-file | filecheck %s
// RUN: hlo-opt %s --batch-step-products --fuse-remarks --split-input-file --verify-diagnostics

// As JAX differentiates a scan: backwards, with gradients of a matrix, of one stored transposed, and of a bias. The
// gradients of the steps are stacked once, at the places that the slices come from.

// CHECK-LABEL: func.func @main(
// CHECK-SAME: %[[XS:[a-z]+]]: tensor<9x2x20xf32>, %[[HS:[a-z]+]]: tensor<9x2x4xf32>, %[[W:[a-z]+]]: tensor<4x4xf32>, %[[B0:[a-z0-9]+]]: tensor<4xf32>
// CHECK: %[[L:.*]]:3 = hlo.while(%[[I:.*]] = {{.*}}, %[[G:.*]] = {{.*}}, %[[S:.*]] = {{.*}}) : tensor<i32>, tensor<2x4xf32>, tensor<9x2x4xf32>
// CHECK: %[[AT:.*]] = hlo.subtract %{{.*}}, %[[I]]
// CHECK-COUNT-1: hlo.dot_general
// CHECK: hlo.dynamic_update_slice %[[S]], %{{.*}}, %[[AT]]
// CHECK: }
// CHECK: %[[X:.*]] = hlo.reshape %[[XS]] : {{.*}} -> tensor<18x20xf32>
// CHECK: %[[GS:.*]] = hlo.reshape %[[L]]#2 : {{.*}} -> tensor<18x4xf32>
// CHECK: %[[DW:.*]] = hlo.dot_general %[[X]], %[[GS]], contracting_dims = [0] x [0] : {{.*}} -> tensor<20x4xf32>
// CHECK: %[[H:.*]] = hlo.reshape %[[HS]] : {{.*}} -> tensor<18x4xf32>
// CHECK: %[[DU:.*]] = hlo.dot_general %{{.*}}, %[[H]], contracting_dims = [0] x [0], precision = [HIGH, DEFAULT] : {{.*}} -> tensor<4x4xf32>
// CHECK: %[[DUT:.*]] = hlo.transpose %[[DU]], dims = [1, 0]
// CHECK: %[[DB:.*]] = hlo.reduce(%[[L]]#2 init: %{{.*}}) applies hlo.add across dimensions = [0, 1]
// CHECK: %[[SUM:.*]] = hlo.add %[[B0]], %[[DB]]
// CHECK: func.return %[[L]]#1, %[[DW]], %[[DUT]], %[[SUM]]
func.func @main(%xs: tensor<9x2x20xf32>, %hs: tensor<9x2x4xf32>, %w: tensor<4x4xf32>, %b0: tensor<4xf32>) -> (tensor<2x4xf32>, tensor<20x4xf32>, tensor<4x4xf32>, tensor<4xf32>) {
  %zero = hlo.constant dense<0> : tensor<i32>
  %one = hlo.constant dense<1> : tensor<i32>
  %last = hlo.constant dense<8> : tensor<i32>
  %zerof = hlo.constant dense<0.0> : tensor<f32>
  %g0 = hlo.constant dense<1.0> : tensor<2x4xf32>
  %dw0 = hlo.constant dense<0.0> : tensor<20x4xf32>
  %du0 = hlo.constant dense<0.0> : tensor<4x4xf32>
  %0:5 = hlo.while(%i = %zero, %g = %g0, %dw = %dw0, %du = %du0, %db = %b0) : tensor<i32>, tensor<2x4xf32>, tensor<20x4xf32>, tensor<4x4xf32>, tensor<4xf32>
    cond {
      %1 = hlo.compare LE, %i, %last, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
      hlo.return %1 : tensor<i1>
    } do {
      %at = hlo.subtract %last, %i : tensor<i32>
      %1 = hlo.dynamic_slice %xs, %at, %zero, %zero, sizes = [1, 2, 20] : (tensor<9x2x20xf32>, tensor<i32>, tensor<i32>, tensor<i32>) -> tensor<1x2x20xf32>
      %x = hlo.reshape %1 : (tensor<1x2x20xf32>) -> tensor<2x20xf32>
      %2 = hlo.dynamic_slice %hs, %at, %zero, %zero, sizes = [1, 2, 4] : (tensor<9x2x4xf32>, tensor<i32>, tensor<i32>, tensor<i32>) -> tensor<1x2x4xf32>
      %h = hlo.reshape %2 : (tensor<1x2x4xf32>) -> tensor<2x4xf32>
      %gh = hlo.multiply %g, %h : tensor<2x4xf32>
      // expected-remark@+1 {{the sum over all steps is computed at once, after the loop}}
      %3 = hlo.dot_general %x, %gh, contracting_dims = [0] x [0] : (tensor<2x20xf32>, tensor<2x4xf32>) -> tensor<20x4xf32>
      %4 = hlo.add %dw, %3 : tensor<20x4xf32>
      // expected-remark@+1 {{the sum over all steps is computed at once, after the loop}}
      %5 = hlo.dot_general %gh, %h, contracting_dims = [0] x [0], precision = [HIGH, DEFAULT] : (tensor<2x4xf32>, tensor<2x4xf32>) -> tensor<4x4xf32>
      %6 = hlo.transpose %5, dims = [1, 0] : (tensor<4x4xf32>) -> tensor<4x4xf32>
      %7 = hlo.add %6, %du : tensor<4x4xf32>
      // expected-remark@+1 {{the sum over all steps is computed at once, after the loop}}
      %8 = hlo.reduce(%gh init: %zerof) applies hlo.add across dimensions = [0] : (tensor<2x4xf32>, tensor<f32>) -> tensor<4xf32>
      %nothing = hlo.constant dense<0.0> : tensor<4xf32>
      %9 = hlo.add %nothing, %8 : tensor<4xf32>
      %10 = hlo.add %db, %9 : tensor<4xf32>
      %11 = hlo.dot_general %gh, %w, contracting_dims = [1] x [1] : (tensor<2x4xf32>, tensor<4x4xf32>) -> tensor<2x4xf32>
      %12 = hlo.add %i, %one : tensor<i32>
      hlo.return %12, %11, %4, %7, %10 : tensor<i32>, tensor<2x4xf32>, tensor<20x4xf32>, tensor<4x4xf32>, tensor<4xf32>
    }
  return %0#1, %0#2, %0#3, %0#4 : tensor<2x4xf32>, tensor<20x4xf32>, tensor<4x4xf32>, tensor<4xf32>
}

// -----

// Both factors are computed by the steps: both are stacked, by the counter, which begins at 3. One that the loop stacks
// anyway is not stacked twice. Batches stay batches.

// CHECK-LABEL: func.func @computed(
// CHECK: %[[L:.*]]:4 = hlo.while(%[[I:.*]] = {{.*}}, %[[G:.*]] = {{.*}}, %[[A:.*]] = {{.*}}, %[[B:.*]] = {{.*}}) : tensor<i32>, tensor<3x1x8xf64>, tensor<6x3x1x8xf64>, tensor<6x3x1x8xf64>
// CHECK: hlo.dot_general %[[L]]#3, %[[L]]#2, batching_dims = [1] x [1], contracting_dims = [0, 2] x [0, 2] : {{.*}} -> tensor<3x8x8xf64>
func.func @computed(%g0: tensor<3x1x8xf64>) -> (tensor<6x3x1x8xf64>, tensor<3x8x8xf64>) {
  %zero = hlo.constant dense<0> : tensor<i32>
  %one = hlo.constant dense<1> : tensor<i32>
  %three = hlo.constant dense<3> : tensor<i32>
  %end = hlo.constant dense<9> : tensor<i32>
  %s0 = hlo.constant dense<0.0> : tensor<6x3x1x8xf64>
  %d0 = hlo.constant dense<0.0> : tensor<3x8x8xf64>
  %0:4 = hlo.while(%i = %three, %g = %g0, %s = %s0, %d = %d0) : tensor<i32>, tensor<3x1x8xf64>, tensor<6x3x1x8xf64>, tensor<3x8x8xf64>
    cond {
      %1 = hlo.compare LT, %i, %end, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
      hlo.return %1 : tensor<i1>
    } do {
      %at = hlo.subtract %i, %three : tensor<i32>
      %a = hlo.sine %g : tensor<3x1x8xf64>
      %c = hlo.cosine %g : tensor<3x1x8xf64>
      // expected-remark@+1 {{the sum over all steps is computed at once, after the loop}}
      %1 = hlo.dot_general %a, %c, batching_dims = [0] x [0], contracting_dims = [1] x [1] : (tensor<3x1x8xf64>, tensor<3x1x8xf64>) -> tensor<3x8x8xf64>
      %2 = hlo.add %d, %1 : tensor<3x8x8xf64>
      %3 = hlo.reshape %c : (tensor<3x1x8xf64>) -> tensor<1x3x1x8xf64>
      %4 = hlo.dynamic_update_slice %s, %3, %at, %zero, %zero, %zero : (tensor<6x3x1x8xf64>, tensor<1x3x1x8xf64>, tensor<i32>, tensor<i32>, tensor<i32>, tensor<i32>) -> tensor<6x3x1x8xf64>
      %5 = hlo.add %i, %one : tensor<i32>
      hlo.return %5, %a, %4, %2 : tensor<i32>, tensor<3x1x8xf64>, tensor<6x3x1x8xf64>, tensor<3x8x8xf64>
    }
  return %0#2, %0#3 : tensor<6x3x1x8xf64>, tensor<3x8x8xf64>
}

// -----

// Sums stay in the loop if their own values are used there (%p), if they are hardly larger than what would be stacked (%q),
// are rounded after each step (%r), or take a part of an input more than once (%s).

// CHECK-LABEL: func.func @stay(
// CHECK: do {
// CHECK-COUNT-4: hlo.dot_general
// CHECK: hlo.return
// CHECK-NOT: hlo.dot_general
func.func @stay(%xs: tensor<7x8x4xf32>) -> (tensor<4x4xf32>, tensor<4x4xf32>, tensor<4x4xbf16>, tensor<4x4xf32>) {
  %zero = hlo.constant dense<0> : tensor<i32>
  %one = hlo.constant dense<1> : tensor<i32>
  %end = hlo.constant dense<7> : tensor<i32>
  %p0 = hlo.constant dense<0.0> : tensor<4x4xf32>
  %r0 = hlo.constant dense<0.0> : tensor<4x4xbf16>
  %0:5 = hlo.while(%i = %zero, %p = %p0, %q = %p0, %r = %r0, %s = %p0) : tensor<i32>, tensor<4x4xf32>, tensor<4x4xf32>, tensor<4x4xbf16>, tensor<4x4xf32>
    cond {
      %1 = hlo.compare LT, %i, %end, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
      hlo.return %1 : tensor<i1>
    } do {
      %1 = hlo.dynamic_slice %xs, %i, %zero, %zero, sizes = [1, 8, 4] : (tensor<7x8x4xf32>, tensor<i32>, tensor<i32>, tensor<i32>) -> tensor<1x8x4xf32>
      %x = hlo.reshape %1 : (tensor<1x8x4xf32>) -> tensor<8x4xf32>
      %2 = hlo.sine %x : tensor<8x4xf32>
      %3 = hlo.dot_general %x, %x, contracting_dims = [0] x [0] : (tensor<8x4xf32>, tensor<8x4xf32>) -> tensor<4x4xf32>
      %4 = hlo.add %p, %3 : tensor<4x4xf32>
      %5 = hlo.dot_general %x, %2, contracting_dims = [0] x [0] : (tensor<8x4xf32>, tensor<8x4xf32>) -> tensor<4x4xf32>
      %6 = hlo.multiply %5, %p : tensor<4x4xf32>
      %7 = hlo.dot_general %2, %2, contracting_dims = [0] x [0] : (tensor<8x4xf32>, tensor<8x4xf32>) -> tensor<4x4xf32>
      %8 = hlo.add %q, %7 : tensor<4x4xf32>
      %9 = hlo.convert %x : (tensor<8x4xf32>) -> tensor<8x4xbf16>
      %10 = hlo.dot_general %9, %9, contracting_dims = [0] x [0] : (tensor<8x4xbf16>, tensor<8x4xbf16>) -> tensor<4x4xbf16>
      %11 = hlo.add %r, %10 : tensor<4x4xbf16>
      %12 = hlo.add %s, %6 : tensor<4x4xf32>
      %13 = hlo.add %i, %one : tensor<i32>
      hlo.return %13, %4, %8, %11, %12 : tensor<i32>, tensor<4x4xf32>, tensor<4x4xf32>, tensor<4x4xbf16>, tensor<4x4xf32>
    }
  return %0#1, %0#2, %0#3, %0#4 : tensor<4x4xf32>, tensor<4x4xf32>, tensor<4x4xbf16>, tensor<4x4xf32>
}
