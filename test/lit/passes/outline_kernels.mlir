// RUN: hlo-opt %s --outline-kernels | filecheck %s

// Equal kernels share one function, whatever their values are called; names keep clear of the program's.

// CHECK-LABEL: func.func @main
// CHECK-NEXT: %[[A:.*]] = func.call @loop_fusion_1(%{{.*}}) : (tensor<4xf32>) -> tensor<4xf32>
// CHECK-NEXT: %[[B:.*]] = func.call @loop_fusion_1(%{{.*}}) : (tensor<4xf32>) -> tensor<4xf32>
// CHECK-NEXT: %[[C:.*]] = func.call @reduce_fusion_0(%[[A]])
// CHECK-NEXT: func.return %[[C]], %[[B]]
// CHECK: func.func public @loop_fusion_0
// CHECK: func.func private @loop_fusion_1(%[[X:.*]]: tensor<4xf32>) -> tensor<4xf32> attributes {hlo.kernel = "loop"} {
// CHECK-NEXT: hlo.exponential %[[X]]
// CHECK-NEXT: func.return
// CHECK: func.func private @reduce_fusion_0
// CHECK-SAME: hlo.kernel = "reduce"
// CHECK-NOT: func.func private
func.func @main(%x: tensor<4xf32>, %y: tensor<4xf32>) -> (tensor<f32>, tensor<4xf32>) {
  %0 = hlo.fusion loop (%x_1 = %x : tensor<4xf32>) -> tensor<4xf32> {
    %1 = hlo.exponential %x_1 : tensor<4xf32>
    hlo.return %1 : tensor<4xf32>
  }
  %exp = hlo.fusion loop (%y_1 = %y : tensor<4xf32>) -> tensor<4xf32> {
    %exp_1 = hlo.exponential %y_1 : tensor<4xf32>
    hlo.return %exp_1 : tensor<4xf32>
  }
  %1 = hlo.fusion reduce (%kept = %0 : tensor<4xf32>) -> tensor<f32> {
    %zero = hlo.constant dense<0.000000e+00> : tensor<f32>
    %2 = hlo.reduce(%kept init: %zero) applies hlo.add across dimensions = [0] : (tensor<4xf32>, tensor<f32>) -> tensor<f32>
    hlo.return %2 : tensor<f32>
  }
  func.return %1, %exp : tensor<f32>, tensor<4xf32>
}

func.func public @loop_fusion_0(%x: tensor<4xf32>) -> tensor<4xf32> {
  func.return %x : tensor<4xf32>
}
