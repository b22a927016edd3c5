// RUN: hlo-opt %s --fuse-hlo | filecheck %s

// Producers of the indices and users of the elements are one kernel with the gather; the producer of the table is not,
// because its elements are read at indices known only at run time.
// CHECK-LABEL: @lookup
// CHECK:         %[[TABLE:.*]] = hlo.fusion loop
// CHECK-NEXT:      hlo.exponential
// CHECK:         hlo.fusion loop (%{{.*}} = %[[TABLE]]
// CHECK:           hlo.add
// CHECK:           "hlo.gather"
// CHECK:           hlo.negate
// CHECK-NOT:     hlo.fusion
func.func @lookup(%x: tensor<50x8xf32>, %i: tensor<20x1xi32>) -> tensor<20x8xf32> {
  %0 = hlo.exponential %x : tensor<50x8xf32>
  %1 = hlo.add %i, %i : tensor<20x1xi32>
  %2 = "hlo.gather"(%0, %1) <{dimension_numbers = #hlo.gather<offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>, slice_sizes = array<i64: 1, 8>}> : (tensor<50x8xf32>, tensor<20x1xi32>) -> tensor<20x8xf32>
  %3 = hlo.negate %2 : tensor<20x8xf32>
  return %3 : tensor<20x8xf32>
}
