// RUN: hlo-opt %s --tile-loops --split-input-file | filecheck %s
// RUN: hlo-opt %s --tile-loops --tile-loops --split-input-file | filecheck %s
// RUN: hlo-opt %s --tile-loops --fuse-remarks --split-input-file --verify-diagnostics

// The state is a part of its rows; the loop of a tile reads and writes slices of the arrays in place.

// CHECK-LABEL: func.func @recurrence
// CHECK-SAME: (%w: tensor<32x32xf32>, %xs: tensor<20x48x32xf32>, %h0: tensor<48x32xf32>)
// CHECK-DAG: hlo.constant {xhlo.unread} dense<0.000000e+00> : tensor<48x32xf32>
// CHECK-DAG: hlo.constant {xhlo.unread} dense<0.000000e+00> : tensor<20x48x32xf32>
// CHECK: hlo.while(%[[TILE:[0-9]+]] = %{{.*}}, %[[H:[0-9]+]] = %{{.*}}, %[[YS:[0-9]+]] = %{{.*}}) : tensor<i32>, tensor<48x32xf32>, tensor<20x48x32xf32> attributes {xhlo.independent = 3 : i64}
// CHECK: hlo.constant dense<3> : tensor<i32>
// CHECK: do {
// CHECK: %[[ROW:.*]] = hlo.multiply %[[TILE]], %{{.*}} : tensor<i32>
// CHECK: %[[PART:.*]] = hlo.dynamic_slice %h0, %[[ROW]], %{{.*}}, sizes = [16, 32]
// CHECK: hlo.while(%i = %zero, %h = %[[PART]], %ys = %[[YS]]) : tensor<i32>, tensor<16x32xf32>, tensor<20x48x32xf32>
// CHECK: hlo.dynamic_slice %xs, %i, %[[ROW]], %{{.*}}, sizes = [1, 16, 32]
// CHECK: hlo.dot_general %h, %w, {{.*}} -> tensor<16x32xf32>
// CHECK: hlo.dynamic_update_slice %ys, %{{.*}}, %i, %[[ROW]], %{{.*}} : (tensor<20x48x32xf32>, tensor<1x16x32xf32>,
// CHECK: hlo.dynamic_update_slice %[[H]], %{{.*}}, %[[ROW]],
func.func @recurrence(%w: tensor<32x32xf32>, %xs: tensor<20x48x32xf32>, %h0: tensor<48x32xf32>) -> (tensor<48x32xf32>, tensor<20x48x32xf32>) {
  %zero = hlo.constant dense<0> : tensor<i32>
  %one = hlo.constant dense<1> : tensor<i32>
  %none = hlo.constant dense<0.0> : tensor<20x48x32xf32>
  // expected-remark@+1 {{3 tiles of 16 rows run the loop each by itself}}
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

// No number of rows divides 37: the last tile begins earlier, and comes after the others.

// CHECK-LABEL: func.func @overlap
// CHECK: hlo.while({{.*}}) : tensor<i32>, tensor<37x32xf32>, tensor<20x37x32xf32> attributes {xhlo.independent = 2 : i64}
// CHECK: %[[FIRST:.*]] = hlo.multiply %{{.*}}
// CHECK: %[[LAST:.*]] = hlo.constant dense<24> : tensor<i32>
// CHECK: hlo.minimum %[[FIRST]], %[[LAST]]
func.func @overlap(%w: tensor<32x32xf32>, %xs: tensor<20x37x32xf32>, %h0: tensor<37x32xf32>) -> (tensor<37x32xf32>, tensor<20x37x32xf32>) {
  %zero = hlo.constant dense<0> : tensor<i32>
  %one = hlo.constant dense<1> : tensor<i32>
  %none = hlo.constant dense<0.0> : tensor<20x37x32xf32>
  // expected-remark@+1 {{3 tiles of 13 rows run the loop each by itself}}
  %0:3 = hlo.while(%i = %zero, %h = %h0, %ys = %none) : tensor<i32>, tensor<37x32xf32>, tensor<20x37x32xf32>
    cond {
      %n = hlo.constant dense<20> : tensor<i32>
      %1 = hlo.compare LT, %i, %n, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
      hlo.return %1 : tensor<i1>
    } do {
      %1 = hlo.dynamic_slice %xs, %i, %zero, %zero, sizes = [1, 37, 32] : (tensor<20x37x32xf32>, tensor<i32>, tensor<i32>, tensor<i32>) -> tensor<1x37x32xf32>
      %2 = hlo.reshape %1 : (tensor<1x37x32xf32>) -> tensor<37x32xf32>
      %3 = hlo.dot_general %h, %w, contracting_dims = [1] x [0] : (tensor<37x32xf32>, tensor<32x32xf32>) -> tensor<37x32xf32>
      %4 = hlo.add %2, %3 : tensor<37x32xf32>
      %5 = hlo.tanh %4 : tensor<37x32xf32>
      %6 = hlo.reshape %5 : (tensor<37x32xf32>) -> tensor<1x37x32xf32>
      %7 = hlo.dynamic_update_slice %ys, %6, %i, %zero, %zero : (tensor<20x37x32xf32>, tensor<1x37x32xf32>, tensor<i32>, tensor<i32>, tensor<i32>) -> tensor<20x37x32xf32>
      %8 = hlo.add %i, %one : tensor<i32>
      hlo.return %8, %5, %7 : tensor<i32>, tensor<37x32xf32>, tensor<20x37x32xf32>
    }
  return %0#1, %0#2 : tensor<37x32xf32>, tensor<20x37x32xf32>
}

// -----

// A mean over the rows.

// CHECK-LABEL: func.func @dependent
// CHECK-NOT: xhlo.independent
func.func @dependent(%w: tensor<32x32xf32>, %xs: tensor<20x48x32xf32>, %h0: tensor<48x32xf32>) -> (tensor<48x32xf32>, tensor<20x48x32xf32>) {
  %zero = hlo.constant dense<0> : tensor<i32>
  %one = hlo.constant dense<1> : tensor<i32>
  %none = hlo.constant dense<0.0> : tensor<20x48x32xf32>
  // expected-remark@+1 {{not tiled: hlo.reduce combines rows with each other}}
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
      %f = hlo.constant dense<0.0> : tensor<f32>
      %9 = hlo.reduce(%5 init: %f) applies hlo.add across dimensions = [0] : (tensor<48x32xf32>, tensor<f32>) -> tensor<32xf32>
      %10 = hlo.broadcast_in_dim %9, dims = [1] : (tensor<32xf32>) -> tensor<48x32xf32>
      %11 = hlo.subtract %5, %10 : tensor<48x32xf32>
      %6 = hlo.reshape %11 : (tensor<48x32xf32>) -> tensor<1x48x32xf32>
      %7 = hlo.dynamic_update_slice %ys, %6, %i, %zero, %zero : (tensor<20x48x32xf32>, tensor<1x48x32xf32>, tensor<i32>, tensor<i32>, tensor<i32>) -> tensor<20x48x32xf32>
      %8 = hlo.add %i, %one : tensor<i32>
      hlo.return %8, %11, %7 : tensor<i32>, tensor<48x32xf32>, tensor<20x48x32xf32>
    }
  return %0#1, %0#2 : tensor<48x32xf32>, tensor<20x48x32xf32>
}

