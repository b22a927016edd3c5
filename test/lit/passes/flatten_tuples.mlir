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
