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

// A count beyond 64 bits is stated as the largest one; plan-buffers refuses such a program.
// RUN: hlo-opt %s --outline-kernels | filecheck %s --check-prefix=COUNTS
// COUNTS: name = @custom_0, {{.*}}flops = 9223372036854775807 : i64
func.func @window(%x: tensor<4x4xf32>, %i: tensor<f32>) -> tensor<5x5xf32> {
  %0 = hlo.fusion custom (%a = %x : tensor<4x4xf32>, %b = %i : tensor<f32>) -> tensor<5x5xf32> {
    %1 = "hlo.reduce_window"(%a, %b) <{window_dimensions = array<i64: 1099511627776, 1099511627776>, padding = dense<[[1099511627776, 0], [1099511627776, 0]]> : tensor<2x2xi64>}> ({
    ^bb0(%c: tensor<f32>, %d: tensor<f32>):
      %2 = hlo.add %c, %d : tensor<f32>
      hlo.return %2 : tensor<f32>
    }) : (tensor<4x4xf32>, tensor<f32>) -> tensor<5x5xf32>
    hlo.return %1 : tensor<5x5xf32>
  }
  func.return %0 : tensor<5x5xf32>
}

// Bytes and operations of unknown sizes are not counted.
// COUNTS: name = @loop_fusion_0, kind = "loop", ops = 1 : i64, bytes = 0 : i64, flops = 0 : i64
func.func @unknown(%x: tensor<?x?x?xf32>) -> tensor<?x?x?xf32> {
  %0 = hlo.fusion loop (%a = %x : tensor<?x?x?xf32>) -> tensor<?x?x?xf32> {
    %1 = hlo.exponential %a : tensor<?x?x?xf32>
    hlo.return %1 : tensor<?x?x?xf32>
  }
  func.return %0 : tensor<?x?x?xf32>
}
