// RUN: hlo-opt %s --fuse-hlo --split-input-file | filecheck %s
// RUN: hlo-opt %s --fuse-hlo --fuse-hlo --split-input-file | filecheck %s

// A loop reads rotated rows where they are; rotations of the columns within rows stay kernels of their own.

// CHECK-LABEL: func.func @both
// CHECK:         hlo.constant dense<{{\[}}[1], [2], [0]]> : tensor<3x1xi32>
// CHECK:         %[[C:.*]] = hlo.fusion concatenate (%{{.*}} = %x : tensor<3x20xf32>) -> tensor<3x20xf32>
// CHECK:         hlo.fusion loop
// CHECK-DAG:       "hlo.gather"
// CHECK-NOT:     hlo.fusion
func.func @both(%x: tensor<3x20xf32>) -> tensor<3x20xf32> {
  %0 = hlo.slice %x [1:3, 0:20] : (tensor<3x20xf32>) -> tensor<2x20xf32>
  %1 = hlo.slice %x [0:1, 0:20] : (tensor<3x20xf32>) -> tensor<1x20xf32>
  %2 = hlo.concatenate %0, %1, dim = 0 : (tensor<2x20xf32>, tensor<1x20xf32>) -> tensor<3x20xf32>
  %3 = hlo.slice %x [0:3, 1:20] : (tensor<3x20xf32>) -> tensor<3x19xf32>
  %4 = hlo.slice %x [0:3, 0:1] : (tensor<3x20xf32>) -> tensor<3x1xf32>
  %5 = hlo.concatenate %3, %4, dim = 1 : (tensor<3x19xf32>, tensor<3x1xf32>) -> tensor<3x20xf32>
  %6 = hlo.add %2, %5 : tensor<3x20xf32>
  func.return %6 : tensor<3x20xf32>
}

// -----

// The component of a field is not moved for it: its number is a part of each place.

// CHECK-LABEL: func.func @component
// CHECK:         hlo.constant dense<{{\[}}[1, 3], [1, 0], [1, 1], [1, 2]]> : tensor<4x2xi32>
// CHECK:         hlo.fusion loop (%{{.*}} = %x : tensor<2x4x20xf32>
// CHECK:           "hlo.gather"{{.*}}collapsed_slice_dims = [0, 1], start_index_map = [0, 1]{{.*}} -> tensor<4x20xf32>
// CHECK-NOT:     hlo.fusion
func.func @component(%x: tensor<2x4x20xf32>) -> tensor<4x20xf32> {
  %0 = hlo.slice %x [1:2, 0:4, 0:20] : (tensor<2x4x20xf32>) -> tensor<1x4x20xf32>
  %1 = hlo.reshape %0 : (tensor<1x4x20xf32>) -> tensor<4x20xf32>
  %2 = hlo.slice %1 [3:4, 0:20] : (tensor<4x20xf32>) -> tensor<1x20xf32>
  %3 = hlo.slice %1 [0:3, 0:20] : (tensor<4x20xf32>) -> tensor<3x20xf32>
  %4 = hlo.concatenate %2, %3, dim = 0 : (tensor<1x20xf32>, tensor<3x20xf32>) -> tensor<4x20xf32>
  %5 = hlo.subtract %4, %1 : tensor<4x20xf32>
  func.return %5 : tensor<4x20xf32>
}

// -----

// Rows beyond the border are those at it; slices of the rows are taken of the tensor itself.

// CHECK-LABEL: func.func @differences
// CHECK:         hlo.constant dense<{{\[}}[1], [2], [3], [3]]> : tensor<4x1xi32>
// CHECK:         hlo.fusion loop (%{{.*}} = %x : tensor<4x20xf32>, {{[^,]*}}tensor<4x1xi32>) -> tensor<4x20xf32>
// CHECK-NEXT:      "hlo.gather"
// CHECK-NEXT:      hlo.subtract
// CHECK-NOT:     hlo.fusion
func.func @differences(%x: tensor<4x20xf32>) -> tensor<4x20xf32> {
  %0 = hlo.slice %x [3:4, 0:20] : (tensor<4x20xf32>) -> tensor<1x20xf32>
  %1 = hlo.concatenate %x, %0, dim = 0 : (tensor<4x20xf32>, tensor<1x20xf32>) -> tensor<5x20xf32>
  %2 = hlo.slice %1 [1:5, 0:20] : (tensor<5x20xf32>) -> tensor<4x20xf32>
  %3 = hlo.slice %1 [0:4, 0:20] : (tensor<5x20xf32>) -> tensor<4x20xf32>
  %4 = hlo.subtract %2, %3 : tensor<4x20xf32>
  func.return %4 : tensor<4x20xf32>
}

// -----

// Concatenations of other values, of columns, and those that are results, stay as they are.

// CHECK-LABEL: func.func @others
// CHECK-NOT:     gather
// CHECK:         return
func.func @others(%x: tensor<4x20xf32>, %y: tensor<4x20xf32>) -> (tensor<4x20xf32>, tensor<4x20xf32>, tensor<4x20xf32>) {
  %0 = hlo.slice %x [2:4, 0:20] : (tensor<4x20xf32>) -> tensor<2x20xf32>
  %1 = hlo.slice %y [0:2, 0:20] : (tensor<4x20xf32>) -> tensor<2x20xf32>
  %2 = hlo.concatenate %0, %1, dim = 0 : (tensor<2x20xf32>, tensor<2x20xf32>) -> tensor<4x20xf32>
  %3 = hlo.add %2, %x : tensor<4x20xf32>
  %4 = hlo.slice %x [0:2, 0:20] : (tensor<4x20xf32>) -> tensor<2x20xf32>
  %5 = hlo.concatenate %0, %4, dim = 0 : (tensor<2x20xf32>, tensor<2x20xf32>) -> tensor<4x20xf32>
  %6 = hlo.slice %x [0:4, 5:20] : (tensor<4x20xf32>) -> tensor<4x15xf32>
  %7 = hlo.slice %x [0:4, 0:5] : (tensor<4x20xf32>) -> tensor<4x5xf32>
  %8 = hlo.concatenate %6, %7, dim = 1 : (tensor<4x15xf32>, tensor<4x5xf32>) -> tensor<4x20xf32>
  %9 = hlo.add %8, %x : tensor<4x20xf32>
  func.return %3, %5, %9 : tensor<4x20xf32>, tensor<4x20xf32>, tensor<4x20xf32>
}

// -----

// A slice of no rows, which elements are computed of too, takes none of the tensor.

// CHECK-LABEL: func.func @no_rows
// CHECK:         hlo.slice %x{{.*}} [0:0, 0:20] : (tensor<4x20xf32>) -> tensor<0x20xf32>
// CHECK:         hlo.gather
func.func @no_rows(%x: tensor<4x20xf32>) -> (tensor<0x20xf32>, tensor<4x20xf32>) {
  %0 = hlo.slice %x [2:4, 0:20] : (tensor<4x20xf32>) -> tensor<2x20xf32>
  %1 = hlo.slice %x [0:2, 0:20] : (tensor<4x20xf32>) -> tensor<2x20xf32>
  %2 = hlo.concatenate %0, %1, dim = 0 : (tensor<2x20xf32>, tensor<2x20xf32>) -> tensor<4x20xf32>
  %3 = hlo.slice %2 [3:3, 0:20] : (tensor<4x20xf32>) -> tensor<0x20xf32>
  %4 = hlo.negate %3 : tensor<0x20xf32>
  %5 = hlo.add %2, %x : tensor<4x20xf32>
  func.return %4, %5 : tensor<0x20xf32>, tensor<4x20xf32>
}
