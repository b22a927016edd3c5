// RUN: hlo-opt %s --fuse-hlo --fuse-remarks -o %t.mlir 2> %t.remarks
// RUN: filecheck %s < %t.mlir
// RUN: filecheck %s --check-prefix=REMARK < %t.remarks
// RUN: hlo-opt %s --fuse-hlo=epilogues=dots | filecheck %s --check-prefix=APART

// The sums of the columns of what a row fusion reads and returns, with what follows from them last.

// REMARK: remark: fused hlo.reduce into the row fusion of hlo.reduce: saves

// CHECK-LABEL: func.func @gradient
// CHECK-NEXT:  %[[R:.*]]:2 = hlo.fusion row<2> ({{.*}}) -> (tensor<4x33x64xf32>, tensor<64xf32>)
// CHECK:         %[[P:.*]] = hlo.multiply
// CHECK:         hlo.reduce(%[[P]] init: %{{.*}}) applies hlo.add across dimensions = [2]
// CHECK:         %[[S:.*]] = hlo.reduce(%{{.*}} init: %{{.*}}) applies hlo.add across dimensions = [0, 1]
// CHECK:         hlo.subtract %{{.*}}, %[[S]] : tensor<64xf32>
// CHECK-NEXT:    hlo.return
// CHECK-NEXT:  }
// CHECK-NEXT:  return %[[R]]#0, %[[R]]#1

// APART-LABEL: func.func @gradient
// APART:       hlo.fusion row
// APART:       hlo.fusion reduce
func.func @gradient(%x: tensor<4x33x64xf32>, %d: tensor<4x33x64xf32>, %g: tensor<64xf32>) -> (tensor<4x33x64xf32>, tensor<64xf32>) {
  %zero = hlo.constant dense<0.0> : tensor<f32>
  %0 = hlo.multiply %x, %d : tensor<4x33x64xf32>
  %1 = hlo.reduce(%0 init: %zero) applies hlo.add across dimensions = [2] : (tensor<4x33x64xf32>, tensor<f32>) -> tensor<4x33xf32>
  %2 = hlo.broadcast_in_dim %1, dims = [0, 1] : (tensor<4x33xf32>) -> tensor<4x33x64xf32>
  %3 = hlo.subtract %d, %2 : tensor<4x33x64xf32>
  %4 = hlo.multiply %x, %3 : tensor<4x33x64xf32>
  %5 = hlo.reduce(%4 init: %zero) applies hlo.add across dimensions = [0, 1] : (tensor<4x33x64xf32>, tensor<f32>) -> tensor<64xf32>
  %6 = hlo.subtract %g, %5 : tensor<64xf32>
  return %3, %6 : tensor<4x33x64xf32>, tensor<64xf32>
}

// A sum that another sum waits for, and one whose result the rows read, stay apart.

// CHECK-LABEL: func.func @waits
// CHECK:       hlo.fusion row
// CHECK:       hlo.fusion reduce
func.func @waits(%x: tensor<512x64xf32>) -> (tensor<512x64xf32>, tensor<64xf32>) {
  %zero = hlo.constant dense<0.0> : tensor<f32>
  %0 = hlo.reduce(%x init: %zero) applies hlo.add across dimensions = [1] : (tensor<512x64xf32>, tensor<f32>) -> tensor<512xf32>
  %1 = hlo.broadcast_in_dim %0, dims = [0] : (tensor<512xf32>) -> tensor<512x64xf32>
  %2 = hlo.divide %x, %1 : tensor<512x64xf32>
  %3 = hlo.reduce(%x init: %zero) applies hlo.add across dimensions = [0] : (tensor<512x64xf32>, tensor<f32>) -> tensor<64xf32>
  %4 = hlo.broadcast_in_dim %3, dims = [1] : (tensor<64xf32>) -> tensor<512x64xf32>
  %5 = hlo.subtract %x, %4 : tensor<512x64xf32>
  %6 = hlo.multiply %5, %5 : tensor<512x64xf32>
  %7 = hlo.reduce(%6 init: %zero) applies hlo.add across dimensions = [0] : (tensor<512x64xf32>, tensor<f32>) -> tensor<64xf32>
  return %2, %7 : tensor<512x64xf32>, tensor<64xf32>
}

// Rows of few elements are vectors of rows, whose columns are summed by a kernel of their own.

// CHECK-LABEL: func.func @short
// CHECK:       hlo.fusion row
// CHECK:       hlo.fusion reduce
func.func @short(%x: tensor<512x8xf32>) -> (tensor<512x8xf32>, tensor<8xf32>) {
  %zero = hlo.constant dense<0.0> : tensor<f32>
  %0 = hlo.reduce(%x init: %zero) applies hlo.add across dimensions = [1] : (tensor<512x8xf32>, tensor<f32>) -> tensor<512xf32>
  %1 = hlo.broadcast_in_dim %0, dims = [0] : (tensor<512xf32>) -> tensor<512x8xf32>
  %2 = hlo.divide %x, %1 : tensor<512x8xf32>
  %3 = hlo.reduce(%x init: %zero) applies hlo.add across dimensions = [0] : (tensor<512x8xf32>, tensor<f32>) -> tensor<8xf32>
  return %2, %3 : tensor<512x8xf32>, tensor<8xf32>
}
