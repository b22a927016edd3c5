// RUN: hlo-opt %s --verify-roundtrip | filecheck %s

// CHECK-LABEL: func.func @slices
func.func @slices(%x: tensor<4x6xf32>, %u: tensor<2x3xf32>, %i: tensor<i32>, %s: tensor<f32>) {
  // CHECK: hlo.dynamic_slice %{{.*}}, %[[I:.*]], %[[I]], sizes = [2, 3] : (tensor<4x6xf32>, tensor<i32>, tensor<i32>) -> tensor<2x3xf32>
  %0 = stablehlo.dynamic_slice %x, %i, %i, sizes = [2, 3] : (tensor<4x6xf32>, tensor<i32>, tensor<i32>) -> tensor<2x3xf32>
  // CHECK: hlo.dynamic_slice %{{.*}}, sizes = [] : (tensor<f32>) -> tensor<f32>
  %1 = hlo.dynamic_slice %s, sizes = [] : (tensor<f32>) -> tensor<f32>
  // CHECK: hlo.dynamic_update_slice %{{.*}}, %{{.*}}, %[[I]], %[[I]] : (tensor<4x6xf32>, tensor<2x3xf32>, tensor<i32>, tensor<i32>) -> tensor<4x6xf32>
  %2 = hlo.dynamic_update_slice %x, %u, %i, %i : (tensor<4x6xf32>, tensor<2x3xf32>, tensor<i32>, tensor<i32>) -> tensor<4x6xf32>
  return
}
