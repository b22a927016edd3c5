// sum(x + y*z) is one kernel.
// RUN: hlo-opt --fuse --outline-kernels %s | filecheck %s
// RUN: hlo-run %s --compare=reference | filecheck %s --check-prefix=COMPARE

// CHECK-LABEL: func.func @main
// CHECK-NEXT:    %[[R:.*]] = func.call @reduce_fusion_0(%{{.*}}, %{{.*}}, %{{.*}}) :
// CHECK-NEXT:    func.return %[[R]] : tensor<f32>
// CHECK-LABEL: func.func private @reduce_fusion_0
// CHECK:         %[[PRODUCT:.*]] = hlo.multiply
// CHECK:         %[[SUM:.*]] = hlo.add %{{.*}}, %[[PRODUCT]]
// CHECK:         hlo.reduce(%[[SUM]] init:
// CHECK-NOT:   func.func
// COMPARE: 0 {{.*}} ok
func.func @main(%x: tensor<100000xf32>, %y: tensor<100000xf32>, %z: tensor<100000xf32>) -> tensor<f32> {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %0 = stablehlo.multiply %y, %z : tensor<100000xf32>
  %1 = stablehlo.add %x, %0 : tensor<100000xf32>
  %2 = stablehlo.reduce(%1 init: %zero) applies stablehlo.add across dimensions = [0] : (tensor<100000xf32>, tensor<f32>) -> tensor<f32>
  return %2 : tensor<f32>
}
