// RUN: hlo-opt %s --fuse-hlo --fuse-remarks -o %t.mlir 2> %t.remarks
// RUN: filecheck %s < %t.mlir
// RUN: filecheck %s --check-prefix=REMARK < %t.remarks
// RUN: hlo-opt %s --fuse-hlo=row-products=streamed | filecheck %s --check-prefix=APART

// Attention on three parts of a projection reads them where they are, and writes its result as the next product reads it.

// REMARK: remark: fused hlo.slice into the row fusion of hlo.dot_general: saves 41.0 KB
// REMARK: remark: fused hlo.dot_general into the row fusion of hlo.transpose: saves 41.0 KB

// CHECK-LABEL: func.func @merged
// CHECK-NEXT:  %[[Y:.*]] = hlo.reshape %y : (tensor<2x40x192xf32>) -> tensor<2x40x12x16xf32>
// CHECK-NEXT:  %[[R:.*]] = hlo.fusion row<3> (%[[P:.*]] = %[[Y]] : tensor<2x40x12x16xf32>) -> tensor<2x40x4x16xf32> {
// CHECK-DAG:     hlo.slice %[[P]] [0:2, 0:40, 0:4, 0:16]
// CHECK-DAG:     hlo.slice %[[P]] [0:2, 0:40, 4:8, 0:16]
// CHECK-DAG:     hlo.slice %[[P]] [0:2, 0:40, 8:12, 0:16]
// CHECK:         hlo.transpose
// CHECK-NEXT:    hlo.return
// CHECK:       return %[[R]]

// APART-LABEL: func.func @merged
// APART:       hlo.fusion loop
// APART:         hlo.slice
// APART:       hlo.fusion row<3>
func.func @merged(%y: tensor<2x40x192xf32>) -> tensor<2x40x4x16xf32> {
  %least = hlo.constant dense<0xFF800000> : tensor<f32>
  %zero = hlo.constant dense<0.0> : tensor<f32>
  %q0 = hlo.slice %y [0:2, 0:40, 0:64] : (tensor<2x40x192xf32>) -> tensor<2x40x64xf32>
  %k0 = hlo.slice %y [0:2, 0:40, 64:128] : (tensor<2x40x192xf32>) -> tensor<2x40x64xf32>
  %v0 = hlo.slice %y [0:2, 0:40, 128:192] : (tensor<2x40x192xf32>) -> tensor<2x40x64xf32>
  %q = hlo.reshape %q0 : (tensor<2x40x64xf32>) -> tensor<2x40x4x16xf32>
  %k = hlo.reshape %k0 : (tensor<2x40x64xf32>) -> tensor<2x40x4x16xf32>
  %v = hlo.reshape %v0 : (tensor<2x40x64xf32>) -> tensor<2x40x4x16xf32>
  %0 = hlo.dot_general %q, %k, batching_dims = [0, 2] x [0, 2], contracting_dims = [3] x [3] : (tensor<2x40x4x16xf32>, tensor<2x40x4x16xf32>) -> tensor<2x4x40x40xf32>
  %3 = hlo.reduce(%0 init: %least) applies hlo.maximum across dimensions = [3] : (tensor<2x4x40x40xf32>, tensor<f32>) -> tensor<2x4x40xf32>
  %4 = hlo.broadcast_in_dim %3, dims = [0, 1, 2] : (tensor<2x4x40xf32>) -> tensor<2x4x40x40xf32>
  %5 = hlo.subtract %0, %4 : tensor<2x4x40x40xf32>
  %6 = hlo.exponential %5 : tensor<2x4x40x40xf32>
  %7 = hlo.reduce(%6 init: %zero) applies hlo.add across dimensions = [3] : (tensor<2x4x40x40xf32>, tensor<f32>) -> tensor<2x4x40xf32>
  %8 = hlo.broadcast_in_dim %7, dims = [0, 1, 2] : (tensor<2x4x40xf32>) -> tensor<2x4x40x40xf32>
  %9 = hlo.divide %6, %8 : tensor<2x4x40x40xf32>
  %10 = hlo.dot_general %9, %v, batching_dims = [0, 1] x [0, 2], contracting_dims = [3] x [1] : (tensor<2x4x40x40xf32>, tensor<2x40x4x16xf32>) -> tensor<2x4x40x16xf32>
  %11 = hlo.transpose %10, dims = [0, 2, 1, 3] : (tensor<2x4x40x16xf32>) -> tensor<2x40x4x16xf32>
  return %11 : tensor<2x40x4x16xf32>
}

// A slice that something else reads too has to be in memory.

// CHECK-LABEL: func.func @read_elsewhere
// CHECK:       hlo.fusion loop
// CHECK-NEXT:    hlo.slice
// CHECK:       hlo.fusion row<2>
// CHECK-NOT:     hlo.slice
func.func @read_elsewhere(%y: tensor<40x32x2x16xf32>, %k: tensor<40x32x16xf32>) -> (tensor<40x32x32xf32>, tensor<40x32x1x16xf32>) {
  %least = hlo.constant dense<0xFF800000> : tensor<f32>
  %q0 = hlo.slice %y [0:40, 0:32, 1:2, 0:16] : (tensor<40x32x2x16xf32>) -> tensor<40x32x1x16xf32>
  %q = hlo.reshape %q0 : (tensor<40x32x1x16xf32>) -> tensor<40x32x16xf32>
  %0 = hlo.dot_general %q, %k, batching_dims = [0] x [0], contracting_dims = [2] x [2] : (tensor<40x32x16xf32>, tensor<40x32x16xf32>) -> tensor<40x32x32xf32>
  %3 = hlo.reduce(%0 init: %least) applies hlo.maximum across dimensions = [2] : (tensor<40x32x32xf32>, tensor<f32>) -> tensor<40x32xf32>
  %4 = hlo.broadcast_in_dim %3, dims = [0, 1] : (tensor<40x32xf32>) -> tensor<40x32x32xf32>
  %5 = hlo.subtract %0, %4 : tensor<40x32x32xf32>
  return %5, %q0 : tensor<40x32x32xf32>, tensor<40x32x1x16xf32>
}
