// RUN: hlo-opt %s --verify-roundtrip | filecheck %s

// CHECK-LABEL: func.func @fusions
// CHECK-SAME:    (%[[X:.*]]: tensor<4x8xf32>, %[[C:.*]]: tensor<f32>)
func.func @fusions(%x: tensor<4x8xf32>, %c: tensor<f32>) {
  // CHECK:      hlo.fusion loop (%[[A:.*]] = %[[X]] : tensor<4x8xf32>, %[[B:.*]] = %[[C]] : tensor<f32>) -> tensor<4x8xf32> {
  // CHECK-NEXT:   %[[D:.*]] = hlo.broadcast_in_dim %[[B]], dims = []
  // CHECK-NEXT:   %[[E:.*]] = hlo.add %[[A]], %[[D]] : tensor<4x8xf32>
  // CHECK-NEXT:   hlo.return %[[E]] : tensor<4x8xf32>
  // CHECK-NEXT: }
  %0 = hlo.fusion loop (%a = %x : tensor<4x8xf32>, %b = %c : tensor<f32>) -> tensor<4x8xf32> {
    %d = hlo.broadcast_in_dim %b, dims = [] : (tensor<f32>) -> tensor<4x8xf32>
    %e = hlo.add %a, %d : tensor<4x8xf32>
    hlo.return %e : tensor<4x8xf32>
  }
  // CHECK: hlo.fusion row<1> (%{{.*}} = %[[X]] : tensor<4x8xf32>, %{{.*}} = %[[C]] : tensor<f32>) -> (tensor<4x8xf32>, tensor<4xf32>) attributes {note = "two results"} {
  %1:2 = hlo.fusion row<1> (%a = %x : tensor<4x8xf32>, %b = %c : tensor<f32>) -> (tensor<4x8xf32>, tensor<4xf32>) attributes {note = "two results"} {
    %s = hlo.reduce(%a init: %b) applies hlo.add across dimensions = [1] : (tensor<4x8xf32>, tensor<f32>) -> tensor<4xf32>
    hlo.return %a, %s : tensor<4x8xf32>, tensor<4xf32>
  }
  // CHECK: hlo.fusion custom (%{{.*}} = %[[X]] : tensor<4x8xf32>) -> tensor<4x8xf32> {
  %2 = hlo.fusion custom (%a = %x : tensor<4x8xf32>) -> tensor<4x8xf32> {
    %n = hlo.negate %a : tensor<4x8xf32>
    hlo.return %n : tensor<4x8xf32>
  }
  return
}
