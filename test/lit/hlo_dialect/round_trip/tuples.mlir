// RUN: hlo-opt %s --verify-roundtrip | filecheck %s

// CHECK-LABEL: func.func @tuples
func.func @tuples(%x: tensor<4xf32>, %i: tensor<i32>) -> tensor<i32> {
  // CHECK: %[[T:.*]] = hlo.tuple %{{.*}}, %{{.*}} : tuple<tensor<4xf32>, tensor<i32>>
  %0 = stablehlo.tuple %x, %i : tuple<tensor<4xf32>, tensor<i32>>
  // CHECK: hlo.get_tuple_element %[[T]][1] : (tuple<tensor<4xf32>, tensor<i32>>) -> tensor<i32>
  %1 = stablehlo.get_tuple_element %0[1] : (tuple<tensor<4xf32>, tensor<i32>>) -> tensor<i32>
  // CHECK: hlo.tuple : tuple<>
  %2 = stablehlo.tuple : tuple<>
  return %1 : tensor<i32>
}
