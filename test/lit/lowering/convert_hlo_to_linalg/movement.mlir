// RUN: hlo-opt %s --convert-hlo-to-linalg | filecheck %s

// A stretched dimension reads its only element.
// CHECK-LABEL: @stretched
// CHECK:         indexing_maps = [affine_map<(d0, d1, d2) -> (0, d2)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>]
func.func private @stretched(%x: tensor<1x3xf32>) -> tensor<2x5x3xf32> attributes {hlo.kernel = "loop"} {
  %0 = hlo.broadcast_in_dim %x, dims = [1, 2] : (tensor<1x3xf32>) -> tensor<2x5x3xf32>
  return %0 : tensor<2x5x3xf32>
}

// A dimension that stops before the operand's end is not a plain index, which would set the loop's size.
// CHECK-LABEL: @slices
// CHECK:         affine_map<(d0, d1) -> ((d0 mod 5), ((d1 * 2) + 1))>
func.func private @slices(%x: tensor<5x7xf32>) -> tensor<4x3xf32> attributes {hlo.kernel = "loop"} {
  %0 = hlo.slice %x [0:4, 1:7:2] : (tensor<5x7xf32>) -> tensor<4x3xf32>
  return %0 : tensor<4x3xf32>
}

// The start is clamped as an unsigned number.
// CHECK-LABEL: @start
// CHECK:         %[[S:.*]] = tensor.extract %i[] : tensor<i64>
// CHECK:         %[[IN:.*]] = arith.minui %[[S]],
// CHECK:         %[[AT:.*]] = arith.index_cast %[[IN]] : i64 to index
// CHECK:         %[[D:.*]] = linalg.index 0
// CHECK-NEXT:    %[[P:.*]] = arith.addi %[[D]], %[[AT]] : index
// CHECK-NEXT:    tensor.extract %x[%[[P]]]
func.func private @start(%x: tensor<5xf32>, %i: tensor<ui64>) -> tensor<2xf32> attributes {hlo.kernel = "loop"} {
  %0 = hlo.dynamic_slice %x, %i, sizes = [2] : (tensor<5xf32>, tensor<ui64>) -> tensor<2xf32>
  return %0 : tensor<2xf32>
}
