// RUN: hlo-opt %s --simplify-hlo | filecheck %s

// Rows at places that are computed from no argument, each twice: an image enlarged to its nearest pixels.

// CHECK-LABEL: func.func @enlarged(
// CHECK-NEXT:    %[[B:.*]] = hlo.broadcast_in_dim %x, dims = [0, 1, 3] : (tensor<2x224x3xf32>) -> tensor<2x224x2x3xf32>
// CHECK-NEXT:    %[[R:.*]] = hlo.reshape %[[B]] : (tensor<2x224x2x3xf32>) -> tensor<2x448x3xf32>
// CHECK-NEXT:    return %[[R]]
func.func @enlarged(%x: tensor<2x224x3xf32>) -> tensor<2x448x3xf32> {
  %i = hlo.iota dim = 0 : tensor<448xf32>
  %half = hlo.constant dense<5.000000e-01> : tensor<448xf32>
  %0 = hlo.add %i, %half : tensor<448xf32>
  %1 = hlo.multiply %0, %half : tensor<448xf32>
  %2 = hlo.floor %1 : tensor<448xf32>
  %3 = hlo.convert %2 : (tensor<448xf32>) -> tensor<448xi32>
  %4 = hlo.reshape %3 : (tensor<448xi32>) -> tensor<448x1xi32>
  %5 = "hlo.gather"(%x, %4) <{dimension_numbers = #hlo.gather<offset_dims = [0, 2], collapsed_slice_dims = [1], start_index_map = [1], index_vector_dim = 1>, slice_sizes = array<i64: 2, 1, 3>}> : (tensor<2x224x3xf32>, tensor<448x1xi32>) -> tensor<2x448x3xf32>
  return %5 : tensor<2x448x3xf32>
}

// Places outside are those at the edges. Rows of the result may be elsewhere than those of the operand.

// CHECK-LABEL: func.func @backward(
// CHECK-NEXT:    %[[S:.*]] = hlo.slice %x [0:4, 0:5:2] : (tensor<4x6xf32>) -> tensor<4x3xf32>
// CHECK-NEXT:    %[[B:.*]] = hlo.reverse %[[S]], dims = [1]
// CHECK-NEXT:    %[[R:.*]] = hlo.transpose %[[B]], dims = [1, 0]
// CHECK-NEXT:    return %[[R]]
func.func @backward(%x: tensor<4x6xf32>) -> tensor<3x4xf32> {
  %i = hlo.constant dense<[4, 2, -9]> : tensor<3xi32>
  %0 = "hlo.gather"(%x, %i) <{dimension_numbers = #hlo.gather<offset_dims = [1], collapsed_slice_dims = [1], start_index_map = [1], index_vector_dim = 1>, slice_sizes = array<i64: 4, 1>}> : (tensor<4x6xf32>, tensor<3xi32>) -> tensor<3x4xf32>
  return %0 : tensor<3x4xf32>
}

// Rows of a few runs of places are put together: a rotation, and elements repeated at the end.

// CHECK-LABEL: func.func @rotated(
// CHECK-DAG:     %[[A:.*]] = hlo.slice %x [0:4, 29:32] : (tensor<4x32xf32>) -> tensor<4x3xf32>
// CHECK-DAG:     %[[B:.*]] = hlo.slice %x [0:4, 0:29] : (tensor<4x32xf32>) -> tensor<4x29xf32>
// CHECK:         %[[C:.*]] = hlo.concatenate %[[A]], %[[B]], dim = 1
// CHECK-NEXT:    return %[[C]]
func.func @rotated(%x: tensor<4x32xf32>) -> tensor<4x32xf32> {
  %i = hlo.iota dim = 0 : tensor<32xi32>
  %amount = hlo.constant dense<29> : tensor<32xi32>
  %size = hlo.constant dense<32> : tensor<32xi32>
  %0 = hlo.add %i, %amount : tensor<32xi32>
  %1 = hlo.remainder %0, %size : tensor<32xi32>
  %2 = "hlo.gather"(%x, %1) <{dimension_numbers = #hlo.gather<offset_dims = [0], collapsed_slice_dims = [1], start_index_map = [1], index_vector_dim = 1>, slice_sizes = array<i64: 4, 1>}> : (tensor<4x32xf32>, tensor<32xi32>) -> tensor<4x32xf32>
  return %2 : tensor<4x32xf32>
}

// CHECK-LABEL: func.func @bordered(
// CHECK-DAG:     %[[B:.*]] = hlo.broadcast_in_dim
// CHECK:         hlo.concatenate %x, %[[B]], dim = 0
func.func @bordered(%x: tensor<6x4xf32>) -> tensor<9x4xf32> {
  %i = hlo.constant dense<[0, 1, 2, 3, 4, 5, 6, 7, 8]> : tensor<9xi32>
  %0 = "hlo.gather"(%x, %i) <{dimension_numbers = #hlo.gather<offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>, slice_sizes = array<i64: 1, 4>}> : (tensor<6x4xf32>, tensor<9xi32>) -> tensor<9x4xf32>
  return %0 : tensor<9x4xf32>
}

// Windows that overlap are no slice, nor are places without order.

// CHECK-LABEL: func.func @others(
// CHECK:         hlo.gather
// CHECK:         hlo.gather
func.func @others(%x: tensor<6x4xf32>) -> (tensor<4x4xf32>, tensor<4x4xf32>) {
  %i = hlo.constant dense<[0, 1, 1, 2]> : tensor<4xi32>
  %j = hlo.constant dense<[0, 1, 3, 5]> : tensor<4xi32>
  %0 = "hlo.gather"(%x, %i) <{dimension_numbers = #hlo.gather<offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>, slice_sizes = array<i64: 1, 4>}> : (tensor<6x4xf32>, tensor<4xi32>) -> tensor<4x4xf32>
  %1 = "hlo.gather"(%x, %j) <{dimension_numbers = #hlo.gather<offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>, slice_sizes = array<i64: 1, 4>}> : (tensor<6x4xf32>, tensor<4xi32>) -> tensor<4x4xf32>
  return %0, %1 : tensor<4x4xf32>, tensor<4x4xf32>
}

// Images that are picked from a stack are rows of all their pixels. Rows of enough elements stay as they are.

// CHECK-LABEL: func.func @images(
// CHECK-NEXT:    %[[X:.*]] = hlo.reshape %x : (tensor<9x8x8x3xf32>) -> tensor<9x192xf32>
// CHECK-NEXT:    %[[G:.*]] = "hlo.gather"(%[[X]], %i) <{{.*}}offset_dims = [1], {{.*}} : (tensor<9x192xf32>, tensor<5xi32>) -> tensor<5x192xf32>
// CHECK-NEXT:    %[[R:.*]] = hlo.reshape %[[G]] : (tensor<5x192xf32>) -> tensor<5x8x8x3xf32>
// CHECK-NEXT:    "hlo.gather"(%y, %i)
func.func @images(%x: tensor<9x8x8x3xf32>, %y: tensor<9x4x16xf32>, %i: tensor<5xi32>) -> (tensor<5x8x8x3xf32>, tensor<5x4x16xf32>) {
  %0 = "hlo.gather"(%x, %i) <{dimension_numbers = #hlo.gather<offset_dims = [1, 2, 3], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>, slice_sizes = array<i64: 1, 8, 8, 3>}> : (tensor<9x8x8x3xf32>, tensor<5xi32>) -> tensor<5x8x8x3xf32>
  %1 = "hlo.gather"(%y, %i) <{dimension_numbers = #hlo.gather<offset_dims = [1, 2], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>, slice_sizes = array<i64: 1, 4, 16>}> : (tensor<9x4x16xf32>, tensor<5xi32>) -> tensor<5x4x16xf32>
  return %0, %1 : tensor<5x8x8x3xf32>, tensor<5x4x16xf32>
}

// The same rows of equal blocks, the last of which is whole if the first one begins earlier.

// CHECK-LABEL: func.func @blocks(
// CHECK-NEXT:    %[[PART:.*]] = hlo.slice %x [1:16, 0:4] : (tensor<16x4xf32>) -> tensor<15x4xf32>
// CHECK-NEXT:    %[[BLOCKS:.*]] = hlo.reshape %[[PART]] : (tensor<15x4xf32>) -> tensor<3x5x4xf32>
// CHECK-NEXT:    %[[ROWS:.*]] = hlo.slice %[[BLOCKS]] [0:3, 2:5:2, 0:4] : (tensor<3x5x4xf32>) -> tensor<3x2x4xf32>
// CHECK-NEXT:    %[[RESULT:.*]] = hlo.reshape %[[ROWS]] : (tensor<3x2x4xf32>) -> tensor<6x4xf32>
// CHECK-NEXT:    return %[[RESULT]]
func.func @blocks(%x: tensor<16x4xf32>) -> tensor<6x4xf32> {
  %i = hlo.constant dense<[[3], [5], [8], [10], [13], [15]]> : tensor<6x1xi32>
  %0 = "hlo.gather"(%x, %i) <{slice_sizes = array<i64: 1, 4>, dimension_numbers = #hlo.gather<offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>}> : (tensor<16x4xf32>, tensor<6x1xi32>) -> tensor<6x4xf32>
  return %0 : tensor<6x4xf32>
}
