// RUN: hlo-opt %s --fuse-hlo --split-input-file | filecheck %s
// RUN: hlo-opt %s --fuse-hlo --fuse-hlo --split-input-file | filecheck %s

// One kernel: each part is computed of the part of what is in memory, of a number and of a repeated row.

// CHECK-LABEL: func.func @chain
// CHECK:         hlo.fusion concatenate
// CHECK-DAG:       hlo.slice %{{.*}} [0:1, 0:128, 0:128]
// CHECK-DAG:       hlo.slice %{{.*}} [1:2, 0:128, 0:128]
// CHECK-DAG:       hlo.broadcast_in_dim %{{.*}}, dims = [2] : (tensor<128xf32>) -> tensor<1x128x128xf32>
// CHECK:           hlo.concatenate
// CHECK-NEXT:      hlo.return
// CHECK-NOT:     hlo.fusion
func.func @chain(%x: tensor<2x128x128xf32>, %y: tensor<1x128x128xf32>, %z: tensor<1x128x128xf32>, %row: tensor<128xf32>)
    -> tensor<2x128x128xf32> {
  %0 = hlo.multiply %y, %z : tensor<1x128x128xf32>
  %1 = hlo.concatenate %0, %z, dim = 0 : (tensor<1x128x128xf32>, tensor<1x128x128xf32>) -> tensor<2x128x128xf32>
  %2 = hlo.constant dense<2.0> : tensor<2x128x128xf32>
  %3 = hlo.multiply %1, %2 : tensor<2x128x128xf32>
  %4 = hlo.broadcast_in_dim %row, dims = [2] : (tensor<128xf32>) -> tensor<2x128x128xf32>
  %5 = hlo.multiply %3, %4 : tensor<2x128x128xf32>
  %6 = hlo.subtract %x, %5 : tensor<2x128x128xf32>
  func.return %6 : tensor<2x128x128xf32>
}

// -----

// A product takes in what is added to it; so does a reduction. Others read the first sum; short parts are read together.

// CHECK-LABEL: func.func @others
// CHECK-NOT:     hlo.slice
func.func @others(
    %x: tensor<128x128xf32>, %y: tensor<64x128xf32>, %z: tensor<64x128xf32>, %c: tensor<16384x1xf32>, %d: tensor<16384x2xf32>
) -> (tensor<128x128xf32>, tensor<128x128xf32>, tensor<128x128xf32>, tensor<16384x2xf32>) {
  %0 = hlo.dot_general %x, %x, contracting_dims = [1] x [0] : (tensor<128x128xf32>, tensor<128x128xf32>) -> tensor<128x128xf32>
  %1 = hlo.concatenate %y, %z, dim = 0 : (tensor<64x128xf32>, tensor<64x128xf32>) -> tensor<128x128xf32>
  %2 = hlo.add %0, %1 : tensor<128x128xf32>
  %3 = hlo.concatenate %y, %z, dim = 0 : (tensor<64x128xf32>, tensor<64x128xf32>) -> tensor<128x128xf32>
  %4 = hlo.add %3, %x : tensor<128x128xf32>
  %5 = hlo.subtract %3, %x : tensor<128x128xf32>
  %6 = hlo.concatenate %c, %c, dim = 1 : (tensor<16384x1xf32>, tensor<16384x1xf32>) -> tensor<16384x2xf32>
  %7 = hlo.add %6, %d : tensor<16384x2xf32>
  func.return %2, %4, %5, %7 : tensor<128x128xf32>, tensor<128x128xf32>, tensor<128x128xf32>, tensor<16384x2xf32>
}
