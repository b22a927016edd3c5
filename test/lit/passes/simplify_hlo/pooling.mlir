// RUN: hlo-opt %s --simplify-hlo | filecheck %s
// RUN: hlo-opt %s --simplify-hlo --pass-statistics -o %t 2>&1 | filecheck %s --check-prefix=COUNT
// RUN: hlo-opt %s --print-rules | filecheck %s --check-prefix=RULES

// COUNT-DAG: 1  - gated-gradient-of-pooling{{$}}
// COUNT-DAG: 1  - gradient-of-pooling{{$}}
// COUNT-DAG: 1  - gradient-of-sums-of-tiles{{$}}
// COUNT-DAG: 3  - pooling-of-tiles{{$}}
// RULES-DAG: gated-gradient-of-pooling
// RULES-DAG: gradient-of-pooling
// RULES-DAG: gradient-of-sums-of-tiles
// RULES-DAG: pooling-of-tiles

// A maximum begins with the first element, whatever is below all numbers.

// CHECK-LABEL: func.func @maximum(
// CHECK:         %[[A:.*]] = hlo.slice %x [0:4:2, 0:8] {{.*}} -> tensor<2x8xf32>
// CHECK:         %[[B:.*]] = hlo.slice %x [1:4:2, 0:8] {{.*}} -> tensor<2x8xf32>
// CHECK:         hlo.maximum %[[A]], %[[B]]
// CHECK-NOT:     reduce_window
func.func @maximum(%x: tensor<4x8xf32>) -> tensor<2x8xf32> {
  %low = hlo.constant dense<0xFF800000> : tensor<f32>
  %0 = "hlo.reduce_window"(%x, %low) <{window_dimensions = array<i64: 2, 1>, window_strides = array<i64: 2, 1>}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %m = hlo.maximum %a, %b : tensor<f32>
    hlo.return %m : tensor<f32>
  }) : (tensor<4x8xf32>, tensor<f32>) -> tensor<2x8xf32>
  return %0 : tensor<2x8xf32>
}

// Windows that overlap, that are beside each other in a row, and rows that fill no vector stay; so does a sum of few
// columns.

// CHECK-LABEL: func.func @others(
// CHECK-COUNT-4: reduce_window
func.func @others(%x: tensor<4x8xf32>, %y: tensor<4x5xf32>)
    -> (tensor<3x8xf32>, tensor<4x4xf32>, tensor<2x5xf32>, tensor<2x8xf32>) {
  %low = hlo.constant dense<0xFF800000> : tensor<f32>
  %zero = hlo.constant dense<0.0> : tensor<f32>
  %0 = "hlo.reduce_window"(%x, %low) <{window_dimensions = array<i64: 2, 1>, window_strides = array<i64: 1, 1>}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %m = hlo.maximum %a, %b : tensor<f32>
    hlo.return %m : tensor<f32>
  }) : (tensor<4x8xf32>, tensor<f32>) -> tensor<3x8xf32>
  %1 = "hlo.reduce_window"(%x, %low) <{window_dimensions = array<i64: 1, 2>, window_strides = array<i64: 1, 2>}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %m = hlo.maximum %a, %b : tensor<f32>
    hlo.return %m : tensor<f32>
  }) : (tensor<4x8xf32>, tensor<f32>) -> tensor<4x4xf32>
  %2 = "hlo.reduce_window"(%y, %low) <{window_dimensions = array<i64: 2, 1>, window_strides = array<i64: 2, 1>}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %m = hlo.maximum %a, %b : tensor<f32>
    hlo.return %m : tensor<f32>
  }) : (tensor<4x5xf32>, tensor<f32>) -> tensor<2x5xf32>
  %3 = "hlo.reduce_window"(%x, %zero) <{window_dimensions = array<i64: 2, 1>, window_strides = array<i64: 2, 1>}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %m = hlo.add %a, %b : tensor<f32>
    hlo.return %m : tensor<f32>
  }) : (tensor<4x8xf32>, tensor<f32>) -> tensor<2x8xf32>
  return %0, %1, %2, %3 : tensor<3x8xf32>, tensor<4x4xf32>, tensor<2x5xf32>, tensor<2x8xf32>
}

