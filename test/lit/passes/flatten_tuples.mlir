// RUN: hlo-opt %s --flatten-tuples | filecheck %s

// CHECK-LABEL: func.func @nested
// CHECK-SAME: (%[[X:.*]]: tensor<f32>, %[[Y:.*]]: tensor<i32>)
// CHECK-NEXT: func.return %[[Y]], %[[X]]
func.func @nested(%x: tensor<f32>, %y: tensor<i32>) -> (tensor<i32>, tensor<f32>) {
  %0 = hlo.tuple %x, %y : tuple<tensor<f32>, tensor<i32>>
  %1 = hlo.tuple %y, %0 : tuple<tensor<i32>, tuple<tensor<f32>, tensor<i32>>>
  %2 = hlo.get_tuple_element %1[1] : (tuple<tensor<i32>, tuple<tensor<f32>, tensor<i32>>>) -> tuple<tensor<f32>, tensor<i32>>
  %3 = hlo.get_tuple_element %2[0] : (tuple<tensor<f32>, tensor<i32>>) -> tensor<f32>
  %4 = hlo.get_tuple_element %1[0] : (tuple<tensor<i32>, tuple<tensor<f32>, tensor<i32>>>) -> tensor<i32>
  return %4, %3 : tensor<i32>, tensor<f32>
}

// Signatures and control flow carry the elements.

// CHECK-LABEL: func.func @through_a_loop
// CHECK-SAME: (%[[P:.*]]: tensor<i1>, %[[A:.*]]: tensor<f32>, %[[B:.*]]: tensor<i32>) -> (tensor<f32>, tensor<i32>)
// CHECK-NEXT: %[[W:.*]]:2 = hlo.while(%[[X:.*]] = %[[A]], %[[Y:.*]] = %[[B]]) : tensor<f32>, tensor<i32>
// CHECK: do {
// CHECK-NEXT: %[[E:.*]] = hlo.exponential %[[X]]
// CHECK-NEXT: hlo.return %[[E]], %[[Y]] : tensor<f32>, tensor<i32>
// CHECK: func.return %[[W]]#0, %[[W]]#1
func.func @through_a_loop(%p: tensor<i1>, %t: tuple<tensor<f32>, tensor<i32>>) -> tuple<tensor<f32>, tensor<i32>> {
  %0 = hlo.while(%v = %t) : tuple<tensor<f32>, tensor<i32>>
    cond {
      hlo.return %p : tensor<i1>
    } do {
      %1 = hlo.get_tuple_element %v[0] : (tuple<tensor<f32>, tensor<i32>>) -> tensor<f32>
      %2 = hlo.get_tuple_element %v[1] : (tuple<tensor<f32>, tensor<i32>>) -> tensor<i32>
      %3 = hlo.exponential %1 : tensor<f32>
      %4 = hlo.tuple %3, %2 : tuple<tensor<f32>, tensor<i32>>
      hlo.return %4 : tuple<tensor<f32>, tensor<i32>>
    }
  return %0 : tuple<tensor<f32>, tensor<i32>>
}
