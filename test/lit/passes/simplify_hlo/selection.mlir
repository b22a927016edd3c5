// RUN: hlo-opt %s --simplify-hlo | filecheck %s

// CHECK-LABEL: func.func @select_of_not
// CHECK-NEXT:    %[[R:.*]] = hlo.select %p, %b, %a
// CHECK-NEXT:    return %[[R]]
func.func @select_of_not(%p: tensor<4xi1>, %a: tensor<4xf32>, %b: tensor<4xf32>) -> tensor<4xf32> {
  %0 = hlo.not %p : tensor<4xi1>
  %1 = hlo.select %0, %a, %b : tensor<4xi1>, tensor<4xf32>
  return %1 : tensor<4xf32>
}

// CHECK-LABEL: func.func @select_of_select
// CHECK-NEXT:    %[[R:.*]] = hlo.select %p, %a, %b
// CHECK-NEXT:    return %[[R]]
func.func @select_of_select(%p: tensor<4xi1>, %a: tensor<4xf32>, %b: tensor<4xf32>, %c: tensor<4xf32>) -> tensor<4xf32> {
  %0 = hlo.select %p, %a, %c : tensor<4xi1>, tensor<4xf32>
  %1 = hlo.select %p, %c, %b : tensor<4xi1>, tensor<4xf32>
  %2 = hlo.select %p, %0, %1 : tensor<4xi1>, tensor<4xf32>
  return %2 : tensor<4xf32>
}

// CHECK-LABEL: func.func @select_of_truths
// CHECK-NEXT:    %[[R:.*]] = hlo.not %p
// CHECK-NEXT:    return %p, %[[R]]
func.func @select_of_truths(%p: tensor<4xi1>) -> (tensor<4xi1>, tensor<4xi1>) {
  %t = hlo.constant dense<true> : tensor<4xi1>
  %f = hlo.constant dense<false> : tensor<4xi1>
  %0 = hlo.select %p, %t, %f : tensor<4xi1>, tensor<4xi1>
  %1 = hlo.select %p, %f, %t : tensor<4xi1>, tensor<4xi1>
  return %0, %1 : tensor<4xi1>, tensor<4xi1>
}

// Equality has an opposite for all numbers, order only for integers.

// CHECK-LABEL: func.func @not_of_compare
// CHECK-DAG:     hlo.compare GE, %i, %j
// CHECK-DAG:     hlo.compare NE, %x, %y
// CHECK-DAG:     %[[L:.*]] = hlo.compare LT, %x, %y
// CHECK-DAG:     hlo.not %[[L]]
func.func @not_of_compare(%i: tensor<4xi32>, %j: tensor<4xi32>, %x: tensor<4xf32>, %y: tensor<4xf32>) -> (tensor<4xi1>, tensor<4xi1>, tensor<4xi1>) {
  %0 = hlo.compare LT, %i, %j, SIGNED : (tensor<4xi32>, tensor<4xi32>) -> tensor<4xi1>
  %1 = hlo.compare EQ, %x, %y, FLOAT : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xi1>
  %2 = hlo.compare LT, %x, %y, FLOAT : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xi1>
  %3 = hlo.not %0 : tensor<4xi1>
  %4 = hlo.not %1 : tensor<4xi1>
  %5 = hlo.not %2 : tensor<4xi1>
  return %3, %4, %5 : tensor<4xi1>, tensor<4xi1>, tensor<4xi1>
}

// CHECK-LABEL: func.func @compare_of_truth
// CHECK-NEXT:    %[[R:.*]] = hlo.not %p
// CHECK-NEXT:    return %p, %[[R]]
func.func @compare_of_truth(%p: tensor<4xi1>) -> (tensor<4xi1>, tensor<4xi1>) {
  %zero = hlo.constant dense<0.0> : tensor<4xf32>
  %none = hlo.constant dense<0> : tensor<4xi32>
  %0 = hlo.convert %p : (tensor<4xi1>) -> tensor<4xf32>
  %1 = hlo.compare NE, %0, %zero, FLOAT : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xi1>
  %2 = hlo.convert %p : (tensor<4xi1>) -> tensor<4xi32>
  %3 = hlo.compare EQ, %2, %none, SIGNED : (tensor<4xi32>, tensor<4xi32>) -> tensor<4xi1>
  return %1, %3 : tensor<4xi1>, tensor<4xi1>
}

// A maximum along repeated elements is a maximum of the operand, or of each element with the initial value.

// CHECK-LABEL: func.func @reduce_of_broadcast
// CHECK:         hlo.reduce(%x init: %i) applies hlo.maximum across dimensions = [0] : (tensor<3x4xf32>, tensor<f32>) -> tensor<4xf32>
// CHECK:         %[[I:.*]] = hlo.broadcast_in_dim %i, dims = []
// CHECK-NEXT:    hlo.maximum %x, %[[I]] : tensor<3x4xf32>
func.func @reduce_of_broadcast(%x: tensor<3x4xf32>, %i: tensor<f32>) -> (tensor<4xf32>, tensor<3x4xf32>) {
  %0 = hlo.broadcast_in_dim %x, dims = [0, 2] : (tensor<3x4xf32>) -> tensor<3x5x4xf32>
  %1 = hlo.reduce(%0 init: %i) applies hlo.maximum across dimensions = [0, 1] : (tensor<3x5x4xf32>, tensor<f32>) -> tensor<4xf32>
  %2 = hlo.reduce(%0 init: %i) applies hlo.maximum across dimensions = [1] : (tensor<3x5x4xf32>, tensor<f32>) -> tensor<3x4xf32>
  return %1, %2 : tensor<4xf32>, tensor<3x4xf32>
}

