// RUN: hlo-opt %s --outline-kernels | filecheck %s

// The kernel's kind, and attributes that the lowering needs, are on its function.

// CHECK: func.func private @update_0
// CHECK-SAME: attributes {hlo.kernel = "update", hlo.tied = array<i64: 0>}
// CHECK: func.func private @row_fusion_0
// CHECK-SAME: attributes {hlo.kernel = "row", hlo.row_dims = 1 : i64}
func.func @main(%x: tensor<8x4xf32>, %u: tensor<1x4xf32>, %i: tensor<i32>) -> tensor<8x4xf32> {
  %0 = hlo.fusion update (%a = %x : tensor<8x4xf32>, %b = %u : tensor<1x4xf32>, %c = %i : tensor<i32>) -> tensor<8x4xf32> {
    %1 = hlo.dynamic_update_slice %a, %b, %c, %c : (tensor<8x4xf32>, tensor<1x4xf32>, tensor<i32>, tensor<i32>) -> tensor<8x4xf32>
    hlo.return %1 : tensor<8x4xf32>
  }
  %2 = hlo.fusion row<1> (%a = %0 : tensor<8x4xf32>) -> tensor<8x4xf32> {
    %zero = hlo.constant dense<0.0> : tensor<f32>
    %3 = hlo.reduce(%a init: %zero) applies hlo.add across dimensions = [1] : (tensor<8x4xf32>, tensor<f32>) -> tensor<8xf32>
    %4 = hlo.broadcast_in_dim %3, dims = [0] : (tensor<8xf32>) -> tensor<8x4xf32>
    %5 = hlo.divide %a, %4 : tensor<8x4xf32>
    hlo.return %5 : tensor<8x4xf32>
  }
  return %2 : tensor<8x4xf32>
}
