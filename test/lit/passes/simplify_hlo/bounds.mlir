// RUN: hlo-opt --simplify-hlo %s | filecheck %s

// Integers whose bounds are known: the counters of loops, and what is computed from them.

// An index from 0 to 9 needs no wrapping, as of the end, and no clamping from below.
// CHECK-LABEL: @counted
// CHECK: do {
// CHECK-NOT: hlo.select
// CHECK-NOT: hlo.maximum
// CHECK: hlo.dynamic_slice %{{.*}}, %[[I:.*]], sizes = [1] : (tensor<10xf32>
// CHECK: hlo.return
func.func @counted(%x: tensor<10xf32>) -> tensor<f32> {
  %zero = hlo.constant dense<0> : tensor<i32>
  %ten = hlo.constant dense<10> : tensor<i32>
  %one = hlo.constant dense<1> : tensor<i32>
  %sum = hlo.constant dense<0.0> : tensor<f32>
  %r:2 = hlo.while(%i = %zero, %s = %sum) : tensor<i32>, tensor<f32>
  cond {
    %go = hlo.compare LT, %i, %ten : (tensor<i32>, tensor<i32>) -> tensor<i1>
    hlo.return %go : tensor<i1>
  } do {
    %below = hlo.compare LT, %i, %zero : (tensor<i32>, tensor<i32>) -> tensor<i1>
    %wrapped = hlo.add %i, %ten : tensor<i32>
    %j = hlo.select %below, %wrapped, %i : tensor<i1>, tensor<i32>
    %k = hlo.maximum %j, %zero : tensor<i32>
    %part = hlo.dynamic_slice %x, %k, sizes = [1] : (tensor<10xf32>, tensor<i32>) -> tensor<1xf32>
    %e = hlo.reshape %part : (tensor<1xf32>) -> tensor<f32>
    %next = hlo.add %s, %e : tensor<f32>
    %after = hlo.add %i, %one : tensor<i32>
    hlo.return %after, %next : tensor<i32>, tensor<f32>
  }
  func.return %r#1 : tensor<f32>
}

// The condition sees the number that ends the loop, and the first one, which may be above it.
// CHECK-LABEL: @ended
// CHECK: cond {
// CHECK: hlo.compare LT
// CHECK: hlo.compare NE
// CHECK: do {
func.func @ended(%x: tensor<i32>) -> tensor<i32> {
  %zero = hlo.constant dense<0> : tensor<i32>
  %twenty = hlo.constant dense<20> : tensor<i32>
  %ten = hlo.constant dense<10> : tensor<i32>
  %one = hlo.constant dense<1> : tensor<i32>
  %first = hlo.clamp %zero, %x, %twenty : tensor<i32>
  %r = hlo.while(%i = %first) : tensor<i32>
  cond {
    %go = hlo.compare LT, %i, %ten : (tensor<i32>, tensor<i32>) -> tensor<i1>
    %other = hlo.compare NE, %i, %twenty : (tensor<i32>, tensor<i32>) -> tensor<i1>
    %both = hlo.and %go, %other : tensor<i1>
    hlo.return %both : tensor<i1>
  } do {
    %after = hlo.add %i, %one : tensor<i32>
    hlo.return %after : tensor<i32>
  }
  func.return %r : tensor<i32>
}

// A counter of which no end is known may wrap around.
// CHECK-LABEL: @endless
// CHECK: do {
// CHECK: hlo.compare LT
func.func @endless(%x: tensor<i32>) -> tensor<i32> {
  %zero = hlo.constant dense<0> : tensor<i32>
  %one = hlo.constant dense<1> : tensor<i32>
  %most = hlo.constant dense<100> : tensor<i32>
  %r:2 = hlo.while(%i = %zero, %s = %x) : tensor<i32>, tensor<i32>
  cond {
    %square = hlo.multiply %i, %i : tensor<i32>
    %go = hlo.compare LT, %square, %most : (tensor<i32>, tensor<i32>) -> tensor<i1>
    hlo.return %go : tensor<i1>
  } do {
    %below = hlo.compare LT, %i, %zero : (tensor<i32>, tensor<i32>) -> tensor<i1>
    %number = hlo.convert %below : (tensor<i1>) -> tensor<i32>
    %next = hlo.add %s, %number : tensor<i32>
    %after = hlo.add %i, %one : tensor<i32>
    hlo.return %after, %next : tensor<i32>, tensor<i32>
  }
  func.return %r#1 : tensor<i32>
}

