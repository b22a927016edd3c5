// RUN: hlo-opt %s --fuse --lower --print-ir-after=convert-linalg-to-scf 2>&1 >/dev/null | filecheck %s

// Sums of columns of what is read backward, or padded, go along the rows in memory.

// CHECK-LABEL: func.func private @reduce_fusion_0(
// CHECK:         } {xhlo.parallel}
// CHECK-NEXT:    scf.for %[[ROW:.*]] = %{{.*}} to %{{.*}} step %{{.*}} {
// CHECK-NEXT:      scf.for %[[COLUMN:.*]] = %{{.*}} to %{{.*}} step %{{.*}} {
// CHECK-NEXT:        memref.load %{{.*}}[%[[COLUMN]]]
// CHECK:             memref.load %{{.*}}[%[[ROW]], %{{.*}}] : memref<64x64xf32>
func.func @padded(%x: tensor<64x64xf32>) -> tensor<66xf32> {
  %zero = hlo.constant dense<0.0> : tensor<f32>
  %0 = hlo.pad %x, %zero, low = [0, 1], high = [0, 1], interior = [0, 0] : (tensor<64x64xf32>, tensor<f32>) -> tensor<64x66xf32>
  %1 = hlo.reduce(%0 init: %zero) applies hlo.add across dimensions = [0] : (tensor<64x66xf32>, tensor<f32>) -> tensor<66xf32>
  func.return %1 : tensor<66xf32>
}
