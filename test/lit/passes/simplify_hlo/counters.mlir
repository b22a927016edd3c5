// RUN: hlo-opt --simplify-hlo %s | filecheck %s

// Loops that count twice: the counter that ends the loop is the only one.

// CHECK-LABEL: @apart
// CHECK: hlo.while(%[[I:.*]] = %{{.*}}, %[[X:.*]] = %{{.*}}) : tensor<i32>, tensor<9xi32>
// CHECK: do {
// CHECK-DAG: %[[J:.*]] = hlo.add %[[I]], %{{.*}} : tensor<i32>
// CHECK-DAG: hlo.subtract %{{.*}}, %[[I]] : tensor<i32>
// CHECK: hlo.return %{{.*}}, %{{.*}} : tensor<i32>, tensor<9xi32>
// CHECK: func.return
func.func @apart(%x: tensor<9xi32>) -> (tensor<9xi32>, tensor<i32>) {
  %zero = hlo.constant dense<0> : tensor<i32>
  %three = hlo.constant dense<3> : tensor<i32>
  %seven = hlo.constant dense<7> : tensor<i32>
  %one = hlo.constant dense<1> : tensor<i32>
  %r:4 = hlo.while(%i = %zero, %j = %three, %k = %seven, %a = %x) : tensor<i32>, tensor<i32>, tensor<i32>, tensor<9xi32>
  cond {
    %go = hlo.compare LT, %i, %seven : (tensor<i32>, tensor<i32>) -> tensor<i1>
    hlo.return %go : tensor<i1>
  } do {
    %product = hlo.multiply %j, %k : tensor<i32>
    %wide = hlo.broadcast_in_dim %product, dims = [] : (tensor<i32>) -> tensor<9xi32>
    %sum = hlo.add %a, %wide : tensor<9xi32>
    %i1 = hlo.add %i, %one : tensor<i32>
    %j1 = hlo.add %j, %one : tensor<i32>
    %k1 = hlo.subtract %k, %one : tensor<i32>
    hlo.return %i1, %j1, %k1, %sum : tensor<i32>, tensor<i32>, tensor<i32>, tensor<9xi32>
  }
  func.return %r#3, %r#1 : tensor<9xi32>, tensor<i32>
}