// The gradient reads a byte for each window, which the operand is not needed for. A gradient without the pooling would
// read the operand twice.

// CHECK-LABEL: func.func @gradient(
// CHECK-NOT:     select_and_scatter
// CHECK:         %[[CHOSEN:.*]] = hlo.optimization_barrier %{{.*}} : tensor<2x8xi8>
// CHECK:         %[[N:.*]] = hlo.broadcast_in_dim %[[CHOSEN]], dims = [0, 2] : (tensor<2x8xi8>) -> tensor<2x2x8xi8>
// CHECK:         hlo.compare EQ, %[[N]]
// CHECK:         hlo.reshape {{.*}} -> tensor<4x8xf32>
// CHECK-NOT:     hlo.slice %x
// CHECK:         select_and_scatter"(%y
func.func @gradient(%x: tensor<4x8xf32>, %y: tensor<4x8xf32>, %g: tensor<2x8xf32>)
    -> (tensor<2x8xf32>, tensor<4x8xf32>, tensor<4x8xf32>) {
  %low = hlo.constant dense<0xFF800000> : tensor<f32>
  %zero = hlo.constant dense<0.0> : tensor<f32>
  %0 = "hlo.reduce_window"(%x, %low) <{window_dimensions = array<i64: 2, 1>, window_strides = array<i64: 2, 1>}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %m = hlo.maximum %a, %b : tensor<f32>
    hlo.return %m : tensor<f32>
  }) : (tensor<4x8xf32>, tensor<f32>) -> tensor<2x8xf32>
  %1 = "hlo.select_and_scatter"(%x, %g, %zero) <{window_dimensions = array<i64: 2, 1>, window_strides = array<i64: 2, 1>}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %p = hlo.compare GE, %a, %b : (tensor<f32>, tensor<f32>) -> tensor<i1>
    hlo.return %p : tensor<i1>
  }, {
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %s = hlo.add %a, %b : tensor<f32>
    hlo.return %s : tensor<f32>
  }) : (tensor<4x8xf32>, tensor<2x8xf32>, tensor<f32>) -> tensor<4x8xf32>
  %2 = "hlo.select_and_scatter"(%y, %g, %zero) <{window_dimensions = array<i64: 2, 1>, window_strides = array<i64: 2, 1>}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %p = hlo.compare GE, %a, %b : (tensor<f32>, tensor<f32>) -> tensor<i1>
    hlo.return %p : tensor<i1>
  }, {
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %s = hlo.add %a, %b : tensor<f32>
    hlo.return %s : tensor<f32>
  }) : (tensor<4x8xf32>, tensor<2x8xf32>, tensor<f32>) -> tensor<4x8xf32>
  return %0, %1, %2 : tensor<2x8xf32>, tensor<4x8xf32>, tensor<4x8xf32>
}

// After relu only elements above zero have a gradient: where the selected one is not, none of its window has.

// CHECK-LABEL: func.func @relu(
// CHECK-NOT:     select_and_scatter
// CHECK:         %[[HOLDS:.*]] = hlo.compare GT, {{.*}} : (tensor<2x8xf32>, tensor<2x8xf32>)
// CHECK:         %[[GATED:.*]] = hlo.select %[[HOLDS]]
// CHECK:         hlo.optimization_barrier %[[GATED]] : tensor<2x8xi8>
// CHECK-NOT:     select_and_scatter
func.func @relu(%x: tensor<4x8xf32>, %g: tensor<2x8xf32>) -> (tensor<2x8xf32>, tensor<4x8xf32>) {
  %low = hlo.constant dense<0xFF800000> : tensor<f32>
  %zero = hlo.constant dense<0.0> : tensor<f32>
  %zeros = hlo.constant dense<0.0> : tensor<4x8xf32>
  %h = hlo.maximum %x, %zeros : tensor<4x8xf32>
  %0 = "hlo.reduce_window"(%h, %low) <{window_dimensions = array<i64: 2, 1>, window_strides = array<i64: 2, 1>}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %m = hlo.maximum %a, %b : tensor<f32>
    hlo.return %m : tensor<f32>
  }) : (tensor<4x8xf32>, tensor<f32>) -> tensor<2x8xf32>
  %1 = "hlo.select_and_scatter"(%h, %g, %zero) <{window_dimensions = array<i64: 2, 1>, window_strides = array<i64: 2, 1>}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %p = hlo.compare GE, %a, %b : (tensor<f32>, tensor<f32>) -> tensor<i1>
    hlo.return %p : tensor<i1>
  }, {
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %s = hlo.add %a, %b : tensor<f32>
    hlo.return %s : tensor<f32>
  }) : (tensor<4x8xf32>, tensor<2x8xf32>, tensor<f32>) -> tensor<4x8xf32>
  %2 = hlo.compare GT, %x, %zeros : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xi1>
  %3 = hlo.select %2, %1, %zeros : tensor<4x8xi1>, tensor<4x8xf32>
  return %0, %3 : tensor<2x8xf32>, tensor<4x8xf32>
}