// A step from before the loop, of known bounds, and a first value that another loop counts.
// CHECK-LABEL: @strides
// CHECK: hlo.while
// CHECK: hlo.while
// CHECK: do {
// CHECK-NOT: hlo.scatter
// CHECK: hlo.dynamic_update_slice
func.func @strides(%x: tensor<100xi32>) -> tensor<100xi32> {
  %zero = hlo.constant dense<0> : tensor<i32>
  %ten = hlo.constant dense<10> : tensor<i32>
  %hundred = hlo.constant dense<100> : tensor<i32>
  %one = hlo.constant dense<1> : tensor<i32>
  %two = hlo.constant dense<2> : tensor<i32>
  %r:2 = hlo.while(%i = %two, %a = %x) : tensor<i32>, tensor<100xi32>
  cond {
    %go = hlo.compare LT, %i, %ten : (tensor<i32>, tensor<i32>) -> tensor<i1>
    hlo.return %go : tensor<i1>
  } do {
    %square = hlo.multiply %i, %i : tensor<i32>
    %q:2 = hlo.while(%j = %square, %b = %a) : tensor<i32>, tensor<100xi32>
    cond {
      %go = hlo.compare LT, %j, %hundred : (tensor<i32>, tensor<i32>) -> tensor<i1>
      hlo.return %go : tensor<i1>
    } do {
      %at = hlo.reshape %j : (tensor<i32>) -> tensor<1xi32>
      %c = "hlo.scatter"(%b, %at, %one) <{scatter_dimension_numbers = #hlo.scatter<inserted_window_dims = [0], scatter_dims_to_operand_dims = [0]>}> ({
      ^bb0(%old: tensor<i32>, %new: tensor<i32>):
        %sum = hlo.add %old, %new : tensor<i32>
        hlo.return %sum : tensor<i32>
      }) : (tensor<100xi32>, tensor<1xi32>, tensor<i32>) -> tensor<100xi32>
      %after = hlo.add %j, %i : tensor<i32>
      hlo.return %after, %c : tensor<i32>, tensor<100xi32>
    }
    %after = hlo.add %i, %one : tensor<i32>
    hlo.return %after, %q#1 : tensor<i32>, tensor<100xi32>
  }
  func.return %r#1 : tensor<100xi32>
}

// An index that may be outside stays a scatter, which then writes nothing.
// CHECK-LABEL: @outside
// CHECK: hlo.scatter
func.func @outside(%x: tensor<9xi32>) -> tensor<9xi32> {
  %zero = hlo.constant dense<0> : tensor<i32>
  %ten = hlo.constant dense<10> : tensor<i32>
  %one = hlo.constant dense<1> : tensor<i32>
  %r:2 = hlo.while(%i = %zero, %a = %x) : tensor<i32>, tensor<9xi32>
  cond {
    %go = hlo.compare LT, %i, %ten : (tensor<i32>, tensor<i32>) -> tensor<i1>
    hlo.return %go : tensor<i1>
  } do {
    %at = hlo.reshape %i : (tensor<i32>) -> tensor<1xi32>
    %c = "hlo.scatter"(%a, %at, %one) <{scatter_dimension_numbers = #hlo.scatter<inserted_window_dims = [0], scatter_dims_to_operand_dims = [0]>}> ({
    ^bb0(%old: tensor<i32>, %new: tensor<i32>):
      hlo.return %new : tensor<i32>
    }) : (tensor<9xi32>, tensor<1xi32>, tensor<i32>) -> tensor<9xi32>
    %after = hlo.add %i, %one : tensor<i32>
    hlo.return %after, %c : tensor<i32>, tensor<9xi32>
  }
  func.return %r#1 : tensor<9xi32>
}

// A constant without elements has no bounds; its maximum is that of the numbers it is combined with.

// CHECK-LABEL: func.func @no_elements(
// CHECK:         hlo.reduce
// CHECK:         hlo.compare
func.func @no_elements(%x: tensor<13xi32>) -> tensor<13xi1> {
  %none = hlo.constant dense<> : tensor<13x0xi32>
  %least = hlo.constant dense<-5> : tensor<i32>
  %zero = hlo.constant dense<0> : tensor<i32>
  %0 = "hlo.reduce"(%none, %least) <{dimensions = array<i64: 1>}> ({
  ^bb0(%a: tensor<i32>, %b: tensor<i32>):
    %p = hlo.compare GT, %a, %zero : (tensor<i32>, tensor<i32>) -> tensor<i1>
    %m = hlo.select %p, %a, %b : tensor<i1>, tensor<i32>
    hlo.return %m : tensor<i32>
  }) : (tensor<13x0xi32>, tensor<i32>) -> tensor<13xi32>
  %1 = hlo.compare LT, %0, %x : (tensor<13xi32>, tensor<13xi32>) -> tensor<13xi1>
  return %1 : tensor<13xi1>
}

// A sum may be greater than what it consists of, whatever the bounds of that are: the comparison stays.
// CHECK-LABEL: @sum_up_to_ten
// CHECK: reducer
// CHECK: hlo.compare LT
// CHECK: hlo.select
func.func @sum_up_to_ten(%x: tensor<8xi32>) -> tensor<i32> {
  %zero = hlo.constant dense<0> : tensor<i32>
  %three = hlo.constant dense<3> : tensor<8xi32>
  %m = hlo.and %x, %three : tensor<8xi32>
  %r = hlo.reduce(%m init: %zero) across dimensions = [0] : (tensor<8xi32>, tensor<i32>) -> tensor<i32>
   reducer(%a: tensor<i32>, %b: tensor<i32>) {
    %ten = hlo.constant dense<10> : tensor<i32>
    %s = hlo.add %a, %b : tensor<i32>
    %c = hlo.compare LT, %a, %ten : (tensor<i32>, tensor<i32>) -> tensor<i1>
    %o = hlo.select %c, %s, %a : tensor<i1>, tensor<i32>
    hlo.return %o : tensor<i32>
  }
  func.return %r : tensor<i32>
}
