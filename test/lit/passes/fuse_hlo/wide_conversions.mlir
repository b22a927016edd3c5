// RUN: hlo-opt --fuse-hlo %s | filecheck %s

// Vectors of few CPUs convert between floats and integers of 64 bits: a row that all rows read is computed once.
// CHECK-LABEL: @wide
// CHECK:         %[[ROW:.*]] = hlo.fusion loop (%{{.*}} = %row : tensor<512xi64>) -> tensor<512xf32>
// CHECK:           hlo.convert
// CHECK:         hlo.fusion loop (%{{.*}} = %[[ROW]]
// CHECK-NOT:       hlo.convert
// CHECK:         return
func.func @wide(%x: tensor<256x512xf32>, %row: tensor<512xi64>) -> tensor<256x512xf32> {
  %0 = hlo.add %row, %row : tensor<512xi64>
  %1 = hlo.convert %0 : (tensor<512xi64>) -> tensor<512xf32>
  %2 = hlo.broadcast_in_dim %1, dims = [1] : (tensor<512xf32>) -> tensor<256x512xf32>
  %3 = hlo.multiply %x, %2 : tensor<256x512xf32>
  func.return %3 : tensor<256x512xf32>
}

// Indices are counted in 32 bits first.
// CHECK-LABEL: @indices
// CHECK:         hlo.fusion loop (
// CHECK:           hlo.convert
// CHECK:           hlo.multiply
func.func @indices(%x: tensor<256x512xf32>) -> tensor<256x512xf32> {
  %0 = hlo.iota dim = 0 : tensor<512xi64>
  %1 = hlo.convert %0 : (tensor<512xi64>) -> tensor<512xf32>
  %2 = hlo.broadcast_in_dim %1, dims = [1] : (tensor<512xf32>) -> tensor<256x512xf32>
  %3 = hlo.multiply %x, %2 : tensor<256x512xf32>
  func.return %3 : tensor<256x512xf32>
}
