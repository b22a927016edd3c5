// RUN: hlo-opt %s --decompose-hlo | filecheck %s

// CHECK-LABEL: @select
// CHECK:         "hlo.gather"(%x, %i) <{dimension_numbers = #hlo.gather<offset_dims = [1], collapsed_slice_dims = [2], operand_batching_dims = [0], start_indices_batching_dims = [0], start_index_map = [2], index_vector_dim = 2>, slice_sizes = array<i64: 1, 4, 1>}>
func.func @select(%x: tensor<3x4x5xf32>, %i: tensor<3x7xi32>) -> tensor<3x4x7xf32> {
  %0 = "hlo.torch_index_select"(%x, %i) <{dim = 2 : i64, batch_dims = 1 : i64}> : (tensor<3x4x5xf32>, tensor<3x7xi32>) -> tensor<3x4x7xf32>
  return %0 : tensor<3x4x7xf32>
}

// The sizes of slices follow from the result's.
// CHECK-LABEL: @sizes
// CHECK:         "hlo.gather"(%x, %i) <{dimension_numbers = {{.*}}, slice_sizes = array<i64: 1, 3>}>
func.func @sizes(%x: tensor<5x4xf32>, %i: tensor<7x1xi32>, %s: tensor<2xi32>) -> tensor<7x3xf32> {
  %0 = "hlo.dynamic_gather"(%x, %i, %s) <{dimension_numbers = #hlo.gather<offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>}> : (tensor<5x4xf32>, tensor<7x1xi32>, tensor<2xi32>) -> tensor<7x3xf32>
  return %0 : tensor<7x3xf32>
}

// CHECK-LABEL: @map
// CHECK-NEXT:    %[[C:.*]] = hlo.constant dense<2.000000e+00> : tensor<f32>
// CHECK-NEXT:    %[[TWOS:.*]] = hlo.broadcast_in_dim %[[C]], dims = [] : (tensor<f32>) -> tensor<3xf32>
// CHECK-NEXT:    %[[M:.*]] = hlo.multiply %x, %[[TWOS]] : tensor<3xf32>
// CHECK-NEXT:    hlo.compare LT, %[[M]], %y : (tensor<3xf32>, tensor<3xf32>) -> tensor<3xi1>
func.func @map(%x: tensor<3xf32>, %y: tensor<3xf32>) -> tensor<3xi1> {
  %0 = "hlo.map"(%x, %y) <{dimensions = array<i64: 0>}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %c = hlo.constant dense<2.0> : tensor<f32>
    %m = hlo.multiply %a, %c : tensor<f32>
    %p = hlo.compare LT, %m, %b : (tensor<f32>, tensor<f32>) -> tensor<i1>
    hlo.return %p : tensor<i1>
  }) : (tensor<3xf32>, tensor<3xf32>) -> tensor<3xi1>
  return %0 : tensor<3xi1>
}
