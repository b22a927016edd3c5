// RUN: hlo-opt %s --fuse-hlo | filecheck %s

// Differences of all pairs of points are computed from two small tensors for each step: no row kernel, which works on
// one row of three elements at a time, and whose exponent is computed row by row.
// CHECK-LABEL: @forces
// CHECK:       hlo.fusion reduce {{.*}} -> tensor<50x50xf32>
// CHECK:         hlo.power
// CHECK:       hlo.fusion reduce {{.*}} -> tensor<50x3xf32>
// CHECK-NOT:   hlo.fusion
func.func @forces(%x: tensor<50x3xf32>) -> tensor<50x3xf32> {
  %0 = hlo.broadcast_in_dim %x, dims = [1, 2] : (tensor<50x3xf32>) -> tensor<50x50x3xf32>
  %1 = hlo.broadcast_in_dim %x, dims = [0, 2] : (tensor<50x3xf32>) -> tensor<50x50x3xf32>
  %2 = hlo.subtract %0, %1 : tensor<50x50x3xf32>
  %3 = hlo.multiply %2, %2 : tensor<50x50x3xf32>
  %zero = hlo.constant dense<0.0> : tensor<f32>
  %4 = hlo.reduce(%3 init: %zero) applies hlo.add across dimensions = [2] : (tensor<50x50x3xf32>, tensor<f32>) -> tensor<50x50xf32>
  %5 = hlo.constant dense<1.5> : tensor<50x50xf32>
  %6 = hlo.power %4, %5 : tensor<50x50xf32>
  %7 = hlo.broadcast_in_dim %6, dims = [0, 1] : (tensor<50x50xf32>) -> tensor<50x50x3xf32>
  %8 = hlo.divide %2, %7 : tensor<50x50x3xf32>
  %9 = hlo.reduce(%8 init: %zero) applies hlo.add across dimensions = [1] : (tensor<50x50x3xf32>, tensor<f32>) -> tensor<50x3xf32>
  return %9 : tensor<50x3xf32>
}

// Exponentials are not computed twice.
// CHECK-LABEL: @weights
// CHECK:       hlo.fusion row
func.func @weights(%x: tensor<50xf32>) -> tensor<50x50xf32> {
  %0 = hlo.broadcast_in_dim %x, dims = [0] : (tensor<50xf32>) -> tensor<50x50xf32>
  %1 = hlo.broadcast_in_dim %x, dims = [1] : (tensor<50xf32>) -> tensor<50x50xf32>
  %2 = hlo.subtract %0, %1 : tensor<50x50xf32>
  %3 = hlo.exponential %2 : tensor<50x50xf32>
  %zero = hlo.constant dense<0.0> : tensor<f32>
  %4 = hlo.reduce(%3 init: %zero) applies hlo.add across dimensions = [1] : (tensor<50x50xf32>, tensor<f32>) -> tensor<50xf32>
  %5 = hlo.broadcast_in_dim %4, dims = [0] : (tensor<50xf32>) -> tensor<50x50xf32>
  %6 = hlo.divide %3, %5 : tensor<50x50xf32>
  return %6 : tensor<50x50xf32>
}