// -----

// Few rows: one tile would hold most of them.

// CHECK-LABEL: func.func @few
// CHECK-NOT: xhlo.independent
func.func @few(%w: tensor<32x32xf32>, %xs: tensor<20x24x32xf32>, %h0: tensor<24x32xf32>) -> (tensor<24x32xf32>, tensor<20x24x32xf32>) {
  %zero = hlo.constant dense<0> : tensor<i32>
  %one = hlo.constant dense<1> : tensor<i32>
  %none = hlo.constant dense<0.0> : tensor<20x24x32xf32>
  // expected-remark@+1 {{not tiled: its 24 rows do not make tiles of 16}}
  %0:3 = hlo.while(%i = %zero, %h = %h0, %ys = %none) : tensor<i32>, tensor<24x32xf32>, tensor<20x24x32xf32>
    cond {
      %n = hlo.constant dense<20> : tensor<i32>
      %1 = hlo.compare LT, %i, %n, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
      hlo.return %1 : tensor<i1>
    } do {
      %1 = hlo.dynamic_slice %xs, %i, %zero, %zero, sizes = [1, 24, 32] : (tensor<20x24x32xf32>, tensor<i32>, tensor<i32>, tensor<i32>) -> tensor<1x24x32xf32>
      %2 = hlo.reshape %1 : (tensor<1x24x32xf32>) -> tensor<24x32xf32>
      %3 = hlo.dot_general %h, %w, contracting_dims = [1] x [0] : (tensor<24x32xf32>, tensor<32x32xf32>) -> tensor<24x32xf32>
      %4 = hlo.add %2, %3 : tensor<24x32xf32>
      %5 = hlo.tanh %4 : tensor<24x32xf32>
      %6 = hlo.reshape %5 : (tensor<24x32xf32>) -> tensor<1x24x32xf32>
      %7 = hlo.dynamic_update_slice %ys, %6, %i, %zero, %zero : (tensor<20x24x32xf32>, tensor<1x24x32xf32>, tensor<i32>, tensor<i32>, tensor<i32>) -> tensor<20x24x32xf32>
      %8 = hlo.add %i, %one : tensor<i32>
      hlo.return %8, %5, %7 : tensor<i32>, tensor<24x32xf32>, tensor<20x24x32xf32>
    }
  return %0#1, %0#2 : tensor<24x32xf32>, tensor<20x24x32xf32>
}

