// RUN: hlo-opt %s --simplify-hlo --split-input-file | filecheck %s

// %bound never changes and is used from outside; nothing needs %unused.

// CHECK-LABEL: func.func @carried
// CHECK-SAME: (%[[N:.*]]: tensor<i32>, %{{.*}}: tensor<f32>)
// CHECK: %[[R:.*]] = hlo.while(%[[I:.*]] = %{{.*}}) : tensor<i32>
// CHECK-NEXT: cond {
// CHECK-NEXT: hlo.compare LT, %[[I]], %[[N]]
// CHECK: do {
// CHECK-NEXT: %[[ONE:.*]] = hlo.constant
// CHECK-NEXT: %[[NEXT:.*]] = hlo.add %[[I]], %[[ONE]]
// CHECK-NEXT: hlo.return %[[NEXT]] : tensor<i32>
// CHECK: func.return %[[R]], %[[N]]
func.func @carried(%n: tensor<i32>, %x: tensor<f32>) -> (tensor<i32>, tensor<i32>) {
  %zero = hlo.constant dense<0> : tensor<i32>
  %0:3 = hlo.while(%i = %zero, %bound = %n, %unused = %x) : tensor<i32>, tensor<i32>, tensor<f32>
    cond {
      %1 = hlo.compare LT, %i, %bound, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
      hlo.return %1 : tensor<i1>
    } do {
      %one = hlo.constant dense<1> : tensor<i32>
      %1 = hlo.add %i, %one : tensor<i32>
      %2 = hlo.exponential %unused : tensor<f32>
      hlo.return %1, %bound, %2 : tensor<i32>, tensor<i32>, tensor<f32>
    }
  return %0#0, %0#1 : tensor<i32>, tensor<i32>
}

// -----

// CHECK-LABEL: func.func @known
// CHECK-SAME: (%[[X:.*]]: tensor<f32>)
// CHECK-NEXT: %[[E:.*]] = hlo.exponential %[[X]]
// CHECK-NEXT: %[[N:.*]] = hlo.negate %[[X]]
// CHECK-NEXT: func.return %[[E]], %[[N]], %[[X]]
func.func @known(%x: tensor<f32>) -> (tensor<f32>, tensor<f32>, tensor<f32>) {
  %true = hlo.constant dense<true> : tensor<i1>
  %false = hlo.constant dense<false> : tensor<i1>
  %nine = hlo.constant dense<9> : tensor<i32>
  %0 = "hlo.if"(%true) ({
    %1 = hlo.exponential %x : tensor<f32>
    hlo.return %1 : tensor<f32>
  }, {
    hlo.return %x : tensor<f32>
  }) : (tensor<i1>) -> tensor<f32>
  %2 = "hlo.case"(%nine) ({
    hlo.return %x : tensor<f32>
  }, {
    %1 = hlo.negate %x : tensor<f32>
    hlo.return %1 : tensor<f32>
  }) : (tensor<i32>) -> tensor<f32>
  %3 = hlo.while(%v = %x) : tensor<f32>
    cond {
      hlo.return %false : tensor<i1>
    } do {
      %1 = hlo.tanh %v : tensor<f32>
      hlo.return %1 : tensor<f32>
    }
  return %0, %2, %3 : tensor<f32>, tensor<f32>, tensor<f32>
}

// -----

// CHECK-LABEL: func.func @unused_result
// CHECK: %[[R:.*]] = "hlo.if"
// CHECK-NOT: hlo.tanh
// CHECK: func.return %[[R]]
func.func @unused_result(%p: tensor<i1>, %x: tensor<f32>) -> tensor<f32> {
  %0:2 = "hlo.if"(%p) ({
    %1 = hlo.exponential %x : tensor<f32>
    %2 = hlo.tanh %x : tensor<f32>
    hlo.return %1, %2 : tensor<f32>, tensor<f32>
  }, {
    hlo.return %x, %x : tensor<f32>, tensor<f32>
  }) : (tensor<i1>) -> (tensor<f32>, tensor<f32>)
  return %0#0 : tensor<f32>
}

// -----

// Two arrays of equal constants into which every step writes the same are one.

// CHECK-LABEL: func.func @stacked_twice
// CHECK: %[[L:.*]]:2 = hlo.while(%[[I:.*]] = %{{.*}}, %[[S:.*]] = %{{.*}}) : tensor<i32>, tensor<4x2xf32>
// CHECK: func.return %[[L]]#1, %[[L]]#1
func.func @stacked_twice(%x: tensor<2xf32>) -> (tensor<4x2xf32>, tensor<4x2xf32>) {
  %zero = hlo.constant dense<0> : tensor<i32>
  %a0 = hlo.constant dense<0.0> : tensor<4x2xf32>
  %b0 = hlo.constant dense<0.0> : tensor<4x2xf32>
  %0:3 = hlo.while(%i = %zero, %a = %a0, %b = %b0) : tensor<i32>, tensor<4x2xf32>, tensor<4x2xf32>
    cond {
      %n = hlo.constant dense<4> : tensor<i32>
      %1 = hlo.compare LT, %i, %n, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
      hlo.return %1 : tensor<i1>
    } do {
      %one = hlo.constant dense<1> : tensor<i32>
      %c = hlo.constant dense<0> : tensor<i32>
      %d = hlo.constant dense<0> : tensor<i32>
      %1 = hlo.reshape %x : (tensor<2xf32>) -> tensor<1x2xf32>
      %2 = hlo.reshape %x : (tensor<2xf32>) -> tensor<1x2xf32>
      %3 = hlo.dynamic_update_slice %a, %1, %i, %c : (tensor<4x2xf32>, tensor<1x2xf32>, tensor<i32>, tensor<i32>) -> tensor<4x2xf32>
      %4 = hlo.dynamic_update_slice %b, %2, %i, %d : (tensor<4x2xf32>, tensor<1x2xf32>, tensor<i32>, tensor<i32>) -> tensor<4x2xf32>
      %5 = hlo.add %i, %one : tensor<i32>
      hlo.return %5, %3, %4 : tensor<i32>, tensor<4x2xf32>, tensor<4x2xf32>
    }
  return %0#1, %0#2 : tensor<4x2xf32>, tensor<4x2xf32>
}