// Sums are not.

// CHECK-LABEL: func.func @sum_of_broadcast
// CHECK:         hlo.broadcast_in_dim %x
// CHECK:         hlo.reduce
func.func @sum_of_broadcast(%x: tensor<3xf32>, %i: tensor<f32>) -> tensor<3xf32> {
  %0 = hlo.broadcast_in_dim %x, dims = [0] : (tensor<3xf32>) -> tensor<3x5xf32>
  %1 = hlo.reduce(%0 init: %i) applies hlo.add across dimensions = [1] : (tensor<3x5xf32>, tensor<f32>) -> tensor<3xf32>
  return %1 : tensor<3xf32>
}

// A comparison of one of two constants is known for each.

// CHECK-LABEL: func.func @compare_of_choice
// CHECK-NEXT:    %[[N:.*]] = hlo.not %p
// CHECK-NEXT:    %[[T:.*]] = hlo.constant dense<true>
// CHECK-NEXT:    return %p, %[[N]], %[[T]]
func.func @compare_of_choice(%p: tensor<8xi1>) -> (tensor<8xi1>, tensor<8xi1>, tensor<8xi1>) {
  %a = hlo.constant dense<3.0> : tensor<8xf32>
  %b = hlo.constant dense<5.0> : tensor<8xf32>
  %nan = hlo.constant dense<0x7FC00000> : tensor<8xf32>
  %0 = hlo.select %p, %a, %b : tensor<8xi1>, tensor<8xf32>
  %1 = hlo.compare EQ, %0, %a : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xi1>
  %2 = hlo.compare GT, %0, %a : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xi1>
  %3 = hlo.compare NE, %0, %nan : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xi1>
  return %1, %2, %3 : tensor<8xi1>, tensor<8xi1>, tensor<8xi1>
}

// An unsigned index is not negative: nothing is added to it.

// CHECK-LABEL: func.func @unsigned_index
// CHECK-NEXT:    return %i
func.func @unsigned_index(%i: tensor<8xui32>) -> tensor<8xui32> {
  %zero = hlo.constant dense<0> : tensor<8xui32>
  %n = hlo.constant dense<10> : tensor<8xui32>
  %c = hlo.compare LT, %i, %zero, UNSIGNED : (tensor<8xui32>, tensor<8xui32>) -> tensor<8xi1>
  %w = hlo.add %i, %n : tensor<8xui32>
  %s = hlo.select %c, %w, %i : tensor<8xi1>, tensor<8xui32>
  return %s : tensor<8xui32>
}

// CHECK-LABEL: func.func @greatest
// CHECK:         %[[F:.*]] = hlo.constant dense<false>
// CHECK-NEXT:    %[[C:.*]] = hlo.compare GT
// CHECK-NEXT:    return %[[F]], %[[C]]
func.func @greatest(%i: tensor<8xi8>) -> (tensor<8xi1>, tensor<8xi1>) {
  %most = hlo.constant dense<127> : tensor<8xi8>
  %less = hlo.constant dense<126> : tensor<8xi8>
  %0 = hlo.compare GT, %i, %most, SIGNED : (tensor<8xi8>, tensor<8xi8>) -> tensor<8xi1>
  %1 = hlo.compare GT, %i, %less, SIGNED : (tensor<8xi8>, tensor<8xi8>) -> tensor<8xi1>
  return %0, %1 : tensor<8xi1>, tensor<8xi1>
}

// Two bounds on one side are one; zeros of both signs stay.

// CHECK-LABEL: func.func @bounds
// CHECK-NEXT:    %[[FIVE:.*]] = hlo.constant dense<5.0
// CHECK-NEXT:    %[[X:.*]] = hlo.maximum %x, %[[FIVE]]
// CHECK-NEXT:    %[[ONE:.*]] = hlo.constant dense<1>
// CHECK-NEXT:    %[[I:.*]] = hlo.minimum %i, %[[ONE]]
// CHECK:         hlo.maximum %x
// CHECK-NEXT:    %[[Z:.*]] = hlo.maximum
// CHECK-NEXT:    return %[[X]], %[[I]], %[[Z]]
func.func @bounds(%x: tensor<8xf32>, %i: tensor<8xi32>) -> (tensor<8xf32>, tensor<8xi32>, tensor<8xf32>) {
  %three = hlo.constant dense<3.0> : tensor<8xf32>
  %five = hlo.constant dense<5.0> : tensor<8xf32>
  %0 = hlo.maximum %x, %three : tensor<8xf32>
  %1 = hlo.maximum %five, %0 : tensor<8xf32>
  %one = hlo.constant dense<1> : tensor<8xi32>
  %two = hlo.constant dense<2> : tensor<8xi32>
  %2 = hlo.minimum %i, %one : tensor<8xi32>
  %3 = hlo.minimum %2, %two : tensor<8xi32>
  %zero = hlo.constant dense<0.0> : tensor<8xf32>
  %minus = hlo.constant dense<-0.0> : tensor<8xf32>
  %4 = hlo.maximum %x, %zero : tensor<8xf32>
  %5 = hlo.maximum %4, %minus : tensor<8xf32>
  return %1, %3, %5 : tensor<8xf32>, tensor<8xi32>, tensor<8xf32>
}

// CHECK-LABEL: func.func @magnitude
// CHECK-NEXT:    %[[A:.*]] = hlo.abs %x
// CHECK-NEXT:    return %[[A]]
func.func @magnitude(%x: tensor<8xf32>) -> tensor<8xf32> {
  %0 = hlo.negate %x : tensor<8xf32>
  %1 = hlo.abs %0 : tensor<8xf32>
  return %1 : tensor<8xf32>
}
