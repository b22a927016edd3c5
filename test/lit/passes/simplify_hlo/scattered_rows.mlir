// RUN: hlo-opt %s --split-input-file -p simplify-hlo | filecheck %s

// The gradient of a table of 4000 rows, of which at most 900 are not zero, is a table of 900 rows, and each of the 4000
// is picked from there: nothing of the size of the whole table has to be written for it.
// CHECK-LABEL: @gradient
// CHECK-DAG:   %[[NONE:.*]] = hlo.constant dense<-1> : tensor<4000xi32>
// CHECK:       %[[PLACES:.*]] = "hlo.scatter"(%[[NONE]], %i,
// CHECK:         hlo.maximum
// CHECK:       hlo.compare LT, %i,
// CHECK:       hlo.compare GE, %i,
// CHECK:       "hlo.gather"(%[[PLACES]], %i)
// CHECK:       %[[SLOT:.*]] = hlo.select {{.*}} : tensor<900x1xi1>, tensor<900x1xi32>
// CHECK:       %[[ROWS:.*]] = "hlo.scatter"({{.*}}, %[[SLOT]], %u)
// CHECK:         hlo.add
// CHECK:         -> tensor<900x96xf32>
// CHECK:       %[[PICKED:.*]] = "hlo.gather"(%[[ROWS]], %[[PLACES]]) {{.*}} -> tensor<4000x96xf32>
// CHECK:       hlo.select {{.*}}, %[[PICKED]],
// CHECK-NOT:   hlo.scatter
func.func @gradient(%x: tensor<4000x96xf32>, %i: tensor<900x1xi32>, %u: tensor<900x96xf32>) -> tensor<4000x96xf32> {
  %0 = hlo.constant dense<0.0> : tensor<4000x96xf32>
  %1 = "hlo.scatter"(%0, %i, %u) <{scatter_dimension_numbers = #hlo.scatter<update_window_dims = [1], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %s = hlo.add %a, %b : tensor<f32>
    hlo.return %s : tensor<f32>
  }) : (tensor<4000x96xf32>, tensor<900x1xi32>, tensor<900x96xf32>) -> tensor<4000x96xf32>
  %2 = hlo.subtract %x, %1 : tensor<4000x96xf32>
  return %2 : tensor<4000x96xf32>
}

// -----

// A result that has to be in memory is written by the scatter itself.
// CHECK-LABEL: @returned
// CHECK-NOT:   hlo.gather
func.func @returned(%i: tensor<900x1xi32>, %u: tensor<900x96xf32>) -> tensor<4000x96xf32> {
  %0 = hlo.constant dense<0.0> : tensor<4000x96xf32>
  %1 = "hlo.scatter"(%0, %i, %u) <{scatter_dimension_numbers = #hlo.scatter<update_window_dims = [1], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %s = hlo.add %a, %b : tensor<f32>
    hlo.return %s : tensor<f32>
  }) : (tensor<4000x96xf32>, tensor<900x1xi32>, tensor<900x96xf32>) -> tensor<4000x96xf32>
  return %1 : tensor<4000x96xf32>
}

// -----

// Many rows.
// CHECK-LABEL: @many
// CHECK-NOT:   hlo.gather
func.func @many(%x: tensor<4000x96xf32>, %i: tensor<1200x1xi32>, %u: tensor<1200x96xf32>) -> tensor<4000x96xf32> {
  %0 = hlo.constant dense<0.0> : tensor<4000x96xf32>
  %1 = "hlo.scatter"(%0, %i, %u) <{scatter_dimension_numbers = #hlo.scatter<update_window_dims = [1], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %s = hlo.add %a, %b : tensor<f32>
    hlo.return %s : tensor<f32>
  }) : (tensor<4000x96xf32>, tensor<1200x1xi32>, tensor<1200x96xf32>) -> tensor<4000x96xf32>
  %2 = hlo.subtract %x, %1 : tensor<4000x96xf32>
  return %2 : tensor<4000x96xf32>
}