// The gradient of sums of tiles, of which one row was left over and one column cut off, repeats updates; -0 becomes 0.

// CHECK-LABEL: func.func @tiled_sums(
// CHECK:         %[[U:.*]] = hlo.add %g
// CHECK:         %[[R:.*]] = hlo.broadcast_in_dim %[[U]], dims = [0, 2, 4] : (tensor<3x4x5xf32>) -> tensor<3x2x4x3x5xf32>
// CHECK:         %[[W:.*]] = hlo.reshape %[[R]] : (tensor<3x2x4x3x5xf32>) -> tensor<6x12x5xf32>
// CHECK:         hlo.pad %[[W]], {{.*}}, low = [0, -1, 0], high = [1, 0, 0], interior = [0, 0, 0]
// CHECK-NOT:     reduce_window
func.func @tiled_sums(%g: tensor<3x4x5xf32>) -> tensor<7x11x5xf32> {
  %zero = hlo.constant dense<0.0> : tensor<f32>
  %0 = hlo.pad %g, %zero, low = [1, 1, 0], high = [2, 2, 0], interior = [1, 2, 0] : (tensor<3x4x5xf32>, tensor<f32>) -> tensor<8x13x5xf32>
  %1 = "hlo.reduce_window"(%0, %zero) <{window_dimensions = array<i64: 2, 3, 1>}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %m = hlo.add %a, %b : tensor<f32>
    hlo.return %m : tensor<f32>
  }) : (tensor<8x13x5xf32>, tensor<f32>) -> tensor<7x11x5xf32>
  return %1 : tensor<7x11x5xf32>
}

// Not if windows overlap, or what interleaves is not zero.

// CHECK-LABEL: func.func @other_sums(
// CHECK-COUNT-2: hlo.reduce_window
func.func @other_sums(%g: tensor<3xf32>) -> (tensor<5xf32>, tensor<6xf32>) {
  %zero = hlo.constant dense<0.0> : tensor<f32>
  %one = hlo.constant dense<1.0> : tensor<f32>
  %0 = hlo.pad %g, %zero, low = [1], high = [1], interior = [1] : (tensor<3xf32>, tensor<f32>) -> tensor<7xf32>
  %1 = "hlo.reduce_window"(%0, %zero) <{window_dimensions = array<i64: 3>}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %m = hlo.add %a, %b : tensor<f32>
    hlo.return %m : tensor<f32>
  }) : (tensor<7xf32>, tensor<f32>) -> tensor<5xf32>
  %2 = hlo.pad %g, %one, low = [1], high = [1], interior = [1] : (tensor<3xf32>, tensor<f32>) -> tensor<7xf32>
  %3 = "hlo.reduce_window"(%2, %zero) <{window_dimensions = array<i64: 2>}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %m = hlo.add %a, %b : tensor<f32>
    hlo.return %m : tensor<f32>
  }) : (tensor<7xf32>, tensor<f32>) -> tensor<6xf32>
  return %1, %3 : tensor<5xf32>, tensor<6xf32>
}