// -----

// The rows are along the second dimension of all tensors, and turned around in one step.

// CHECK-LABEL: func.func @columns
// CHECK: hlo.dynamic_slice %h0, %{{.*}}, %{{.*}}, sizes = [64, 16]
// CHECK: hlo.while(%i = {{.*}}) : tensor<i32>, tensor<64x16xf32>
// CHECK: hlo.dot_general %w, %h, {{.*}} -> tensor<64x16xf32>
func.func @columns(%w: tensor<64x64xf32>, %h0: tensor<64x32xf32>) -> tensor<64x32xf32> {
  %zero = hlo.constant dense<0> : tensor<i32>
  %one = hlo.constant dense<1> : tensor<i32>
  // expected-remark@+1 {{2 tiles of 16 rows run the loop each by itself}}
  %0:2 = hlo.while(%i = %zero, %h = %h0) : tensor<i32>, tensor<64x32xf32>
    cond {
      %n = hlo.constant dense<20> : tensor<i32>
      %1 = hlo.compare LT, %i, %n, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
      hlo.return %1 : tensor<i1>
    } do {
      %1 = hlo.dot_general %w, %h, contracting_dims = [1] x [0] : (tensor<64x64xf32>, tensor<64x32xf32>) -> tensor<64x32xf32>
      %2 = hlo.reverse %1, dims = [0] : tensor<64x32xf32>
      %3 = hlo.tanh %2 : tensor<64x32xf32>
      %4 = hlo.add %i, %one : tensor<i32>
      hlo.return %4, %3 : tensor<i32>, tensor<64x32xf32>
    }
  return %0#1 : tensor<64x32xf32>
}

// -----

// How many steps there are is not known: so many at a time, and the counter by itself.

// CHECK-LABEL: func.func @while
// CHECK: hlo.while(
// CHECK: do {
// CHECK: hlo.while(
// CHECK: hlo.while({{.*}} attributes {xhlo.independent = 4 : i64}
func.func @while(%w: tensor<64x64xf32>, %h0: tensor<64x64xf32>, %n: tensor<i32>) -> (tensor<i32>, tensor<64x64xf32>) {
  %zero = hlo.constant dense<0> : tensor<i32>
  %one = hlo.constant dense<1> : tensor<i32>
  // expected-remark@+1 {{4 tiles of 16 rows run the loop each by itself, 7281 iterations at a time}}
  %0:2 = hlo.while(%i = %zero, %h = %h0) : tensor<i32>, tensor<64x64xf32>
    cond {
      %1 = hlo.compare LT, %i, %n, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
      hlo.return %1 : tensor<i1>
    } do {
      %1 = hlo.dot_general %h, %w, contracting_dims = [1] x [0] : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
      %2 = hlo.tanh %1 : tensor<64x64xf32>
      %3 = hlo.add %i, %one : tensor<i32>
      hlo.return %3, %2 : tensor<i32>, tensor<64x64xf32>
    }
  return %0#0, %0#1 : tensor<i32>, tensor<64x64xf32>
}

// -----

// Rows that are neighbours in memory are read and written as whole lines, even if two of them were work enough.

