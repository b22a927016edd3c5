// RUN: hlo-opt %s --fuse-hlo --fuse-remarks -o %t.mlir 2> %t.remarks
// RUN: filecheck %s < %t.mlir
// RUN: filecheck %s --check-prefix=REMARK < %t.remarks
// RUN: hlo-opt %s --fuse-hlo=epilogues=dots | filecheck %s --check-prefix=APART

// The gradient of a bias sums what the product for the weights' gradient packs.

// REMARK: remark: fused hlo.reduce into the dot fusion of hlo.dot_general: saves 524.3 KB

// CHECK-LABEL: func.func @layer
// CHECK-NEXT:  %[[R:.*]]:2 = hlo.fusion dot (%[[X:.*]] = %x : tensor<512x160xf32>, %[[D:.*]] = %d : tensor<512x256xf32>)
// CHECK:         hlo.dot_general %[[X]], %[[D]]
// CHECK:         hlo.reduce(%[[D]] init:
// CHECK-NEXT:    hlo.exponential
// CHECK:       return %[[R]]#0, %[[R]]#1

// APART-LABEL: func.func @layer
// APART:       hlo.fusion reduce
// APART:       hlo.fusion dot
func.func @layer(%x: tensor<512x160xf32>, %d: tensor<512x256xf32>) -> (tensor<160x256xf32>, tensor<256xf32>) {
  %zero = hlo.constant dense<0.0> : tensor<f32>
  %0 = hlo.reduce(%d init: %zero) applies hlo.add across dimensions = [0] : (tensor<512x256xf32>, tensor<f32>) -> tensor<256xf32>
  %1 = hlo.exponential %0 : tensor<256xf32>
  %2 = hlo.dot_general %x, %d, contracting_dims = [0] x [0] : (tensor<512x160xf32>, tensor<512x256xf32>) -> tensor<160x256xf32>
  return %2, %1 : tensor<160x256xf32>, tensor<256xf32>
}

// The product needs the sum, or sums along another dimension, or reads so little that it packs nothing.

// CHECK-LABEL: func.func @needed
// CHECK:       hlo.fusion reduce
func.func @needed(%x: tensor<512x256xf32>, %d: tensor<512x256xf32>) -> tensor<256x256xf32> {
  %zero = hlo.constant dense<0.0> : tensor<f32>
  %0 = hlo.reduce(%d init: %zero) applies hlo.add across dimensions = [0] : (tensor<512x256xf32>, tensor<f32>) -> tensor<256xf32>
  %1 = hlo.broadcast_in_dim %0, dims = [1] : (tensor<256xf32>) -> tensor<512x256xf32>
  %2 = hlo.add %x, %1 : tensor<512x256xf32>
  %3 = hlo.dot_general %2, %d, contracting_dims = [0] x [0] : (tensor<512x256xf32>, tensor<512x256xf32>) -> tensor<256x256xf32>
  return %3 : tensor<256x256xf32>
}

// CHECK-LABEL: func.func @other_dimension
// CHECK:       hlo.fusion reduce
func.func @other_dimension(%x: tensor<256x160xf32>, %d: tensor<256x256xf32>) -> (tensor<160x256xf32>, tensor<256xf32>) {
  %zero = hlo.constant dense<0.0> : tensor<f32>
  %0 = hlo.reduce(%d init: %zero) applies hlo.add across dimensions = [1] : (tensor<256x256xf32>, tensor<f32>) -> tensor<256xf32>
  %1 = hlo.dot_general %x, %d, contracting_dims = [0] x [0] : (tensor<256x160xf32>, tensor<256x256xf32>) -> tensor<160x256xf32>
  return %1, %0 : tensor<160x256xf32>, tensor<256xf32>
}

// CHECK-LABEL: func.func @few_rows
// CHECK:       hlo.fusion reduce
func.func @few_rows(%x: tensor<512x32xf32>, %d: tensor<512x256xf32>) -> (tensor<32x256xf32>, tensor<256xf32>) {
  %zero = hlo.constant dense<0.0> : tensor<f32>
  %0 = hlo.reduce(%d init: %zero) applies hlo.add across dimensions = [0] : (tensor<512x256xf32>, tensor<f32>) -> tensor<256xf32>
  %1 = hlo.dot_general %x, %d, contracting_dims = [0] x [0] : (tensor<512x32xf32>, tensor<512x256xf32>) -> tensor<32x256xf32>
  return %1, %0 : tensor<32x256xf32>, tensor<256xf32>
}

// A reader of the product before the sum stays after both.

// CHECK-LABEL: func.func @read_between
// CHECK:       %[[R:.*]]:2 = hlo.fusion dot
// CHECK:       hlo.fusion reduce ({{.*}} = %[[R]]#0
func.func @read_between(%x: tensor<512x160xf32>, %d: tensor<512x256xf32>) -> (tensor<160x256xf32>, tensor<256xf32>, tensor<160xf32>) {
  %zero = hlo.constant dense<0.0> : tensor<f32>
  %0 = hlo.dot_general %x, %d, contracting_dims = [0] x [0] : (tensor<512x160xf32>, tensor<512x256xf32>) -> tensor<160x256xf32>
  %1 = hlo.reduce(%0 init: %zero) applies hlo.maximum across dimensions = [1] : (tensor<160x256xf32>, tensor<f32>) -> tensor<160xf32>
  %2 = hlo.reduce(%d init: %zero) applies hlo.add across dimensions = [0] : (tensor<512x256xf32>, tensor<f32>) -> tensor<256xf32>
  %3 = hlo.exponential %2 : tensor<256xf32>
  return %0, %3, %1 : tensor<160x256xf32>, tensor<256xf32>, tensor<160xf32>
}
