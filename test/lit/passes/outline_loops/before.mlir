// RUN: hlo-opt %s --split-input-file --fuse --lower=loops | filecheck %s
// RUN: hlo-opt %s --split-input-file --fuse --lower=loops --fuse-remarks 2>&1 | filecheck %s --check-prefix=REMARK

// What all steps of a recurrence read is computed by the loop's kernel, where only the loop reads it and the cache holds it.
// REMARK: remark: one kernel runs the whole loop, with its kernels and the one before it
// CHECK:       {name = @loop_0, kind = "while", ops = 8 : i64, bytes = 11908 : i64, flops = 72960 : i64, sites = 1 : i64}
// CHECK-LABEL: func.func @main
// CHECK-NOT:   @dot_0
// CHECK:       func.call @loop_0(%p,
// CHECK-NEXT:  func.return
// CHECK:       func.func private @loop_0(%p: memref<20x32xf32>,
// CHECK:         func.call @dot_0_block(
// CHECK:         "memref.copy"(
// CHECK:         scf.while
func.func @main(%x: tensor<20x24xf32>, %w: tensor<24x32xf32>, %u: tensor<32x32xf32>, %h: tensor<1x32xf32>) -> (tensor<1x32xf32>, tensor<20x32xf32>) {
  %zero = hlo.constant dense<0> : tensor<i32>
  %zeros = hlo.constant dense<0.0> : tensor<20x32xf32>
  %p = hlo.dot_general %x, %w, contracting_dims = [1] x [0] : (tensor<20x24xf32>, tensor<24x32xf32>) -> tensor<20x32xf32>
  %r:3 = hlo.while(%i = %zero, %a = %h, %all = %zeros) : tensor<i32>, tensor<1x32xf32>, tensor<20x32xf32>
  cond {
    %n = hlo.constant dense<20> : tensor<i32>
    %0 = hlo.compare LT, %i, %n, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
    hlo.return %0 : tensor<i1>
  } do {
    %z = hlo.constant dense<0> : tensor<i32>
    %one = hlo.constant dense<1> : tensor<i32>
    %1 = hlo.dynamic_slice %p, %i, %z, sizes = [1, 32] : (tensor<20x32xf32>, tensor<i32>, tensor<i32>) -> tensor<1x32xf32>
    %2 = hlo.dot_general %a, %u, contracting_dims = [1] x [0] : (tensor<1x32xf32>, tensor<32x32xf32>) -> tensor<1x32xf32>
    %3 = hlo.add %1, %2 : tensor<1x32xf32>
    %4 = hlo.tanh %3 : tensor<1x32xf32>
    %5 = hlo.dynamic_update_slice %all, %4, %i, %z : (tensor<20x32xf32>, tensor<1x32xf32>, tensor<i32>, tensor<i32>) -> tensor<20x32xf32>
    %6 = hlo.add %i, %one : tensor<i32>
    hlo.return %6, %4, %5 : tensor<i32>, tensor<1x32xf32>, tensor<20x32xf32>
  }
  func.return %r#1, %r#2 : tensor<1x32xf32>, tensor<20x32xf32>
}

// -----

// The program returns it too.
// REMARK: remark: one kernel runs the whole loop, with its kernels{{$}}
// CHECK-LABEL: func.func @main
// CHECK:       func.call @dot_0(
// CHECK:       func.call @loop_0(
func.func @main(%x: tensor<20x24xf32>, %w: tensor<24x32xf32>, %u: tensor<32x32xf32>, %h: tensor<1x32xf32>) -> (tensor<1x32xf32>, tensor<20x32xf32>, tensor<20x32xf32>) {
  %zero = hlo.constant dense<0> : tensor<i32>
  %zeros = hlo.constant dense<0.0> : tensor<20x32xf32>
  %p = hlo.dot_general %x, %w, contracting_dims = [1] x [0] : (tensor<20x24xf32>, tensor<24x32xf32>) -> tensor<20x32xf32>
  %r:3 = hlo.while(%i = %zero, %a = %h, %all = %zeros) : tensor<i32>, tensor<1x32xf32>, tensor<20x32xf32>
  cond {
    %n = hlo.constant dense<20> : tensor<i32>
    %0 = hlo.compare LT, %i, %n, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
    hlo.return %0 : tensor<i1>
  } do {
    %z = hlo.constant dense<0> : tensor<i32>
    %one = hlo.constant dense<1> : tensor<i32>
    %1 = hlo.dynamic_slice %p, %i, %z, sizes = [1, 32] : (tensor<20x32xf32>, tensor<i32>, tensor<i32>) -> tensor<1x32xf32>
    %2 = hlo.dot_general %a, %u, contracting_dims = [1] x [0] : (tensor<1x32xf32>, tensor<32x32xf32>) -> tensor<1x32xf32>
    %3 = hlo.add %1, %2 : tensor<1x32xf32>
    %4 = hlo.tanh %3 : tensor<1x32xf32>
    %5 = hlo.dynamic_update_slice %all, %4, %i, %z : (tensor<20x32xf32>, tensor<1x32xf32>, tensor<i32>, tensor<i32>) -> tensor<20x32xf32>
    %6 = hlo.add %i, %one : tensor<i32>
    hlo.return %6, %4, %5 : tensor<i32>, tensor<1x32xf32>, tensor<20x32xf32>
  }
  func.return %r#1, %r#2, %p : tensor<1x32xf32>, tensor<20x32xf32>, tensor<20x32xf32>
}
