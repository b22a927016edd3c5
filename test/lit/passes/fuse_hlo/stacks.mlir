// RUN: hlo-opt %s --fuse-hlo --split-input-file | filecheck %s
// RUN: hlo-opt %s --pair-iterations --fuse-hlo --split-input-file | filecheck %s --check-prefix=PAIRED
// RUN: hlo-opt %s --fuse-hlo --outline-kernels --convert-hlo-to-linalg --split-input-file | filecheck %s --check-prefix=LINALG
// RUN: hlo-opt %s --fuse-hlo --outline-kernels --convert-hlo-to-linalg --bufferize --split-input-file | filecheck %s --check-prefix=BUFFERS

// The loop writes all of %s before anything reads it, also two steps at a time: nothing fills it. It leaves a row of %t
// as it was, and reads %u.

// CHECK-LABEL: func.func @stack(
// CHECK: %[[U:.*]] = hlo.fusion loop () -> tensor<8x4096xf32>
// CHECK: %[[S:.*]] = hlo.constant {xhlo.unread} dense<0.000000e+00> : tensor<8x4096xf32>
// CHECK: hlo.while({{.*}}, %{{.*}} = %[[S]], %{{.*}} = %{{.*}}, %{{.*}} = %[[U]])
// PAIRED-LABEL: func.func @stack(
// PAIRED: %[[S:.*]] = hlo.constant {xhlo.unread} dense<0.000000e+00> : tensor<8x4096xf32>
// PAIRED: hlo.while({{.*}}, %{{.*}} = %[[S]],
// LINALG-LABEL: func.func @stack(
// LINALG: %[[S:.*]] = tensor.empty() : tensor<8x4096xf32>
// LINALG: scf.while ({{.*}}, %{{.*}} = %[[S]],
// BUFFERS-LABEL: func.func @stack(
// BUFFERS-COUNT-2: func.call @loop_fusion
// BUFFERS: scf.while
func.func @stack(%x: tensor<4096xf32>) -> (tensor<8x4096xf32>, tensor<9x4096xf32>, tensor<8x4096xf32>) {
  %zero = hlo.constant dense<0> : tensor<i32>
  %one = hlo.constant dense<1> : tensor<i32>
  %end = hlo.constant dense<8> : tensor<i32>
  %s0 = hlo.constant dense<0.0> : tensor<8x4096xf32>
  %t0 = hlo.constant dense<0.0> : tensor<9x4096xf32>
  %0:5 = hlo.while(%i = %zero, %h = %x, %s = %s0, %t = %t0, %u = %s0) : tensor<i32>, tensor<4096xf32>, tensor<8x4096xf32>, tensor<9x4096xf32>, tensor<8x4096xf32>
    cond {
      %1 = hlo.compare LT, %i, %end, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
      hlo.return %1 : tensor<i1>
    } do {
      %1 = hlo.sine %h : tensor<4096xf32>
      %2 = hlo.reshape %1 : (tensor<4096xf32>) -> tensor<1x4096xf32>
      %3 = hlo.dynamic_update_slice %s, %2, %i, %zero : (tensor<8x4096xf32>, tensor<1x4096xf32>, tensor<i32>, tensor<i32>) -> tensor<8x4096xf32>
      %4 = hlo.dynamic_update_slice %t, %2, %i, %zero : (tensor<9x4096xf32>, tensor<1x4096xf32>, tensor<i32>, tensor<i32>) -> tensor<9x4096xf32>
      %5 = hlo.dynamic_slice %u, %i, %zero, sizes = [1, 4096] : (tensor<8x4096xf32>, tensor<i32>, tensor<i32>) -> tensor<1x4096xf32>
      %6 = hlo.add %2, %5 : tensor<1x4096xf32>
      %7 = hlo.dynamic_update_slice %u, %6, %i, %zero : (tensor<8x4096xf32>, tensor<1x4096xf32>, tensor<i32>, tensor<i32>) -> tensor<8x4096xf32>
      %8 = hlo.add %i, %one : tensor<i32>
      hlo.return %8, %1, %3, %4, %7 : tensor<i32>, tensor<4096xf32>, tensor<8x4096xf32>, tensor<9x4096xf32>, tensor<8x4096xf32>
    }
  return %0#2, %0#3, %0#4 : tensor<8x4096xf32>, tensor<9x4096xf32>, tensor<8x4096xf32>
}

