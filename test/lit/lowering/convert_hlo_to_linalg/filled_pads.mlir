// RUN: hlo-opt %s --pass-pipeline="convert-hlo-to-linalg{filled-pads=true}" | filecheck %s

// The result is padding, into which the operand goes with a stride.
// CHECK-LABEL: @between
// CHECK-NOT:     arith.select
// CHECK:         %[[FILLED:[0-9]+]] = linalg.generic
// CHECK:         tensor.insert_slice %x into %[[FILLED]][0, 1] [2, 3] [1, 2] :
func.func private @between(%x: tensor<2x3xf32>, %c: tensor<f32>) -> tensor<2x6xf32> attributes {hlo.kernel = "loop"} {
  %0 = hlo.pad %x, %c, low = [0, 1], high = [0, 0], interior = [0, 1] : (tensor<2x3xf32>, tensor<f32>) -> tensor<2x6xf32>
  return %0 : tensor<2x6xf32>
}

// Vectors that begin at an element, every second one of which is an element, cost no gathers.
// CHECK-LABEL: @dense
// CHECK:         arith.select
func.func private @dense(%x: tensor<2x3xf32>, %c: tensor<f32>) -> tensor<2x5xf32> attributes {hlo.kernel = "loop"} {
  %0 = hlo.pad %x, %c, low = [0, 0], high = [0, 0], interior = [0, 1] : (tensor<2x3xf32>, tensor<f32>) -> tensor<2x5xf32>
  return %0 : tensor<2x5xf32>
}

// Elements are left out.
// CHECK-LABEL: @cut
// CHECK:         arith.select
func.func private @cut(%x: tensor<3xf32>, %c: tensor<f32>) -> tensor<8xf32> attributes {hlo.kernel = "loop"} {
  %0 = hlo.pad %x, %c, low = [2], high = [-1], interior = [2] : (tensor<3xf32>, tensor<f32>) -> tensor<8xf32>
  return %0 : tensor<8xf32>
}

// The result is not kept.
// CHECK-LABEL: @taken
// CHECK:         arith.select
func.func private @taken(%x: tensor<2x3xf32>, %c: tensor<f32>) -> tensor<2x6xf32> attributes {hlo.kernel = "loop"} {
  %0 = hlo.pad %x, %c, low = [0, 1], high = [0, 0], interior = [0, 1] : (tensor<2x3xf32>, tensor<f32>) -> tensor<2x6xf32>
  %1 = hlo.negate %0 : tensor<2x6xf32>
  return %1 : tensor<2x6xf32>
}

// Memory is written once.
// CHECK-LABEL: @large
// CHECK:         arith.select
func.func private @large(%x: tensor<16777216xf32>, %c: tensor<f32>) -> tensor<67108864xf32> attributes {hlo.kernel = "loop"} {
  %0 = hlo.pad %x, %c, low = [0], high = [3], interior = [3] : (tensor<16777216xf32>, tensor<f32>) -> tensor<67108864xf32>
  return %0 : tensor<67108864xf32>
}
