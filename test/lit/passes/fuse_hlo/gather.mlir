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

// The fusion computes the place and the column once for all gathers that read them, so that they are not in memory.
// CHECK-LABEL: @interpolated
// CHECK:         %[[ALL:.*]] = hlo.fusion loop
// CHECK:           hlo.floor
// CHECK-COUNT-4:   "hlo.gather"
// CHECK-NOT:     hlo.fusion
// CHECK:         return %[[ALL]]
func.func @interpolated(%x: tensor<4096xf32>, %p: tensor<64x64xf32>) -> tensor<64x64xf32> {
  %one = hlo.constant dense<1> : tensor<64x64xi32>
  %low = hlo.constant dense<0> : tensor<64x64xi32>
  %high = hlo.constant dense<4000> : tensor<64x64xi32>
  %f = hlo.floor %p : tensor<64x64xf32>
  %w = hlo.subtract %p, %f : tensor<64x64xf32>
  %0 = hlo.convert %f : (tensor<64x64xf32>) -> tensor<64x64xi32>
  %1 = hlo.maximum %0, %low : tensor<64x64xi32>
  %2 = hlo.minimum %1, %high : tensor<64x64xi32>
  %3 = hlo.add %2, %one : tensor<64x64xi32>
  %4 = hlo.add %3, %2 : tensor<64x64xi32>
  %5 = hlo.add %4, %3 : tensor<64x64xi32>
  %i = hlo.reshape %2 : (tensor<64x64xi32>) -> tensor<64x64x1xi32>
  %j = hlo.reshape %3 : (tensor<64x64xi32>) -> tensor<64x64x1xi32>
  %k = hlo.reshape %4 : (tensor<64x64xi32>) -> tensor<64x64x1xi32>
  %l = hlo.reshape %5 : (tensor<64x64xi32>) -> tensor<64x64x1xi32>
  %a = "hlo.gather"(%x, %i) <{dimension_numbers = #hlo.gather<collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 2>, slice_sizes = array<i64: 1>}> : (tensor<4096xf32>, tensor<64x64x1xi32>) -> tensor<64x64xf32>
  %b = "hlo.gather"(%x, %j) <{dimension_numbers = #hlo.gather<collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 2>, slice_sizes = array<i64: 1>}> : (tensor<4096xf32>, tensor<64x64x1xi32>) -> tensor<64x64xf32>
  %c = "hlo.gather"(%x, %k) <{dimension_numbers = #hlo.gather<collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 2>, slice_sizes = array<i64: 1>}> : (tensor<4096xf32>, tensor<64x64x1xi32>) -> tensor<64x64xf32>
  %d = "hlo.gather"(%x, %l) <{dimension_numbers = #hlo.gather<collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 2>, slice_sizes = array<i64: 1>}> : (tensor<4096xf32>, tensor<64x64x1xi32>) -> tensor<64x64xf32>
  %m = hlo.multiply %a, %w : tensor<64x64xf32>
  %n = hlo.multiply %b, %w : tensor<64x64xf32>
  %o = hlo.add %m, %n : tensor<64x64xf32>
  %q = hlo.add %c, %d : tensor<64x64xf32>
  %r = hlo.add %o, %q : tensor<64x64xf32>
  return %r : tensor<64x64xf32>
}

// A padded tensor of which a loop reads several places is written: vectors would tell its border apart in each.
// CHECK-LABEL: @padded
// CHECK:         %[[P:.*]] = hlo.fusion loop (%{{.*}} = %x : tensor<64x64xf32>) -> tensor<66x66xf32>
// CHECK:         hlo.fusion loop (%{{.*}} = %[[P]] : tensor<66x66xf32>) -> tensor<64x64xf32>
func.func @padded(%x: tensor<64x64xf32>) -> tensor<64x64xf32> {
  %zero = hlo.constant dense<0.0> : tensor<f32>
  %0 = hlo.pad %x, %zero, low = [1, 1], high = [1, 1], interior = [0, 0] : (tensor<64x64xf32>, tensor<f32>) -> tensor<66x66xf32>
  %1 = hlo.slice %0 [2:66, 1:65] : (tensor<66x66xf32>) -> tensor<64x64xf32>
  %2 = hlo.slice %0 [0:64, 1:65] : (tensor<66x66xf32>) -> tensor<64x64xf32>
  %3 = hlo.slice %0 [1:65, 2:66] : (tensor<66x66xf32>) -> tensor<64x64xf32>
  %4 = hlo.add %1, %2 : tensor<64x64xf32>
  %5 = hlo.add %4, %3 : tensor<64x64xf32>
  func.return %5 : tensor<64x64xf32>
}

// Places of single elements along the last dimension are written once: they would be computed again for each row.
// Those of whole rows are computed where the rows are read.

// CHECK-LABEL: func.func @places(
// CHECK:         %[[P:.*]] = hlo.fusion loop (%{{.*}} = %i : tensor<500xf32>) -> tensor<500xi32>
// CHECK:           hlo.convert
// CHECK:         hlo.fusion loop (
// CHECK-NOT:       hlo.convert
// CHECK:           hlo.gather
// CHECK:         hlo.fusion loop (
// CHECK:           hlo.convert
// CHECK:           hlo.gather
// CHECK-SAME:      slice_sizes = array<i64: 1, 600>
func.func @places(%x: tensor<400x600xf32>, %i: tensor<500xf32>) -> (tensor<400x500xf32>, tensor<500x600xf32>) {
  %two = hlo.constant dense<2.000000e+00> : tensor<500xf32>
  %0 = hlo.multiply %i, %two : tensor<500xf32>
  %1 = hlo.convert %0 : (tensor<500xf32>) -> tensor<500xi32>
  %2 = "hlo.gather"(%x, %1) <{dimension_numbers = #hlo.gather<offset_dims = [0], collapsed_slice_dims = [1], start_index_map = [1], index_vector_dim = 1>, slice_sizes = array<i64: 400, 1>}> : (tensor<400x600xf32>, tensor<500xi32>) -> tensor<400x500xf32>
  %3 = hlo.add %i, %two : tensor<500xf32>
  %4 = hlo.convert %3 : (tensor<500xf32>) -> tensor<500xi32>
  %5 = "hlo.gather"(%x, %4) <{dimension_numbers = #hlo.gather<offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>, slice_sizes = array<i64: 1, 600>}> : (tensor<400x600xf32>, tensor<500xi32>) -> tensor<500x600xf32>
  return %2, %5 : tensor<400x500xf32>, tensor<500x600xf32>
}

// Results of several gathered rows are written as rows, and transposed by a kernel of their own, in tiles: loops in
// the result's order would read each gather column by column. The transpose of one gather is one kernel with it.
// CHECK-LABEL: @turned
// CHECK:         %[[ROWS:.*]] = hlo.fusion loop {{.*}} -> tensor<24x64xf32>
// CHECK-COUNT-2:   "hlo.gather"
// CHECK:         hlo.fusion loop (%[[IN:.*]] = %[[ROWS]] : tensor<24x64xf32>) -> tensor<64x24xf32>
// CHECK-NEXT:      hlo.transpose %[[IN]], dims = [1, 0]
// CHECK:         hlo.fusion loop {{.*}} -> tensor<64x24xf32>
// CHECK-NEXT:      "hlo.gather"
// CHECK-NEXT:      hlo.transpose
// CHECK-NOT:     hlo.fusion
func.func @turned(%x: tensor<50x64xf32>, %i: tensor<24x1xi32>, %j: tensor<24x1xi32>) -> (tensor<64x24xf32>, tensor<64x24xf32>) {
  %a = "hlo.gather"(%x, %i) <{dimension_numbers = #hlo.gather<offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>, slice_sizes = array<i64: 1, 64>}> : (tensor<50x64xf32>, tensor<24x1xi32>) -> tensor<24x64xf32>
  %b = "hlo.gather"(%x, %j) <{dimension_numbers = #hlo.gather<offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>, slice_sizes = array<i64: 1, 64>}> : (tensor<50x64xf32>, tensor<24x1xi32>) -> tensor<24x64xf32>
  %c = hlo.add %a, %b : tensor<24x64xf32>
  %d = hlo.transpose %c, dims = [1, 0] : (tensor<24x64xf32>) -> tensor<64x24xf32>
  %e = "hlo.gather"(%x, %j) <{dimension_numbers = #hlo.gather<offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>, slice_sizes = array<i64: 1, 64>}> : (tensor<50x64xf32>, tensor<24x1xi32>) -> tensor<24x64xf32>
  %f = hlo.transpose %e, dims = [1, 0] : (tensor<24x64xf32>) -> tensor<64x24xf32>
  return %d, %f : tensor<64x24xf32>, tensor<64x24xf32>
}
