// RUN: hlo-opt %s --batch-step-products | filecheck %s

// The states that the loop stacks begin as the products of all steps, of which each step reads the slice that it writes.

// CHECK-LABEL: func.func @main(
// CHECK:         %[[ALL:.*]] = hlo.dot_general %xs, %w
// CHECK:         hlo.while(%i = %zero, %h = %h0, %[[S:.*]] = %[[ALL]])
// CHECK:           hlo.dynamic_slice %[[S]], %i
// CHECK:           hlo.dynamic_update_slice %[[S]]

func.func @main(%xs: tensor<20x3x5xf32>, %w: tensor<5x8xf32>, %h0: tensor<3x8xf32>) -> tensor<20x3x8xf32> {
  %zero = hlo.constant dense<0> : tensor<i32>
  %one = hlo.constant dense<1> : tensor<i32>
  %n = hlo.constant dense<20> : tensor<i32>
  %zeros = hlo.constant dense<0.0> : tensor<20x3x8xf32>
  %0:3 = hlo.while(%i = %zero, %h = %h0, %s = %zeros) : tensor<i32>, tensor<3x8xf32>, tensor<20x3x8xf32>
   cond {
    %c = hlo.compare LT, %i, %n, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
    hlo.return %c : tensor<i1>
  } do {
    %x = hlo.dynamic_slice %xs, %i, %zero, %zero, sizes = [1, 3, 5] : (tensor<20x3x5xf32>, tensor<i32>, tensor<i32>, tensor<i32>) -> tensor<1x3x5xf32>
    %r = hlo.reshape %x : (tensor<1x3x5xf32>) -> tensor<3x5xf32>
    %p = hlo.dot_general %r, %w, contracting_dims = [1] x [0] : (tensor<3x5xf32>, tensor<5x8xf32>) -> tensor<3x8xf32>
    %a = hlo.add %p, %h : tensor<3x8xf32>
    %u = hlo.reshape %a : (tensor<3x8xf32>) -> tensor<1x3x8xf32>
    %t = hlo.dynamic_update_slice %s, %u, %i, %zero, %zero : (tensor<20x3x8xf32>, tensor<1x3x8xf32>, tensor<i32>, tensor<i32>, tensor<i32>) -> tensor<20x3x8xf32>
    %k = hlo.add %i, %one : tensor<i32>
    hlo.return %k, %a, %t : tensor<i32>, tensor<3x8xf32>, tensor<20x3x8xf32>
  }
  return %0#2 : tensor<20x3x8xf32>
}

// The last two states are not written: they stay zeros.

// CHECK-LABEL: func.func @short(
// CHECK:         %[[ALL:.*]] = hlo.dot_general %xs, %w
// CHECK:         hlo.while(%i = %zero, %h = %h0, %[[S:.*]] = %zeros)
// CHECK:           hlo.dynamic_slice %[[ALL]], %i
func.func @short(%xs: tensor<20x3x5xf32>, %w: tensor<5x8xf32>, %h0: tensor<3x8xf32>) -> tensor<20x3x8xf32> {
  %zero = hlo.constant dense<0> : tensor<i32>
  %one = hlo.constant dense<1> : tensor<i32>
  %n = hlo.constant dense<18> : tensor<i32>
  %zeros = hlo.constant dense<0.0> : tensor<20x3x8xf32>
  %0:3 = hlo.while(%i = %zero, %h = %h0, %s = %zeros) : tensor<i32>, tensor<3x8xf32>, tensor<20x3x8xf32>
   cond {
    %c = hlo.compare LT, %i, %n, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
    hlo.return %c : tensor<i1>
  } do {
    %x = hlo.dynamic_slice %xs, %i, %zero, %zero, sizes = [1, 3, 5] : (tensor<20x3x5xf32>, tensor<i32>, tensor<i32>, tensor<i32>) -> tensor<1x3x5xf32>
    %r = hlo.reshape %x : (tensor<1x3x5xf32>) -> tensor<3x5xf32>
    %p = hlo.dot_general %r, %w, contracting_dims = [1] x [0] : (tensor<3x5xf32>, tensor<5x8xf32>) -> tensor<3x8xf32>
    %a = hlo.add %p, %h : tensor<3x8xf32>
    %u = hlo.reshape %a : (tensor<3x8xf32>) -> tensor<1x3x8xf32>
    %t = hlo.dynamic_update_slice %s, %u, %i, %zero, %zero : (tensor<20x3x8xf32>, tensor<1x3x8xf32>, tensor<i32>, tensor<i32>, tensor<i32>) -> tensor<20x3x8xf32>
    %k = hlo.add %i, %one : tensor<i32>
    hlo.return %k, %a, %t : tensor<i32>, tensor<3x8xf32>, tensor<20x3x8xf32>
  }
  return %0#2 : tensor<20x3x8xf32>
}

// The last state, read in each step, is zero until the last one.

// CHECK-LABEL: func.func @read(
// CHECK:         %[[ALL:.*]] = hlo.dot_general %xs, %w
// CHECK:         hlo.while(%i = %zero, %h = %h0, %s = %zeros)
// CHECK:           hlo.dynamic_slice %[[ALL]], %i
func.func @read(%xs: tensor<20x3x5xf32>, %w: tensor<5x8xf32>, %h0: tensor<3x8xf32>) -> tensor<3x8xf32> {
  %zero = hlo.constant dense<0> : tensor<i32>
  %one = hlo.constant dense<1> : tensor<i32>
  %n = hlo.constant dense<20> : tensor<i32>
  %zeros = hlo.constant dense<0.0> : tensor<20x3x8xf32>
  %0:3 = hlo.while(%i = %zero, %h = %h0, %s = %zeros) : tensor<i32>, tensor<3x8xf32>, tensor<20x3x8xf32>
   cond {
    %c = hlo.compare LT, %i, %n, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
    hlo.return %c : tensor<i1>
  } do {
    %x = hlo.dynamic_slice %xs, %i, %zero, %zero, sizes = [1, 3, 5] : (tensor<20x3x5xf32>, tensor<i32>, tensor<i32>, tensor<i32>) -> tensor<1x3x5xf32>
    %r = hlo.reshape %x : (tensor<1x3x5xf32>) -> tensor<3x5xf32>
    %p = hlo.dot_general %r, %w, contracting_dims = [1] x [0] : (tensor<3x5xf32>, tensor<5x8xf32>) -> tensor<3x8xf32>
    %u = hlo.reshape %p : (tensor<3x8xf32>) -> tensor<1x3x8xf32>
    %t = hlo.dynamic_update_slice %s, %u, %i, %zero, %zero : (tensor<20x3x8xf32>, tensor<1x3x8xf32>, tensor<i32>, tensor<i32>, tensor<i32>) -> tensor<20x3x8xf32>
    %l = hlo.slice %t [19:20, 0:3, 0:8] : (tensor<20x3x8xf32>) -> tensor<1x3x8xf32>
    %m = hlo.reshape %l : (tensor<1x3x8xf32>) -> tensor<3x8xf32>
    %a = hlo.add %m, %h : tensor<3x8xf32>
    %k = hlo.add %i, %one : tensor<i32>
    hlo.return %k, %a, %t : tensor<i32>, tensor<3x8xf32>, tensor<20x3x8xf32>
  }
  return %0#1 : tensor<3x8xf32>
}
