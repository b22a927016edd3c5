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

// Elements of short rows are not asked one by one, whether rows are apart or not.
// CHECK-LABEL: @short_rows
// CHECK-NOT:     arith.select
// CHECK:         tensor.insert_slice %x into %{{.*}}[1, 0, 2] [200, 9, 5] [1, 1, 1] :
func.func private @short_rows(%x: tensor<200x9x5xf32>, %c: tensor<f32>) -> tensor<202x9x8xf32> attributes {hlo.kernel = "loop"} {
  %0 = hlo.pad %x, %c, low = [1, 0, 2], high = [1, 0, 1], interior = [0, 0, 0] : (tensor<200x9x5xf32>, tensor<f32>) -> tensor<202x9x8xf32>
  return %0 : tensor<202x9x8xf32>
}

// CHECK-LABEL: @pairs_apart
// CHECK-NOT:     arith.select
// CHECK:         tensor.insert_slice %x into %{{.*}}[0, 0, 0] [20, 90, 2] [1, 3, 1] :
func.func private @pairs_apart(%x: tensor<20x90x2xf32>, %c: tensor<f32>) -> tensor<20x268x2xf32> attributes {hlo.kernel = "loop"} {
  %0 = hlo.pad %x, %c, low = [0, 0, 0], high = [0, 0, 0], interior = [0, 2, 0] : (tensor<20x90x2xf32>, tensor<f32>) -> tensor<20x268x2xf32>
  return %0 : tensor<20x268x2xf32>
}

// A small result is no code of its own.
// CHECK-LABEL: @small
// CHECK-NOT:     tensor.insert_slice
func.func private @small(%x: tensor<6x9x5xf32>, %c: tensor<f32>) -> tensor<8x9x8xf32> attributes {hlo.kernel = "loop"} {
  %0 = hlo.pad %x, %c, low = [1, 0, 2], high = [1, 0, 1], interior = [0, 0, 0] : (tensor<6x9x5xf32>, tensor<f32>) -> tensor<8x9x8xf32>
  return %0 : tensor<8x9x8xf32>
}

// Long rows are vectors with an edge, and where only the last dimension is padded each place of a row is known.
// CHECK-LABEL: @long_rows
// CHECK:         arith.select
// CHECK-LABEL: @one_edge
// CHECK:         arith.select
func.func private @long_rows(%x: tensor<20x90xf32>, %c: tensor<f32>) -> tensor<22x92xf32> attributes {hlo.kernel = "loop"} {
  %0 = hlo.pad %x, %c, low = [1, 1], high = [1, 1], interior = [0, 0] : (tensor<20x90xf32>, tensor<f32>) -> tensor<22x92xf32>
  return %0 : tensor<22x92xf32>
}
func.func private @one_edge(%x: tensor<20x9xf32>, %c: tensor<f32>) -> tensor<20x12xf32> attributes {hlo.kernel = "loop"} {
  %0 = hlo.pad %x, %c, low = [0, 0], high = [0, 3], interior = [0, 0] : (tensor<20x9xf32>, tensor<f32>) -> tensor<20x12xf32>
  return %0 : tensor<20x12xf32>
}

// Padding between the elements of a dimension of one is none.
// CHECK-LABEL: @unpadded
// CHECK-NOT:     tensor.insert_slice
func.func private @unpadded(%x: tensor<1x9xf32>, %c: tensor<f32>) -> tensor<1x9xf32> attributes {hlo.kernel = "loop"} {
  %0 = hlo.pad %x, %c, low = [0, 0], high = [0, 0], interior = [2, 0] : (tensor<1x9xf32>, tensor<f32>) -> tensor<1x9xf32>
  return %0 : tensor<1x9xf32>
}
