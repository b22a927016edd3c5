// RUN: hlo-opt %s --fuse-hlo --fuse-remarks -o %t.mlir 2> %t.remarks
// RUN: filecheck %s < %t.mlir
// RUN: filecheck %s --check-prefix=REMARK < %t.remarks
// RUN: hlo-opt %s --fuse-hlo=row-products=none | filecheck %s --check-prefix=APART

// Attention: the products whose rows the softmax works on are part of its kernel, with the steps between them.

// REMARK: remark: fused hlo.dot_general into the row fusion of hlo.multiply: saves
// REMARK: remark: fused hlo.transpose into the row fusion of hlo.subtract: saves
// REMARK: remark: fused hlo.divide into the row fusion of hlo.dot_general: saves

// CHECK-LABEL: func.func @attention
// CHECK-NEXT: %[[R:.*]] = hlo.fusion row<3>
// CHECK-NEXT: hlo.dot_general
// CHECK: hlo.transpose
// CHECK: hlo.divide
// CHECK-NEXT: hlo.dot_general
// CHECK: func.return %[[R]]

// APART-LABEL: func.func @attention
// APART: hlo.fusion dot
// APART: hlo.fusion row<3>
// APART: hlo.fusion dot
func.func @attention(%q: tensor<2x40x4x16xf32>, %k: tensor<2x32x4x16xf32>, %v: tensor<2x32x4x24xf32>) -> tensor<4x2x40x24xf32> {
  %least = hlo.constant dense<0xFF800000> : tensor<f32>
  %zero = hlo.constant dense<0.0> : tensor<f32>
  %half = hlo.constant dense<0.5> : tensor<2x4x40x32xf32>
  %0 = hlo.dot_general %q, %k, batching_dims = [0, 2] x [0, 2], contracting_dims = [3] x [3] : (tensor<2x40x4x16xf32>, tensor<2x32x4x16xf32>) -> tensor<2x4x40x32xf32>
  %1 = hlo.multiply %0, %half : tensor<2x4x40x32xf32>
  %2 = hlo.transpose %1, dims = [1, 0, 2, 3] : (tensor<2x4x40x32xf32>) -> tensor<4x2x40x32xf32>
  %3 = hlo.reduce(%2 init: %least) applies hlo.maximum across dimensions = [3] : (tensor<4x2x40x32xf32>, tensor<f32>) -> tensor<4x2x40xf32>
  %4 = hlo.broadcast_in_dim %3, dims = [0, 1, 2] : (tensor<4x2x40xf32>) -> tensor<4x2x40x32xf32>
  %5 = hlo.subtract %2, %4 : tensor<4x2x40x32xf32>
  %6 = hlo.exponential %5 : tensor<4x2x40x32xf32>
  %7 = hlo.reduce(%6 init: %zero) applies hlo.add across dimensions = [3] : (tensor<4x2x40x32xf32>, tensor<f32>) -> tensor<4x2x40xf32>
  %8 = hlo.broadcast_in_dim %7, dims = [0, 1, 2] : (tensor<4x2x40xf32>) -> tensor<4x2x40x32xf32>
  %9 = hlo.divide %6, %8 : tensor<4x2x40x32xf32>
  %10 = hlo.dot_general %9, %v, batching_dims = [0, 1] x [2, 0], contracting_dims = [3] x [1] : (tensor<4x2x40x32xf32>, tensor<2x32x4x24xf32>) -> tensor<4x2x40x24xf32>
  return %10 : tensor<4x2x40x24xf32>
}

// A factor that is itself rows of the fusion, and one that is too large to be read for each tile, stay apart.

// CHECK-LABEL: func.func @both_factors
// CHECK: hlo.fusion row<1>
// CHECK-NOT: hlo.dot_general
// CHECK: hlo.fusion dot
func.func @both_factors(%x: tensor<32x64xf32>) -> tensor<32x32xf32> {
  %zero = hlo.constant dense<0.0> : tensor<f32>
  %0 = hlo.reduce(%x init: %zero) applies hlo.add across dimensions = [1] : (tensor<32x64xf32>, tensor<f32>) -> tensor<32xf32>
  %1 = hlo.broadcast_in_dim %0, dims = [0] : (tensor<32xf32>) -> tensor<32x64xf32>
  %2 = hlo.subtract %x, %1 : tensor<32x64xf32>
  %3 = hlo.dot_general %2, %2, contracting_dims = [1] x [1] : (tensor<32x64xf32>, tensor<32x64xf32>) -> tensor<32x32xf32>
  return %3 : tensor<32x32xf32>
}

// CHECK-LABEL: func.func @large_factor
// CHECK: hlo.fusion row<1>
// CHECK-NOT: hlo.dot_general
// CHECK: hlo.fusion dot
func.func @large_factor(%x: tensor<32x1024xf32>, %w: tensor<1024x4096xf32>) -> tensor<32x4096xf32> {
  %zero = hlo.constant dense<0.0> : tensor<f32>
  %0 = hlo.reduce(%x init: %zero) applies hlo.add across dimensions = [1] : (tensor<32x1024xf32>, tensor<f32>) -> tensor<32xf32>
  %1 = hlo.broadcast_in_dim %0, dims = [0] : (tensor<32xf32>) -> tensor<32x1024xf32>
  %2 = hlo.subtract %x, %1 : tensor<32x1024xf32>
  %3 = hlo.dot_general %2, %w, contracting_dims = [1] x [0] : (tensor<32x1024xf32>, tensor<1024x4096xf32>) -> tensor<32x4096xf32>
  return %3 : tensor<32x4096xf32>
}

// A shared factor larger than all rows is read in place, or packed by the tasks that read it, by a kernel of its own.

// CHECK-LABEL: func.func @few_rows
// CHECK: %[[S:.*]] = hlo.fusion dot
// CHECK: hlo.fusion row<1> (%{{.*}} = %[[S]]
// CHECK-NOT: hlo.dot_general
// CHECK: func.return
func.func @few_rows(%x: tensor<32x64xf32>, %w: tensor<64x512xf32>) -> tensor<32x512xf32> {
  %zero = hlo.constant dense<0.0> : tensor<f32>
  %0 = hlo.dot_general %x, %w, contracting_dims = [1] x [0] : (tensor<32x64xf32>, tensor<64x512xf32>) -> tensor<32x512xf32>
  %1 = hlo.exponential %0 : tensor<32x512xf32>
  %2 = hlo.reduce(%1 init: %zero) applies hlo.add across dimensions = [1] : (tensor<32x512xf32>, tensor<f32>) -> tensor<32xf32>
  %3 = hlo.broadcast_in_dim %2, dims = [0] : (tensor<32xf32>) -> tensor<32x512xf32>
  %4 = hlo.divide %1, %3 : tensor<32x512xf32>
  return %4 : tensor<32x512xf32>
}
