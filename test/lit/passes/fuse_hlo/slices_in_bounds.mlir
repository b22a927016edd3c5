// RUN: hlo-opt --fuse-hlo %s | filecheck %s

// Slices that are inside their operand wherever a loop's counter is need no clamping, and say so.

// CHECK-DAG: hlo.dynamic_slice %{{.*}}, sizes = [3] {xhlo.in_bounds} : (tensor<10xf32>
// CHECK-DAG: hlo.dynamic_slice %{{.*}}, sizes = [2] : (tensor<10xf32>
func.func @slices(%x: tensor<10xf32>, %y: tensor<3xf32>) -> tensor<3xf32> {
  %zero = hlo.constant dense<0> : tensor<i32>
  %ten = hlo.constant dense<8> : tensor<i32>
  %one = hlo.constant dense<1> : tensor<i32>
  %r:2 = hlo.while(%i = %zero, %s = %y) : tensor<i32>, tensor<3xf32>
  cond {
    %go = hlo.compare LT, %i, %ten : (tensor<i32>, tensor<i32>) -> tensor<i1>
    hlo.return %go : tensor<i1>
  } do {
    %three = hlo.dynamic_slice %x, %i, sizes = [3] : (tensor<10xf32>, tensor<i32>) -> tensor<3xf32>
    %i1 = hlo.add %i, %one : tensor<i32>
    %i2 = hlo.add %i1, %one : tensor<i32>
    %two = hlo.dynamic_slice %x, %i2, sizes = [2] : (tensor<10xf32>, tensor<i32>) -> tensor<2xf32>
    %last = hlo.concatenate %two, %two, dim = 0 : (tensor<2xf32>, tensor<2xf32>) -> tensor<4xf32>
    %part = hlo.slice %last [1:4] : (tensor<4xf32>) -> tensor<3xf32>
    %sum = hlo.add %three, %part : tensor<3xf32>
    %next = hlo.add %s, %sum : tensor<3xf32>
    hlo.return %i1, %next : tensor<i32>, tensor<3xf32>
  }
  func.return %r#1 : tensor<3xf32>
}
