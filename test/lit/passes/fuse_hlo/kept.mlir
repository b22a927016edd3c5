// RUN: hlo-opt %s --fuse-hlo | filecheck %s

// The product is written once and read by both of its kernels: to compute it in both, the exponential would be written.

// CHECK-LABEL: func.func @main(
// CHECK:         %[[P:.*]] = hlo.fusion loop
// CHECK:           hlo.exponential
// CHECK-NEXT:      %[[M:.*]] = hlo.multiply
// CHECK-NEXT:      hlo.return %[[M]] :
// CHECK:         hlo.fusion reduce (%{{.*}} = %[[P]]
// CHECK:         hlo.fusion loop (%{{.*}} = %[[P]]
func.func @main(%x: tensor<64x96xf32>, %y: tensor<64x96xf32>) -> (tensor<64xf32>, tensor<96x64xf32>) {
  %zero = hlo.constant dense<0.0> : tensor<f32>
  %e = hlo.exponential %x : tensor<64x96xf32>
  %p = hlo.multiply %e, %y : tensor<64x96xf32>
  %0 = hlo.reduce(%p init: %zero) applies hlo.add across dimensions = [1] : (tensor<64x96xf32>, tensor<f32>) -> tensor<64xf32>
  %1 = hlo.transpose %p, dims = [1, 0] : (tensor<64x96xf32>) -> tensor<96x64xf32>
  return %0, %1 : tensor<64xf32>, tensor<96x64xf32>
}
