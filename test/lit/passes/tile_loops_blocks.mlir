// RUN: hlo-opt %s --tile-loops=chip=sm_90 --split-input-file | filecheck %s
// RUN: hlo-opt %s --tile-loops=chip=sm_90 --tile-loops=chip=sm_90 --split-input-file | filecheck %s
// RUN: hlo-opt %s --tile-loops=chip=sm_90 --fuse-remarks --split-input-file --verify-diagnostics

// A block of a GPU takes a row, and computes the product of all its steps before the first of them.

// CHECK-LABEL: func.func @product
// CHECK: hlo.while({{.*}}) : tensor<i32>, tensor<48x32xf32>, tensor<20x48x32xf32> attributes {xhlo.independent = 48 : i64}
// CHECK: %[[ROW:.*]] = hlo.multiply
// CHECK: %[[IN:.*]] = hlo.dynamic_slice %in, %{{.*}}, %[[ROW]], %{{.*}}, sizes = [20, 1, 16]
// CHECK: %[[ALL:.*]] = hlo.dot_general %[[IN]], %v, {{.*}} -> tensor<20x1x32xf32>
// CHECK: hlo.while(%i = %zero, {{.*}}) : tensor<i32>, tensor<1x32xf32>, tensor<20x48x32xf32>
// CHECK: hlo.dynamic_slice %[[ALL]], %i, %{{.*}}, %{{.*}}, sizes = [1, 1, 32]
// CHECK: hlo.dot_general %h, %w, {{.*}} -> tensor<1x32xf32>
func.func @product(%in: tensor<20x48x16xf32>, %v: tensor<16x32xf32>, %w: tensor<32x32xf32>, %h0: tensor<48x32xf32>) -> (tensor<48x32xf32>, tensor<20x48x32xf32>) {
  %xs = hlo.dot_general %in, %v, contracting_dims = [2] x [0] : (tensor<20x48x16xf32>, tensor<16x32xf32>) -> tensor<20x48x32xf32>
  %zero = hlo.constant dense<0> : tensor<i32>
  %one = hlo.constant dense<1> : tensor<i32>
  %none = hlo.constant dense<0.0> : tensor<20x48x32xf32>
  // expected-remark@+1 {{48 tiles of 1 rows run the loop each by itself, with 1 product from before it}}
  %0:3 = hlo.while(%i = %zero, %h = %h0, %ys = %none) : tensor<i32>, tensor<48x32xf32>, tensor<20x48x32xf32>
    cond {
      %n = hlo.constant dense<20> : tensor<i32>
      %1 = hlo.compare LT, %i, %n, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
      hlo.return %1 : tensor<i1>
    } do {
      %1 = hlo.dynamic_slice %xs, %i, %zero, %zero, sizes = [1, 48, 32] : (tensor<20x48x32xf32>, tensor<i32>, tensor<i32>, tensor<i32>) -> tensor<1x48x32xf32>
      %2 = hlo.reshape %1 : (tensor<1x48x32xf32>) -> tensor<48x32xf32>
      %3 = hlo.dot_general %h, %w, contracting_dims = [1] x [0] : (tensor<48x32xf32>, tensor<32x32xf32>) -> tensor<48x32xf32>
      %4 = hlo.add %2, %3 : tensor<48x32xf32>
      %5 = hlo.tanh %4 : tensor<48x32xf32>
      %6 = hlo.reshape %5 : (tensor<48x32xf32>) -> tensor<1x48x32xf32>
      %7 = hlo.dynamic_update_slice %ys, %6, %i, %zero, %zero : (tensor<20x48x32xf32>, tensor<1x48x32xf32>, tensor<i32>, tensor<i32>, tensor<i32>) -> tensor<20x48x32xf32>
      %8 = hlo.add %i, %one : tensor<i32>
      hlo.return %8, %5, %7 : tensor<i32>, tensor<48x32xf32>, tensor<20x48x32xf32>
    }
  return %0#1, %0#2 : tensor<48x32xf32>, tensor<20x48x32xf32>
}

// -----

// The whole chip computes a step of large products sooner than a block for each row.

