// RUN: hlo-opt %s --pair-iterations --split-input-file | filecheck %s
// RUN: hlo-opt %s --pair-iterations --pair-iterations --split-input-file | filecheck %s
// RUN: hlo-opt %s --pair-iterations --fuse-remarks --split-input-file --verify-diagnostics

// CHECK-LABEL: func.func @relax
// CHECK: hlo.while(%[[I:[a-z]+]] = %{{.*}}, %[[V:[a-z]+]] = %{{.*}}) : {{.*}} attributes {xhlo.paired}
// CHECK: do {
// CHECK-NEXT: %[[R:.*]] = hlo.reverse %[[V]]
// CHECK-NEXT: %[[ONE:.*]] = hlo.minimum %[[V]], %[[R]]
// CHECK: %[[J:.*]] = hlo.add %[[I]]
// CHECK-NEXT: %[[B:.*]]:2 = hlo.optimization_barrier %[[J]], %[[ONE]]
// CHECK-NEXT: %[[S:.*]] = hlo.reverse %[[B]]#1
// CHECK-NEXT: %[[TWO:.*]] = hlo.minimum %[[B]]#1, %[[S]]
// CHECK: %[[K:.*]] = hlo.add %[[B]]#0
// CHECK-NEXT: hlo.return %[[K]], %[[TWO]]
func.func @relax(%x: tensor<64x64xf32>) -> tensor<64x64xf32> {
  %zero = hlo.constant dense<0> : tensor<i32>
  // expected-remark@+1 {{two iterations at a time: saves copies of the state}}
  %0:2 = hlo.while(%i = %zero, %v = %x) : tensor<i32>, tensor<64x64xf32>
    cond {
      %n = hlo.constant dense<10> : tensor<i32>
      %1 = hlo.compare LT, %i, %n, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
      hlo.return %1 : tensor<i1>
    } do {
      %1 = hlo.reverse %v, dims = [0] : tensor<64x64xf32>
      %2 = hlo.minimum %v, %1 : tensor<64x64xf32>
      %one = hlo.constant dense<1> : tensor<i32>
      %3 = hlo.add %i, %one : tensor<i32>
      hlo.return %3, %2 : tensor<i32>, tensor<64x64xf32>
    }
  return %0#1 : tensor<64x64xf32>
}

// -----

// An odd number of iterations around a product, an update in place, and a small tensor.

// CHECK-LABEL: func.func @stay
// CHECK-NOT: xhlo.paired
func.func @stay(%x: tensor<64x64xf32>, %y: tensor<8xf32>) -> (tensor<64x64xf32>, tensor<64x64xf32>, tensor<8xf32>) {
  %zero = hlo.constant dense<0> : tensor<i32>
  %one = hlo.constant dense<1> : tensor<i32>
  %nine = hlo.constant dense<9> : tensor<i32>
  %ten = hlo.constant dense<10> : tensor<i32>
  %row = hlo.constant dense<1.0> : tensor<1x64xf32>
  %0:2 = hlo.while(%i = %zero, %v = %x) : tensor<i32>, tensor<64x64xf32>
    cond {
      %1 = hlo.compare LT, %i, %nine, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
      hlo.return %1 : tensor<i1>
    } do {
      %2 = hlo.dot_general %v, %v, contracting_dims = [1] x [0] : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
      %3 = hlo.add %i, %one : tensor<i32>
      hlo.return %3, %2 : tensor<i32>, tensor<64x64xf32>
    }
  %4:3 = hlo.while(%i = %zero, %v = %x, %w = %y) : tensor<i32>, tensor<64x64xf32>, tensor<8xf32>
    cond {
      %5 = hlo.compare LT, %i, %ten, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
      hlo.return %5 : tensor<i1>
    } do {
      %5 = hlo.dynamic_update_slice %v, %row, %i, %zero : (tensor<64x64xf32>, tensor<1x64xf32>, tensor<i32>, tensor<i32>) -> tensor<64x64xf32>
      %6 = hlo.negate %w : tensor<8xf32>
      %7 = hlo.add %i, %one : tensor<i32>
      hlo.return %7, %5, %6 : tensor<i32>, tensor<64x64xf32>, tensor<8xf32>
    }
  return %0#1, %4#1, %4#2 : tensor<64x64xf32>, tensor<64x64xf32>, tensor<8xf32>
}

// -----

// Where a body does little but read neighbours, 2 KB are enough, and of an odd number of iterations the first is made before.

// CHECK-LABEL: func.func @neighbours
// CHECK:         %[[R:.*]] = hlo.reverse %x
// CHECK-NEXT:    %[[M:.*]] = hlo.minimum %x, %[[R]]
// CHECK-NEXT:    %[[START:.*]] = hlo.constant dense<1> : tensor<i32>
// CHECK-NEXT:    hlo.while(%{{.*}} = %[[START]], %{{.*}} = %[[M]]) : {{.*}} attributes {xhlo.paired}
func.func @neighbours(%x: tensor<512xf32>) -> tensor<512xf32> {
  %zero = hlo.constant dense<0> : tensor<i32>
  // expected-remark@+1 {{two iterations at a time: saves copies of the state}}
  %0:2 = hlo.while(%i = %zero, %v = %x) : tensor<i32>, tensor<512xf32>
    cond {
      %n = hlo.constant dense<11> : tensor<i32>
      %1 = hlo.compare LT, %i, %n, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
      hlo.return %1 : tensor<i1>
    } do {
      %1 = hlo.reverse %v, dims = [0] : tensor<512xf32>
      %2 = hlo.minimum %v, %1 : tensor<512xf32>
      %one = hlo.constant dense<1> : tensor<i32>
      %3 = hlo.add %i, %one : tensor<i32>
      hlo.return %3, %2 : tensor<i32>, tensor<512xf32>
    }
  return %0#1 : tensor<512xf32>
}

// -----

// The loop has its state in the memory of an argument that is given to it, which an iteration before would not take.

// CHECK-LABEL: func.func @donated
// CHECK-NOT:     hlo.reverse %x
// CHECK:         hlo.while(%{{.*}} = %zero, %{{.*}} = %x)
// CHECK-NOT:     xhlo.paired
func.func @donated(%x: tensor<512xf32> {jax.buffer_donor = true}) -> tensor<512xf32> {
  %zero = hlo.constant dense<0> : tensor<i32>
  %0:2 = hlo.while(%i = %zero, %v = %x) : tensor<i32>, tensor<512xf32>
    cond {
      %n = hlo.constant dense<11> : tensor<i32>
      %1 = hlo.compare LT, %i, %n, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
      hlo.return %1 : tensor<i1>
    } do {
      %1 = hlo.reverse %v, dims = [0] : tensor<512xf32>
      %2 = hlo.minimum %v, %1 : tensor<512xf32>
      %one = hlo.constant dense<1> : tensor<i32>
      %3 = hlo.add %i, %one : tensor<i32>
      hlo.return %3, %2 : tensor<i32>, tensor<512xf32>
    }
  return %0#1 : tensor<512xf32>
}
