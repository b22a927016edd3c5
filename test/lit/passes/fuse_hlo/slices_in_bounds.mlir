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

// The first result of the reduction is a sum that the second one was before, which may be greater than all it sums up.
// CHECK-LABEL: @sum_of_another
// CHECK: hlo.dynamic_slice %{{.*}}, sizes = [1] : (tensor<4xf32>
func.func @sum_of_another(%x: tensor<8xi32>, %y: tensor<8xi32>, %t: tensor<4xf32>) -> tensor<1xf32> {
  %zero = hlo.constant dense<0> : tensor<i32>
  %three = hlo.constant dense<3> : tensor<8xi32>
  %m = hlo.and %x, %three : tensor<8xi32>
  %n = hlo.and %y, %three : tensor<8xi32>
  %r:2 = hlo.reduce(%m init: %zero), (%n init: %zero) across dimensions = [0] : (tensor<8xi32>, tensor<8xi32>, tensor<i32>, tensor<i32>) -> (tensor<i32>, tensor<i32>)
   reducer(%a: tensor<i32>, %b: tensor<i32>) (%c: tensor<i32>, %d: tensor<i32>) {
    %s = hlo.add %c, %d : tensor<i32>
    hlo.return %c, %s : tensor<i32>, tensor<i32>
  }
  %o = hlo.dynamic_slice %t, %r#0, sizes = [1] : (tensor<4xf32>, tensor<i32>) -> tensor<1xf32>
  func.return %o : tensor<1xf32>
}

// A reduction that only chooses has the bounds of its operands.
// CHECK-LABEL: @chosen
// CHECK: hlo.dynamic_slice %{{.*}}, sizes = [1] {xhlo.in_bounds} : (tensor<4xf32>
func.func @chosen(%x: tensor<8xi32>, %t: tensor<4xf32>) -> tensor<1xf32> {
  %zero = hlo.constant dense<0> : tensor<i32>
  %three = hlo.constant dense<3> : tensor<8xi32>
  %n = hlo.and %x, %three : tensor<8xi32>
  %r:2 = hlo.reduce(%x init: %zero), (%n init: %zero) across dimensions = [0] : (tensor<8xi32>, tensor<8xi32>, tensor<i32>, tensor<i32>) -> (tensor<i32>, tensor<i32>)
   reducer(%a: tensor<i32>, %b: tensor<i32>) (%c: tensor<i32>, %d: tensor<i32>) {
    %s = hlo.add %a, %b : tensor<i32>
    %less = hlo.compare LT, %c, %d : (tensor<i32>, tensor<i32>) -> tensor<i1>
    %e = hlo.select %less, %c, %d : tensor<i1>, tensor<i32>
    hlo.return %s, %e : tensor<i32>, tensor<i32>
  }
  %o = hlo.dynamic_slice %t, %r#1, sizes = [1] : (tensor<4xf32>, tensor<i32>) -> tensor<1xf32>
  func.return %o : tensor<1xf32>
}

// Nothing is known of where an update of unknown size ends.
// CHECK-LABEL: @of_unknown_size
// CHECK: hlo.dynamic_update_slice %{{.*}}, %{{.*}}, %{{.*}} : (tensor<8xf32>
func.func @of_unknown_size(%x: tensor<8xf32>, %u: tensor<?xf32>, %k: tensor<i32>) -> tensor<8xf32> {
  %seven = hlo.constant dense<7> : tensor<i32>
  %i = hlo.and %k, %seven : tensor<i32>
  %o = hlo.dynamic_update_slice %x, %u, %i : (tensor<8xf32>, tensor<?xf32>, tensor<i32>) -> tensor<8xf32>
  func.return %o : tensor<8xf32>
}
