// RUN: hlo-opt %s --simplify-hlo | filecheck %s
// RUN: hlo-opt %s --pass-pipeline='simplify-hlo{also=float-product-of-one-hot}' | filecheck %s --check-prefix=FAST

// CHECK-LABEL: func.func @one_hot(
// CHECK-NOT:     hlo.dot_general
// CHECK:         "hlo.gather"(%t
func.func @one_hot(%i: tensor<5xi32>, %t: tensor<9x4xi32>) -> tensor<5x4xi32> {
  %n = hlo.iota dim = 1 : tensor<5x9xi32>
  %j = hlo.broadcast_in_dim %i, dims = [0] : (tensor<5xi32>) -> tensor<5x9xi32>
  %p = hlo.compare EQ, %j, %n, SIGNED : (tensor<5x9xi32>, tensor<5x9xi32>) -> tensor<5x9xi1>
  %h = hlo.convert %p : (tensor<5x9xi1>) -> tensor<5x9xi32>
  %0 = hlo.dot_general %h, %t, contracting_dims = [1] x [0] : (tensor<5x9xi32>, tensor<9x4xi32>) -> tensor<5x4xi32>
  return %0 : tensor<5x4xi32>
}

// FAST-LABEL: func.func @one_hot_floats(
// FAST:         "hlo.gather"(%t
// CHECK-LABEL: func.func @one_hot_floats(
// CHECK:         hlo.dot_general
func.func @one_hot_floats(%i: tensor<5xi32>, %t: tensor<9x4xf32>) -> tensor<5x4xf32> {
  %n = hlo.iota dim = 1 : tensor<5x9xi32>
  %j = hlo.broadcast_in_dim %i, dims = [0] : (tensor<5xi32>) -> tensor<5x9xi32>
  %p = hlo.compare EQ, %j, %n, SIGNED : (tensor<5x9xi32>, tensor<5x9xi32>) -> tensor<5x9xi1>
  %h = hlo.convert %p : (tensor<5x9xi1>) -> tensor<5x9xf32>
  %0 = hlo.dot_general %h, %t, contracting_dims = [1] x [0] : (tensor<5x9xf32>, tensor<9x4xf32>) -> tensor<5x4xf32>
  return %0 : tensor<5x4xf32>
}

// The gates of a recurrence: one product of the state with both matrices.

// CHECK-LABEL: func.func @gates(
// CHECK:         %[[W:.*]] = hlo.concatenate %u, %v, dim = 1
// CHECK:         hlo.while
// CHECK:         %[[P:.*]] = hlo.dot_general %{{.*}}, %[[W]]
// CHECK-NOT:     hlo.dot_general
// CHECK-DAG:     hlo.slice %[[P]] [0:2, 0:4]
// CHECK-DAG:     hlo.slice %[[P]] [0:2, 4:8]
func.func @gates(%h: tensor<2x4xf32>, %u: tensor<4x4xf32>, %v: tensor<4x4xf32>) -> tensor<2x4xf32> {
  %zero = hlo.constant dense<0> : tensor<i32>
  %one = hlo.constant dense<1> : tensor<i32>
  %n = hlo.constant dense<50> : tensor<i32>
  %0:2 = hlo.while(%i = %zero, %s = %h) : tensor<i32>, tensor<2x4xf32>
   cond {
    %c = hlo.compare LT, %i, %n, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
    hlo.return %c : tensor<i1>
  } do {
    %a = hlo.dot_general %s, %u, contracting_dims = [1] x [0] : (tensor<2x4xf32>, tensor<4x4xf32>) -> tensor<2x4xf32>
    %b = hlo.dot_general %s, %v, contracting_dims = [1] x [0] : (tensor<2x4xf32>, tensor<4x4xf32>) -> tensor<2x4xf32>
    %t = hlo.tanh %a : tensor<2x4xf32>
    %m = hlo.multiply %t, %b : tensor<2x4xf32>
    %k = hlo.add %i, %one : tensor<i32>
    hlo.return %k, %m : tensor<i32>, tensor<2x4xf32>
  }
  return %0#1 : tensor<2x4xf32>
}
