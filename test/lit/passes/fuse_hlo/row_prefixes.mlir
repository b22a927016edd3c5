// RUN: hlo-opt %s --fuse-hlo --fuse-remarks -o %t.mlir 2> %t.remarks
// RUN: filecheck %s < %t.mlir
// RUN: filecheck %s --check-prefix=REMARK < %t.remarks

// The product adds the residual and the bias, and the rows that are normalized are read from memory.

// REMARK: remark: fused hlo.add into the dot fusion of hlo.dot_general: saves 786.4 KB

// CHECK-LABEL: func.func @residual
// CHECK-NEXT:  %[[SUM:.*]] = hlo.fusion dot (%[[X:.*]] = %x : tensor<256x768xf32>, %[[W:.*]] = %w : tensor<768x768xf32>, %[[B:.*]] = %b : tensor<768xf32>, %[[R:.*]] = %r : tensor<256x768xf32>) -> tensor<256x768xf32>
// CHECK-NEXT:    %[[P:.*]] = hlo.dot_general %[[X]], %[[W]]
// CHECK-NEXT:    %[[S:.*]] = hlo.add %[[R]], %[[P]]
// CHECK-NEXT:    %[[C:.*]] = hlo.broadcast_in_dim %[[B]]
// CHECK-NEXT:    %[[T:.*]] = hlo.add %[[S]], %[[C]]
// CHECK-NEXT:    hlo.return %[[T]]
// CHECK:       %[[N:.*]] = hlo.fusion row<1> (%[[A:.*]] = %[[SUM]] : tensor<256x768xf32>) -> tensor<256x768xf32>
// CHECK-NOT:     hlo.add
// CHECK:         hlo.reduce(%[[A]] init:
// CHECK:       return %[[SUM]], %[[N]]
func.func @residual(%x: tensor<256x768xf32>, %w: tensor<768x768xf32>, %b: tensor<768xf32>, %r: tensor<256x768xf32>) -> (tensor<256x768xf32>, tensor<256x768xf32>) {
  %zero = hlo.constant dense<0.0> : tensor<f32>
  %0 = hlo.dot_general %x, %w, contracting_dims = [1] x [0] : (tensor<256x768xf32>, tensor<768x768xf32>) -> tensor<256x768xf32>
  %1 = hlo.add %r, %0 : tensor<256x768xf32>
  %2 = hlo.broadcast_in_dim %b, dims = [1] : (tensor<768xf32>) -> tensor<256x768xf32>
  %3 = hlo.add %1, %2 : tensor<256x768xf32>
  %4 = hlo.reduce(%3 init: %zero) applies hlo.add across dimensions = [1] : (tensor<256x768xf32>, tensor<f32>) -> tensor<256xf32>
  %5 = hlo.broadcast_in_dim %4, dims = [0] : (tensor<256xf32>) -> tensor<256x768xf32>
  %6 = hlo.divide %3, %5 : tensor<256x768xf32>
  return %3, %6 : tensor<256x768xf32>, tensor<256x768xf32>
}

// Not a sum that nothing else reads, which the row fusion need not write, nor one whose parts the rows read too.

// CHECK-LABEL: func.func @unread
// CHECK:       hlo.fusion dot
// CHECK-NEXT:    hlo.dot_general
// CHECK-NEXT:    hlo.return
func.func @unread(%x: tensor<256x768xf32>, %w: tensor<768x768xf32>, %r: tensor<256x768xf32>) -> tensor<256x768xf32> {
  %zero = hlo.constant dense<0.0> : tensor<f32>
  %0 = hlo.dot_general %x, %w, contracting_dims = [1] x [0] : (tensor<256x768xf32>, tensor<768x768xf32>) -> tensor<256x768xf32>
  %1 = hlo.add %r, %0 : tensor<256x768xf32>
  %2 = hlo.reduce(%1 init: %zero) applies hlo.add across dimensions = [1] : (tensor<256x768xf32>, tensor<f32>) -> tensor<256xf32>
  %3 = hlo.broadcast_in_dim %2, dims = [0] : (tensor<256xf32>) -> tensor<256x768xf32>
  %4 = hlo.divide %1, %3 : tensor<256x768xf32>
  return %4 : tensor<256x768xf32>
}

// CHECK-LABEL: func.func @read_twice
// CHECK:       hlo.fusion dot
// CHECK-NEXT:    hlo.dot_general
// CHECK-NEXT:    hlo.return
func.func @read_twice(%x: tensor<256x768xf32>, %w: tensor<768x768xf32>, %r: tensor<256x768xf32>) -> (tensor<256x768xf32>, tensor<256x768xf32>) {
  %zero = hlo.constant dense<0.0> : tensor<f32>
  %0 = hlo.dot_general %x, %w, contracting_dims = [1] x [0] : (tensor<256x768xf32>, tensor<768x768xf32>) -> tensor<256x768xf32>
  %1 = hlo.add %r, %0 : tensor<256x768xf32>
  %2 = hlo.reduce(%1 init: %zero) applies hlo.add across dimensions = [1] : (tensor<256x768xf32>, tensor<f32>) -> tensor<256xf32>
  %3 = hlo.broadcast_in_dim %2, dims = [0] : (tensor<256xf32>) -> tensor<256x768xf32>
  %4 = hlo.divide %r, %3 : tensor<256x768xf32>
  return %1, %4 : tensor<256x768xf32>, tensor<256x768xf32>
}