// CHECK-LABEL: func.func @neighbours
// CHECK: hlo.while({{.*}} attributes {xhlo.independent = 2 : i64}
func.func @neighbours(%h0: tensor<40x40x32xf32>) -> tensor<40x40x32xf32> {
  %zero = hlo.constant dense<0> : tensor<i32>
  %one = hlo.constant dense<1> : tensor<i32>
  // expected-remark@+1 {{2 tiles of 16 rows run the loop each by itself}}
  %0:2 = hlo.while(%i = %zero, %h = %h0) : tensor<i32>, tensor<40x40x32xf32>
    cond {
      %n = hlo.constant dense<20> : tensor<i32>
      %1 = hlo.compare LT, %i, %n, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
      hlo.return %1 : tensor<i1>
    } do {
      %1 = hlo.reverse %h, dims = [0, 1] : tensor<40x40x32xf32>
      %2 = hlo.add %1, %h : tensor<40x40x32xf32>
      %3 = hlo.add %i, %one : tensor<i32>
      hlo.return %3, %2 : tensor<i32>, tensor<40x40x32xf32>
    }
  return %0#1 : tensor<40x40x32xf32>
}

// -----

// Short rows whose kernels wait for each other: four rows are a tile, if they leave eight tiles.

func.func @short_rows(%a: tensor<32x64xf32>, %b: tensor<24x64xf32>) -> (tensor<32x64xf32>, tensor<24x64xf32>) {
  %zero = hlo.constant dense<0> : tensor<i32>
  %one = hlo.constant dense<1> : tensor<i32>
  %none = hlo.constant dense<0.0> : tensor<f32>
  // expected-remark@+1 {{8 tiles of 4 rows run the loop each by itself}}
  %0:2 = hlo.while(%i = %zero, %x = %a) : tensor<i32>, tensor<32x64xf32>
    cond {
      %n = hlo.constant dense<20> : tensor<i32>
      %2 = hlo.compare LT, %i, %n, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
      hlo.return %2 : tensor<i1>
    } do {
      %2 = hlo.exponential %x : tensor<32x64xf32>
      %3 = hlo.tanh %2 : tensor<32x64xf32>
      %4 = hlo.reduce(%3 init: %none) applies hlo.add across dimensions = [1] : (tensor<32x64xf32>, tensor<f32>) -> tensor<32xf32>
      %5 = hlo.broadcast_in_dim %4, dims = [0] : (tensor<32xf32>) -> tensor<32x64xf32>
      %6 = hlo.divide %3, %5 : tensor<32x64xf32>
      %7 = hlo.add %i, %one : tensor<i32>
      hlo.return %7, %6 : tensor<i32>, tensor<32x64xf32>
    }
  // expected-remark@+1 {{24 tiles of 1 rows run the loop each by itself}}
  %1:2 = hlo.while(%i = %zero, %x = %b) : tensor<i32>, tensor<24x64xf32>
    cond {
      %n = hlo.constant dense<20> : tensor<i32>
      %2 = hlo.compare LT, %i, %n, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
      hlo.return %2 : tensor<i1>
    } do {
      %2 = hlo.exponential %x : tensor<24x64xf32>
      %3 = hlo.tanh %2 : tensor<24x64xf32>
      %4 = hlo.reduce(%3 init: %none) applies hlo.add across dimensions = [1] : (tensor<24x64xf32>, tensor<f32>) -> tensor<24xf32>
      %5 = hlo.broadcast_in_dim %4, dims = [0] : (tensor<24xf32>) -> tensor<24x64xf32>
      %6 = hlo.divide %3, %5 : tensor<24x64xf32>
      %7 = hlo.add %i, %one : tensor<i32>
      hlo.return %7, %6 : tensor<i32>, tensor<24x64xf32>
    }
  return %0#1, %1#1 : tensor<32x64xf32>, tensor<24x64xf32>
}

// -----

// Long rows have enough to compute at once.

func.func @long_rows(%a: tensor<32x640xf32>) -> tensor<32x640xf32> {
  %zero = hlo.constant dense<0> : tensor<i32>
  %one = hlo.constant dense<1> : tensor<i32>
  // expected-remark@+1 {{32 tiles of 1 rows run the loop each by itself}}
  %0:2 = hlo.while(%i = %zero, %x = %a) : tensor<i32>, tensor<32x640xf32>
    cond {
      %n = hlo.constant dense<20> : tensor<i32>
      %2 = hlo.compare LT, %i, %n, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
      hlo.return %2 : tensor<i1>
    } do {
      %2 = hlo.exponential %x : tensor<32x640xf32>
      %3 = hlo.tanh %2 : tensor<32x640xf32>
      %4 = hlo.add %i, %one : tensor<i32>
      hlo.return %4, %3 : tensor<i32>, tensor<32x640xf32>
    }
  return %0#1 : tensor<32x640xf32>
}