// CHECK-LABEL: func.func @large
// CHECK-NOT: xhlo.independent
func.func @large(%w: tensor<2048x2048xf32>, %xs: tensor<20x48x2048xf32>, %h0: tensor<48x2048xf32>) -> (tensor<48x2048xf32>, tensor<20x48x2048xf32>) {
  %zero = hlo.constant dense<0> : tensor<i32>
  %one = hlo.constant dense<1> : tensor<i32>
  %none = hlo.constant dense<0.0> : tensor<20x48x2048xf32>
  // expected-remark@+1 {{not tiled: a block takes 175.7 us for a step, launches take 69.6}}
  %0:3 = hlo.while(%i = %zero, %h = %h0, %ys = %none) : tensor<i32>, tensor<48x2048xf32>, tensor<20x48x2048xf32>
    cond {
      %n = hlo.constant dense<20> : tensor<i32>
      %1 = hlo.compare LT, %i, %n, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
      hlo.return %1 : tensor<i1>
    } do {
      %1 = hlo.dynamic_slice %xs, %i, %zero, %zero, sizes = [1, 48, 2048] : (tensor<20x48x2048xf32>, tensor<i32>, tensor<i32>, tensor<i32>) -> tensor<1x48x2048xf32>
      %2 = hlo.reshape %1 : (tensor<1x48x2048xf32>) -> tensor<48x2048xf32>
      %3 = hlo.dot_general %h, %w, contracting_dims = [1] x [0] : (tensor<48x2048xf32>, tensor<2048x2048xf32>) -> tensor<48x2048xf32>
      %4 = hlo.add %2, %3 : tensor<48x2048xf32>
      %5 = hlo.tanh %4 : tensor<48x2048xf32>
      %6 = hlo.reshape %5 : (tensor<48x2048xf32>) -> tensor<1x48x2048xf32>
      %7 = hlo.dynamic_update_slice %ys, %6, %i, %zero, %zero : (tensor<20x48x2048xf32>, tensor<1x48x2048xf32>, tensor<i32>, tensor<i32>, tensor<i32>) -> tensor<20x48x2048xf32>
      %8 = hlo.add %i, %one : tensor<i32>
      hlo.return %8, %5, %7 : tensor<i32>, tensor<48x2048xf32>, tensor<20x48x2048xf32>
    }
  return %0#1, %0#2 : tensor<48x2048xf32>, tensor<20x48x2048xf32>
}

// -----

// A block that runs the loop around may run all rows, too: the tiles would be one after the other.

// CHECK-LABEL: func.func @inside
// CHECK-NOT: xhlo.independent
func.func @inside(%w: tensor<32x32xf32>, %h0: tensor<48x32xf32>) -> tensor<48x32xf32> {
  %zero = hlo.constant dense<0> : tensor<i32>
  %one = hlo.constant dense<1> : tensor<i32>
  // expected-remark@+1 {{not tiled: hlo.while is not computed row by row}}
  %0:2 = hlo.while(%i = %zero, %g = %h0) : tensor<i32>, tensor<48x32xf32>
    cond {
      %n = hlo.constant dense<20> : tensor<i32>
      %1 = hlo.compare LT, %i, %n, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
      hlo.return %1 : tensor<i1>
    } do {
      // expected-remark@+1 {{not tiled: a block may run it with the loop around}}
      %1:2 = hlo.while(%j = %zero, %h = %g) : tensor<i32>, tensor<48x32xf32>
        cond {
          %m = hlo.constant dense<4> : tensor<i32>
          %2 = hlo.compare LT, %j, %m, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
          hlo.return %2 : tensor<i1>
        } do {
          %2 = hlo.dot_general %h, %w, contracting_dims = [1] x [0] : (tensor<48x32xf32>, tensor<32x32xf32>) -> tensor<48x32xf32>
          %3 = hlo.tanh %2 : tensor<48x32xf32>
          %4 = hlo.add %j, %one : tensor<i32>
          hlo.return %4, %3 : tensor<i32>, tensor<48x32xf32>
        }
      %5 = hlo.add %i, %one : tensor<i32>
      hlo.return %5, %1#1 : tensor<i32>, tensor<48x32xf32>
    }
  return %0#1 : tensor<48x32xf32>
}
