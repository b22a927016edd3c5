// RUN: hlo-opt %s --fuse-hlo=row-products=streamed --fuse-remarks -o %t.mlir 2> %t.remarks
// RUN: filecheck %s < %t.mlir
// RUN: filecheck %s --check-prefix=REMARK < %t.remarks
// RUN: hlo-opt %s --fuse-hlo=row-products=none --fuse-remarks -o %t.none.mlir 2> %t.none.remarks
// RUN: filecheck %s --check-prefix=NONE < %t.none.remarks

// A kernel that computes rows again for each of its steps takes them if they are a product, and a product contracts
// them. Their length does not matter, and neither does the size of the matrices.

// CHECK-LABEL: func.func @attention
// CHECK-NEXT: %[[R:.*]] = hlo.fusion row<2>
// CHECK-NEXT: hlo.dot_general
// CHECK: hlo.divide
// CHECK-NEXT: hlo.dot_general
// CHECK: func.return %[[R]]
// REMARK: remark: fused hlo.dot_general into the row fusion of hlo.subtract: saves
// NONE: remark: not fused hlo.dot_general with hlo.{{reduce|subtract}}: the target's row kernels do not multiply
// NONE: remark: not fused hlo.divide with hlo.dot_general: the target's row kernels do not multiply
func.func @attention(%q: tensor<2x40000x64xf32>, %k: tensor<2x30000x64xf32>, %v: tensor<2x30000x64xf32>) -> tensor<2x40000x64xf32> {
  %least = hlo.constant dense<0xFF800000> : tensor<f32>
  %zero = hlo.constant dense<0.0> : tensor<f32>
  %1 = hlo.dot_general %q, %k, batching_dims = [0] x [0], contracting_dims = [2] x [2] : (tensor<2x40000x64xf32>, tensor<2x30000x64xf32>) -> tensor<2x40000x30000xf32>
  %3 = hlo.reduce(%1 init: %least) applies hlo.maximum across dimensions = [2] : (tensor<2x40000x30000xf32>, tensor<f32>) -> tensor<2x40000xf32>
  %4 = hlo.broadcast_in_dim %3, dims = [0, 1] : (tensor<2x40000xf32>) -> tensor<2x40000x30000xf32>
  %5 = hlo.subtract %1, %4 : tensor<2x40000x30000xf32>
  %6 = hlo.exponential %5 : tensor<2x40000x30000xf32>
  %7 = hlo.reduce(%6 init: %zero) applies hlo.add across dimensions = [2] : (tensor<2x40000x30000xf32>, tensor<f32>) -> tensor<2x40000xf32>
  %8 = hlo.broadcast_in_dim %7, dims = [0, 1] : (tensor<2x40000xf32>) -> tensor<2x40000x30000xf32>
  %9 = hlo.divide %6, %8 : tensor<2x40000x30000xf32>
  %10 = hlo.dot_general %9, %v, batching_dims = [0] x [0], contracting_dims = [2] x [1] : (tensor<2x40000x30000xf32>, tensor<2x30000x64xf32>) -> tensor<2x40000x64xf32>
  return %10 : tensor<2x40000x64xf32>
}

// A transpose of the result changes only where it is written.

// CHECK-LABEL: func.func @transposed
// CHECK-NEXT: %[[R:.*]] = hlo.fusion row<3>
// CHECK: hlo.divide
// CHECK-NEXT: hlo.dot_general
// CHECK-NEXT: hlo.transpose
// CHECK: func.return %[[R]]
func.func @transposed(%q: tensor<2x64x4x16xf32>, %k: tensor<2x32x4x16xf32>, %v: tensor<2x32x4x16xf32>) -> tensor<2x64x4x16xf32> {
  %zero = hlo.constant dense<0.0> : tensor<f32>
  %1 = hlo.dot_general %q, %k, batching_dims = [0, 2] x [0, 2], contracting_dims = [3] x [3] : (tensor<2x64x4x16xf32>, tensor<2x32x4x16xf32>) -> tensor<2x4x64x32xf32>
  %2 = hlo.reduce(%1 init: %zero) applies hlo.add across dimensions = [3] : (tensor<2x4x64x32xf32>, tensor<f32>) -> tensor<2x4x64xf32>
  %3 = hlo.broadcast_in_dim %2, dims = [0, 1, 2] : (tensor<2x4x64xf32>) -> tensor<2x4x64x32xf32>
  %4 = hlo.divide %1, %3 : tensor<2x4x64x32xf32>
  %5 = hlo.dot_general %4, %v, batching_dims = [0, 1] x [0, 2], contracting_dims = [3] x [1] : (tensor<2x4x64x32xf32>, tensor<2x32x4x16xf32>) -> tensor<2x4x64x16xf32>
  %6 = hlo.transpose %5, dims = [0, 2, 1, 3] : (tensor<2x4x64x16xf32>) -> tensor<2x64x4x16xf32>
  return %6 : tensor<2x64x4x16xf32>
}

// Rows that are only a product, or only contracted, would be computed or read again for nothing.

// CHECK-LABEL: func.func @one_side
// CHECK-NEXT: hlo.fusion dot
// CHECK: hlo.fusion row<1>
// REMARK: remark: not fused hlo.dot_general with hlo.{{.*}}: only rows that are a product, and that a product contracts, are computed tile by tile
func.func @one_side(%x: tensor<64x32xf32>, %w: tensor<32x128xf32>) -> tensor<64x128xf32> {
  %zero = hlo.constant dense<0.0> : tensor<f32>
  %1 = hlo.dot_general %x, %w, contracting_dims = [1] x [0] : (tensor<64x32xf32>, tensor<32x128xf32>) -> tensor<64x128xf32>
  %2 = hlo.reduce(%1 init: %zero) applies hlo.add across dimensions = [1] : (tensor<64x128xf32>, tensor<f32>) -> tensor<64xf32>
  %3 = hlo.broadcast_in_dim %2, dims = [0] : (tensor<64xf32>) -> tensor<64x128xf32>
  %4 = hlo.divide %1, %3 : tensor<64x128xf32>
  return %4 : tensor<64x128xf32>
}

// CHECK-LABEL: func.func @wide
// CHECK: hlo.fusion dot
// CHECK: hlo.fusion row<1>
// CHECK: hlo.fusion dot
// REMARK: remark: not fused hlo.dot_general with hlo.{{.*}}: its tiles would have 512 elements for each element of a row, more than 256
func.func @wide(%x: tensor<64x512xf32>, %w: tensor<512x128xf32>, %v: tensor<128x32xf32>) -> tensor<64x32xf32> {
  %zero = hlo.constant dense<0.0> : tensor<f32>
  %1 = hlo.dot_general %x, %w, contracting_dims = [1] x [0] : (tensor<64x512xf32>, tensor<512x128xf32>) -> tensor<64x128xf32>
  %2 = hlo.reduce(%1 init: %zero) applies hlo.add across dimensions = [1] : (tensor<64x128xf32>, tensor<f32>) -> tensor<64xf32>
  %3 = hlo.broadcast_in_dim %2, dims = [0] : (tensor<64xf32>) -> tensor<64x128xf32>
  %4 = hlo.divide %1, %3 : tensor<64x128xf32>
  %5 = hlo.dot_general %4, %v, contracting_dims = [1] x [0] : (tensor<64x128xf32>, tensor<128x32xf32>) -> tensor<64x32xf32>
  return %5 : tensor<64x32xf32>
}
