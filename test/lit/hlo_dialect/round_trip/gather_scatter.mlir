// RUN: hlo-opt %s --verify-roundtrip | filecheck %s
// RUN: hlo-opt --stablehlo %s | filecheck %s --check-prefix=STABLE

// CHECK-LABEL: @gathers
// STABLE-LABEL: @gathers
func.func @gathers(%x: tensor<3x4x5xf32>, %i: tensor<3x2x2xi32>, %s: tensor<3xi64>, %q: tensor<3x7xui8>) {
  // CHECK: "hlo.gather"(%x, %i) <{dimension_numbers = #hlo.gather<offset_dims = [2], collapsed_slice_dims = [2], operand_batching_dims = [0], start_indices_batching_dims = [0], start_index_map = [2, 1], index_vector_dim = 2>, indices_are_sorted = true, slice_sizes = array<i64: 1, 4, 1>}> : (tensor<3x4x5xf32>, tensor<3x2x2xi32>) -> tensor<3x2x4xf32>
  // STABLE: "stablehlo.gather"(%x, %i) <{dimension_numbers = #stablehlo.gather<offset_dims = [2],
  %0 = "stablehlo.gather"(%x, %i) <{dimension_numbers = #stablehlo.gather<offset_dims = [2], collapsed_slice_dims = [2], operand_batching_dims = [0], start_indices_batching_dims = [0], start_index_map = [2, 1], index_vector_dim = 2>, indices_are_sorted = true, slice_sizes = array<i64: 1, 4, 1>}> : (tensor<3x4x5xf32>, tensor<3x2x2xi32>) -> tensor<3x2x4xf32>
  // A single index without a dimension of vectors; zero and empty attributes are not printed.
  // CHECK: "hlo.gather"(%x, %i) <{dimension_numbers = #hlo.gather<offset_dims = [3, 4, 5], start_index_map = [0], index_vector_dim = 3>, slice_sizes = array<i64: 1, 4, 5>}>
  %1 = "stablehlo.gather"(%x, %i) <{dimension_numbers = #stablehlo.gather<index_vector_dim = 3, offset_dims = [3, 4, 5], start_index_map = [0], collapsed_slice_dims = []>, slice_sizes = array<i64: 1, 4, 5>}> : (tensor<3x4x5xf32>, tensor<3x2x2xi32>) -> tensor<3x2x2x1x4x5xf32>
  // CHECK: "hlo.dynamic_gather"(%x, %i, %s) <{dimension_numbers = #hlo.gather<offset_dims = [2, 3, 4], start_index_map = [2, 0], index_vector_dim = 2>}> : (tensor<3x4x5xf32>, tensor<3x2x2xi32>, tensor<3xi64>) -> tensor<3x2x?x4x?xf32>
  // STABLE: "stablehlo.dynamic_gather"(%x, %i, %s)
  %2 = "stablehlo.dynamic_gather"(%x, %i, %s) <{dimension_numbers = #stablehlo.gather<offset_dims = [2, 3, 4], start_index_map = [2, 0], index_vector_dim = 2>}> : (tensor<3x4x5xf32>, tensor<3x2x2xi32>, tensor<3xi64>) -> tensor<3x2x?x4x?xf32>
  // CHECK: "hlo.torch_index_select"(%x, %q) <{batch_dims = 1 : i64, dim = 1 : i64}> : (tensor<3x4x5xf32>, tensor<3x7xui8>) -> tensor<3x7x5xf32>
  %3 = "stablehlo.torch_index_select"(%x, %q) <{batch_dims = 1 : i64, dim = 1 : i64}> : (tensor<3x4x5xf32>, tensor<3x7xui8>) -> tensor<3x7x5xf32>
  return
}

// CHECK-LABEL: @unknown_sizes
func.func @unknown_sizes(%x: tensor<?x4xf32>, %i: tensor<?x?xi32>, %u: tensor<?x4xf32>) {
  // CHECK: -> tensor<?x4xf32>
  %0 = "hlo.gather"(%x, %i) <{dimension_numbers = #hlo.gather<offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>, slice_sizes = array<i64: 1, 4>}> : (tensor<?x4xf32>, tensor<?x?xi32>) -> tensor<?x4xf32>
  // CHECK: -> tensor<3x?xf32>
  %1 = "hlo.scatter"(%x, %i, %u) <{scatter_dimension_numbers = #hlo.scatter<update_window_dims = [1], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    hlo.return %b : tensor<f32>
  }) : (tensor<?x4xf32>, tensor<?x?xi32>, tensor<?x4xf32>) -> tensor<3x?xf32>
  %2 = "hlo.sort"(%x) <{dimension = 0 : i64}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %p = hlo.compare LT, %a, %b : (tensor<f32>, tensor<f32>) -> tensor<i1>
    hlo.return %p : tensor<i1>
  }) : (tensor<?x4xf32>) -> tensor<2x?xf32>
  return
}

// CHECK-LABEL: @regions
// STABLE-LABEL: @regions
func.func @regions(%x: tensor<3x4xf32>, %y: tensor<3x4xi32>, %i: tensor<5x1xi64>, %u: tensor<5x4xf32>, %v: tensor<5x4xi32>) {
  // CHECK:      %{{.*}}:2 = "hlo.scatter"(%x, %y, %i, %u, %v) <{indices_are_sorted = true, scatter_dimension_numbers = #hlo.scatter<update_window_dims = [1], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>, unique_indices = true}> ({
  // CHECK-NEXT: ^bb0(%a: tensor<f32>, %b: tensor<i32>, %c: tensor<f32>, %d: tensor<i32>):
  // STABLE:     "stablehlo.scatter"(%x, %y, %i, %u, %v) <{indices_are_sorted = true, scatter_dimension_numbers = #stablehlo.scatter<
  // STABLE:       stablehlo.return %c, %d
  %0:2 = "stablehlo.scatter"(%x, %y, %i, %u, %v) <{indices_are_sorted = true, scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>, unique_indices = true}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<i32>, %c: tensor<f32>, %d: tensor<i32>):
    stablehlo.return %c, %d : tensor<f32>, tensor<i32>
  }) : (tensor<3x4xf32>, tensor<3x4xi32>, tensor<5x1xi64>, tensor<5x4xf32>, tensor<5x4xi32>) -> (tensor<3x4xf32>, tensor<3x4xi32>)
  // CHECK:  %{{.*}}:2 = "hlo.sort"(%x, %y) <{dimension = -1 : i64, is_stable = true}> ({
  // STABLE: "stablehlo.sort"(%x, %y) <{dimension = -1 : i64, is_stable = true}> ({
  %1:2 = "stablehlo.sort"(%x, %y) <{dimension = -1 : i64, is_stable = true}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>, %c: tensor<i32>, %d: tensor<i32>):
    %p = stablehlo.compare LT, %a, %b, TOTALORDER : (tensor<f32>, tensor<f32>) -> tensor<i1>
    stablehlo.return %p : tensor<i1>
  }) : (tensor<3x4xf32>, tensor<3x4xi32>) -> (tensor<3x4xf32>, tensor<3x4xi32>)
  // CHECK:  "hlo.map"(%x, %y) <{dimensions = array<i64: 0, 1>}> ({
  // STABLE: "stablehlo.map"(%x, %y) <{dimensions = array<i64: 0, 1>}> ({
  %2 = "stablehlo.map"(%x, %y) <{dimensions = array<i64: 0, 1>}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<i32>):
    stablehlo.return %b : tensor<i32>
  }) : (tensor<3x4xf32>, tensor<3x4xi32>) -> tensor<3x4xi32>
  return
}
