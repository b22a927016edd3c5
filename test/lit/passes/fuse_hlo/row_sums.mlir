// RUN: hlo-opt %s --fuse-hlo --fuse-remarks -o %t.mlir 2> %t.remarks
// RUN: filecheck %s < %t.mlir
// RUN: filecheck %s --check-prefix=REMARK < %t.remarks

// A product that contracts the rows of each matrix, as the gradient of attention's values does, joins the rows: the
// weights are never in memory as a whole.

// REMARK: remark: fused hlo.divide into the row fusion of hlo.dot_general: saves

// CHECK-LABEL: func.func @weights_transposed
// CHECK-NEXT: %[[R:.*]] = hlo.fusion row<3>
// CHECK: hlo.dot_general {{.*}} contracting_dims = [2] x [2]
// CHECK-NEXT: hlo.return
// CHECK: func.return %[[R]]
func.func @weights_transposed(%s: tensor<2x4x40x32xf32>, %d: tensor<2x4x40x24xf32>) -> tensor<2x4x32x24xf32> {
  %zero = hlo.constant dense<0.0> : tensor<f32>
  %0 = hlo.exponential %s : tensor<2x4x40x32xf32>
  %1 = hlo.reduce(%0 init: %zero) applies hlo.add across dimensions = [3] : (tensor<2x4x40x32xf32>, tensor<f32>) -> tensor<2x4x40xf32>
  %2 = hlo.broadcast_in_dim %1, dims = [0, 1, 2] : (tensor<2x4x40xf32>) -> tensor<2x4x40x32xf32>
  %3 = hlo.divide %0, %2 : tensor<2x4x40x32xf32>
  %4 = hlo.dot_general %3, %d, batching_dims = [0, 1] x [0, 1], contracting_dims = [2] x [2] : (tensor<2x4x40x32xf32>, tensor<2x4x40x24xf32>) -> tensor<2x4x32x24xf32>
  return %4 : tensor<2x4x32x24xf32>
}

// With few matrices one task for each would leave threads idle.

// CHECK-LABEL: func.func @few_matrices
// CHECK: hlo.fusion row<3>
// CHECK-NOT: hlo.dot_general
// CHECK: hlo.fusion dot
func.func @few_matrices(%s: tensor<1x4x40x32xf32>, %d: tensor<1x4x40x24xf32>) -> tensor<1x4x32x24xf32> {
  %zero = hlo.constant dense<0.0> : tensor<f32>
  %0 = hlo.exponential %s : tensor<1x4x40x32xf32>
  %1 = hlo.reduce(%0 init: %zero) applies hlo.add across dimensions = [3] : (tensor<1x4x40x32xf32>, tensor<f32>) -> tensor<1x4x40xf32>
  %2 = hlo.broadcast_in_dim %1, dims = [0, 1, 2] : (tensor<1x4x40xf32>) -> tensor<1x4x40x32xf32>
  %3 = hlo.divide %0, %2 : tensor<1x4x40x32xf32>
  %4 = hlo.dot_general %3, %d, batching_dims = [0, 1] x [0, 1], contracting_dims = [2] x [2] : (tensor<1x4x40x32xf32>, tensor<1x4x40x24xf32>) -> tensor<1x4x32x24xf32>
  return %4 : tensor<1x4x32x24xf32>
}
