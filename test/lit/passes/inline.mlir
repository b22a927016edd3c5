// RUN: hlo-opt %s --inline | filecheck %s

// A private function goes once all its calls are inlined, those inside regions too; a public one stays.

// CHECK-LABEL: func.func @main
// CHECK-SAME: (%[[X:.*]]: tensor<4xf32>)
// CHECK-NEXT: %[[A:.*]] = hlo.exponential %[[X]]
// CHECK-NEXT: %[[B:.*]] = hlo.add %[[A]], %[[A]]
// CHECK-NEXT: hlo.constant
// CHECK-NEXT: hlo.reduce(%[[B]] init:
// CHECK-NEXT: reducer(%[[L:.*]]: tensor<f32>, %[[R:.*]]: tensor<f32>)
// CHECK-NEXT: %[[M:.*]] = hlo.maximum %[[L]], %[[R]]
// CHECK-NEXT: hlo.negate %[[M]]
func.func @main(%x: tensor<4xf32>) -> tensor<f32> {
  %0 = func.call @twice_exp(%x) : (tensor<4xf32>) -> tensor<4xf32>
  %zero = hlo.constant dense<0.0> : tensor<f32>
  %1 = hlo.reduce(%0 init: %zero) across dimensions = [0] : (tensor<4xf32>, tensor<f32>) -> tensor<f32>
    reducer(%a: tensor<f32>, %b: tensor<f32>) {
      %2 = func.call @combine(%a, %b) : (tensor<f32>, tensor<f32>) -> tensor<f32>
      hlo.return %2 : tensor<f32>
    }
  return %1 : tensor<f32>
}

// CHECK-NOT: @twice_exp
func.func private @twice_exp(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = func.call @exp(%x) : (tensor<4xf32>) -> tensor<4xf32>
  %1 = hlo.add %0, %0 : tensor<4xf32>
  return %1 : tensor<4xf32>
}

// CHECK: func.func public @exp
func.func public @exp(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = hlo.exponential %x : tensor<4xf32>
  return %0 : tensor<4xf32>
}

// CHECK-NOT: @combine
func.func private @combine(%a: tensor<f32>, %b: tensor<f32>) -> tensor<f32> {
  %0 = hlo.maximum %a, %b : tensor<f32>
  %1 = hlo.negate %0 : tensor<f32>
  return %1 : tensor<f32>
}

// Functions that an operation other than a call names stay too.
// CHECK-LABEL: func.func @threads
// CHECK:       cpu.parallel_for @share
// CHECK:       func.func private @share
func.func @threads(%x: memref<4xf32>) {
  cpu.parallel_for @share(%x : memref<4xf32>) {count = 4 : i64}
  func.return
}
func.func private @share(%x: memref<4xf32>, %from: index, %to: index) {
  func.return
}