// -----

// A counter of 8 bits wraps around before the last step: some rows stay as they were.

// CHECK-LABEL: func.func @wraps(
// CHECK-NOT: xhlo.unread
// CHECK: hlo.while
func.func @wraps(%x: tensor<64xf32>) -> tensor<200x64xf32> {
  %zero = hlo.constant dense<0> : tensor<i32>
  %one = hlo.constant dense<1> : tensor<i32>
  %end = hlo.constant dense<200> : tensor<i32>
  %first = hlo.constant dense<0> : tensor<i8>
  %step = hlo.constant dense<1> : tensor<i8>
  %s0 = hlo.constant dense<7.0> : tensor<200x64xf32>
  %0:4 = hlo.while(%i = %zero, %j = %first, %h = %x, %s = %s0) : tensor<i32>, tensor<i8>, tensor<64xf32>, tensor<200x64xf32>
    cond {
      %1 = hlo.compare LT, %i, %end, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
      hlo.return %1 : tensor<i1>
    } do {
      %1 = hlo.sine %h : tensor<64xf32>
      %2 = hlo.reshape %1 : (tensor<64xf32>) -> tensor<1x64xf32>
      %3 = hlo.dynamic_update_slice %s, %2, %j, %first : (tensor<200x64xf32>, tensor<1x64xf32>, tensor<i8>, tensor<i8>) -> tensor<200x64xf32>
      %4 = hlo.add %i, %one : tensor<i32>
      %5 = hlo.add %j, %step : tensor<i8>
      hlo.return %4, %5, %1, %3 : tensor<i32>, tensor<i8>, tensor<64xf32>, tensor<200x64xf32>
    }
  return %0#3 : tensor<200x64xf32>
}

// -----

// A small stack in a loop, as of a row that a scan computes, is not filled either.

// CHECK-LABEL: func.func @small(
// CHECK: hlo.constant {xhlo.unread} dense<0.000000e+00> : tensor<40xf32>
// CHECK: hlo.while
func.func @small(%x: tensor<f32>) -> tensor<40xf32> {
  %zero = hlo.constant dense<0> : tensor<i32>
  %one = hlo.constant dense<1> : tensor<i32>
  %end = hlo.constant dense<40> : tensor<i32>
  %s0 = hlo.constant dense<0.0> : tensor<40xf32>
  %0:3 = hlo.while(%i = %zero, %h = %x, %s = %s0) : tensor<i32>, tensor<f32>, tensor<40xf32>
    cond {
      %1 = hlo.compare LT, %i, %end, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
      hlo.return %1 : tensor<i1>
    } do {
      %1 = hlo.sine %h : tensor<f32>
      %2 = hlo.reshape %1 : (tensor<f32>) -> tensor<1xf32>
      %3 = hlo.dynamic_update_slice %s, %2, %i : (tensor<40xf32>, tensor<1xf32>, tensor<i32>) -> tensor<40xf32>
      %4 = hlo.add %i, %one : tensor<i32>
      hlo.return %4, %1, %3 : tensor<i32>, tensor<f32>, tensor<40xf32>
    }
  return %0#2 : tensor<40xf32>
}

// -----

// A number that a loop carries and leaves as it is, as before simplify-hlo, has no slices.

// CHECK-LABEL: func.func @number(
// CHECK-NOT: xhlo.unread
func.func @number(%x: tensor<f32>) -> (tensor<f32>, tensor<f32>) {
  %zero = hlo.constant dense<0> : tensor<i32>
  %one = hlo.constant dense<1> : tensor<i32>
  %end = hlo.constant dense<40> : tensor<i32>
  %s0 = hlo.constant dense<0.0> : tensor<f32>
  %0:3 = hlo.while(%i = %zero, %h = %x, %s = %s0) : tensor<i32>, tensor<f32>, tensor<f32>
    cond {
      %1 = hlo.compare LT, %i, %end, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
      hlo.return %1 : tensor<i1>
    } do {
      %1 = hlo.sine %h : tensor<f32>
      %4 = hlo.add %i, %one : tensor<i32>
      hlo.return %4, %1, %s : tensor<i32>, tensor<f32>, tensor<f32>
    }
  return %0#1, %0#2 : tensor<f32>, tensor<f32>
}
