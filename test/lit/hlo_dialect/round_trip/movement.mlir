// RUN: hlo-opt %s --verify-roundtrip | filecheck %s

// CHECK-LABEL: func.func @movement
func.func @movement(%x: tensor<4x6xf32>, %c: tensor<f32>, %d: tensor<?x6xf32>) {
  // CHECK: hlo.broadcast_in_dim %{{.*}}, dims = [] : (tensor<f32>) -> tensor<4x6xf32>
  %0 = hlo.broadcast_in_dim %c, dims = [] : (tensor<f32>) -> tensor<4x6xf32>
  // CHECK: hlo.broadcast_in_dim %{{.*}}, dims = [2, 0] : (tensor<4x6xf32>) -> tensor<6x3x4xf32>
  %1 = stablehlo.broadcast_in_dim %x, dims = [2, 0] : (tensor<4x6xf32>) -> tensor<6x3x4xf32>
  // CHECK: hlo.reshape %{{.*}} : (tensor<4x6xf32>) -> tensor<24xf32>
  %2 = hlo.reshape %x : (tensor<4x6xf32>) -> tensor<24xf32>
  // CHECK: hlo.transpose %{{.*}}, dims = [1, 0] {mine = 1 : i32} : (tensor<4x6xf32>) -> tensor<6x4xf32>
  %3 = hlo.transpose %x, dims = [1, 0] {mine = 1 : i32} : (tensor<4x6xf32>) -> tensor<6x4xf32>
  // CHECK: hlo.slice %{{.*}} [0:4, 1:6:2] : (tensor<4x6xf32>) -> tensor<4x3xf32>
  %4 = hlo.slice %x [0:4:1, 1:6:2] : (tensor<4x6xf32>) -> tensor<4x3xf32>
  // CHECK: hlo.concatenate %{{.*}}, %{{.*}}, dim = 0 : (tensor<?x6xf32>, tensor<4x6xf32>) -> tensor<?x6xf32>
  %5 = hlo.concatenate %d, %x, dim = 0 : (tensor<?x6xf32>, tensor<4x6xf32>) -> tensor<?x6xf32>
  // CHECK: hlo.pad %{{.*}}, %{{.*}}, low = [1, -2], high = [0, 3], interior = [0, 1] : (tensor<4x6xf32>, tensor<f32>) -> tensor<5x12xf32>
  %6 = hlo.pad %x, %c, low = [1, -2], high = [0, 3], interior = [0, 1] : (tensor<4x6xf32>, tensor<f32>) -> tensor<5x12xf32>
  // CHECK: hlo.reverse %{{.*}}, dims = [0, 1] : tensor<4x6xf32>
  %7 = hlo.reverse %x, dims = [0, 1] : tensor<4x6xf32>
  return
}

// The generic form with dense constants, as in older programs.
// CHECK-LABEL: func.func @older
func.func @older(%x: tensor<4x6xf32>) -> tensor<6x4xf32> {
  // CHECK: hlo.transpose %{{.*}}, dims = [1, 0] :
  %0 = "stablehlo.transpose"(%x) {permutation = dense<[1, 0]> : tensor<2xi64>} : (tensor<4x6xf32>) -> tensor<6x4xf32>
  return %0 : tensor<6x4xf32>
}
