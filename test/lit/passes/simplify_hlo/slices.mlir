// RUN: hlo-opt %s --simplify-hlo | filecheck %s
// RUN: hlo-opt %s --simplify-hlo --fuse-hlo -o %t.mlir

// CHECK-LABEL: func.func @gather_of_slice(
// CHECK:         %[[S:.*]] = hlo.dynamic_slice %x, %{{.*}}, %{{.*}}, sizes = [1, 5]
// CHECK-NEXT:    hlo.reshape %[[S]] : (tensor<1x5xf32>) -> tensor<5xf32>
func.func @gather_of_slice(%x: tensor<9x5xf32>, %i: tensor<1xi32>) -> tensor<5xf32> {
  %0 = "hlo.gather"(%x, %i) <{dimension_numbers = #hlo.gather<offset_dims = [0], collapsed_slice_dims = [0], start_index_map = [0]>, slice_sizes = array<i64: 1, 5>, indices_are_sorted = true}> : (tensor<9x5xf32>, tensor<1xi32>) -> tensor<5xf32>
  return %0 : tensor<5xf32>
}

// A row at a known place is written there, one outside of the operand is not.

// CHECK-LABEL: func.func @scatter_of_slice(
// CHECK:         %[[U:.*]] = hlo.reshape %u
// CHECK-NEXT:    %[[R:.*]] = hlo.dynamic_update_slice %x, %[[U]]
// CHECK-NEXT:    return %[[R]], %x
func.func @scatter_of_slice(%x: tensor<9x5xf32> {jax.buffer_donor}, %u: tensor<5xf32>) -> (tensor<9x5xf32>, tensor<9x5xf32>) {
  %i = hlo.constant dense<3> : tensor<1xi32>
  %j = hlo.constant dense<9> : tensor<1xi32>
  %0 = "hlo.scatter"(%x, %i, %u) <{scatter_dimension_numbers = #hlo.scatter<update_window_dims = [0], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0]>}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    hlo.return %b : tensor<f32>
  }) : (tensor<9x5xf32>, tensor<1xi32>, tensor<5xf32>) -> tensor<9x5xf32>
  %1 = "hlo.scatter"(%x, %j, %u) <{scatter_dimension_numbers = #hlo.scatter<update_window_dims = [0], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0]>}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    hlo.return %b : tensor<f32>
  }) : (tensor<9x5xf32>, tensor<1xi32>, tensor<5xf32>) -> tensor<9x5xf32>
  return %0, %1 : tensor<9x5xf32>, tensor<9x5xf32>
}

// A slice that is combined with what is there (`x.at[1:4].add(u)`) is read, combined, and written to its place.

// CHECK-LABEL: func.func @scatter_add_of_slice(
// CHECK-DAG:     %[[S:.*]] = hlo.slice %x [1:4, 2:4]
// CHECK:         %[[R:.*]] = hlo.add %[[S]], %u
// CHECK-NEXT:    %[[W:.*]] = hlo.dynamic_update_slice %x, %[[R]]
// CHECK-NEXT:    return %[[W]], %x
func.func @scatter_add_of_slice(%x: tensor<9x5xf32> {jax.buffer_donor}, %u: tensor<3x2xf32>) -> (tensor<9x5xf32>, tensor<9x5xf32>) {
  %i = hlo.constant dense<[1, 2]> : tensor<2xi32>
  %j = hlo.constant dense<[1, 4]> : tensor<2xi32>
  %0 = "hlo.scatter"(%x, %i, %u) <{scatter_dimension_numbers = #hlo.scatter<update_window_dims = [0, 1], scatter_dims_to_operand_dims = [0, 1]>}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %2 = hlo.add %a, %b : tensor<f32>
    hlo.return %2 : tensor<f32>
  }) : (tensor<9x5xf32>, tensor<2xi32>, tensor<3x2xf32>) -> tensor<9x5xf32>
  %1 = "hlo.scatter"(%x, %j, %u) <{scatter_dimension_numbers = #hlo.scatter<update_window_dims = [0, 1], scatter_dims_to_operand_dims = [0, 1]>}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %2 = hlo.add %a, %b : tensor<f32>
    hlo.return %2 : tensor<f32>
  }) : (tensor<9x5xf32>, tensor<2xi32>, tensor<3x2xf32>) -> tensor<9x5xf32>
  return %0, %1 : tensor<9x5xf32>, tensor<9x5xf32>
}

// CHECK-LABEL: func.func @sum_of_selected(
// CHECK-NOT:     hlo.reduce
// CHECK:         "hlo.gather"(%x
// CHECK:         hlo.select
func.func @sum_of_selected(%x: tensor<4x100xf32>, %i: tensor<4xi32>) -> tensor<4xf32> {
  %zero = hlo.constant dense<0.0> : tensor<f32>
  %zeros = hlo.constant dense<0.0> : tensor<4x100xf32>
  %n = hlo.iota dim = 1 : tensor<4x100xi32>
  %j = hlo.broadcast_in_dim %i, dims = [0] : (tensor<4xi32>) -> tensor<4x100xi32>
  %p = hlo.compare EQ, %j, %n, SIGNED : (tensor<4x100xi32>, tensor<4x100xi32>) -> tensor<4x100xi1>
  %s = hlo.select %p, %x, %zeros : tensor<4x100xi1>, tensor<4x100xf32>
  %0 = hlo.reduce(%s init: %zero) applies hlo.add across dimensions = [1] : (tensor<4x100xf32>, tensor<f32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}

// A function of two operations stays a scatter, and nothing is left that reads the slice: fuse-hlo erases the zeros.

// CHECK-LABEL: func.func @scatter_of_two_operations(
// CHECK:         "hlo.scatter"
// CHECK:           hlo.subtract
func.func @scatter_of_two_operations(%u: tensor<5xf32>) -> tensor<9x5xf32> {
  %x = hlo.constant dense<0.0> : tensor<9x5xf32>
  %i = hlo.constant dense<3> : tensor<1xi32>
  %0 = "hlo.scatter"(%x, %i, %u) <{scatter_dimension_numbers = #hlo.scatter<update_window_dims = [0], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0]>}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %1 = hlo.add %b, %b : tensor<f32>
    %2 = hlo.subtract %a, %1 : tensor<f32>
    hlo.return %2 : tensor<f32>
  }) : (tensor<9x5xf32>, tensor<1xi32>, tensor<5xf32>) -> tensor<9x5xf32>
  return %0 : tensor<9x5xf32>
}
