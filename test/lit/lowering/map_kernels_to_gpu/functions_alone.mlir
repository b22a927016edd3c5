// A kernel that only calls functions runs them in one thread.
// RUN: hlo-opt %s --fuse --target=nvptx --lower=loops --verify-each | filecheck %s
// RUN: hlo-run %s --target=simt --compare=cpu

// CHECK-LABEL: gpu.module @kernels
// CHECK:         gpu.func @call_xhlo.getrf_0
// CHECK:           func.call @call_xhlo.getrf_0_lu_rows_f32
// CHECK:         gpu.func @call_xhlo.getrf_0_1
// CHECK:           func.call @call_xhlo.getrf_0_first_zero_f32
func.func @main(%a: tensor<3x3xf32>) -> (tensor<3x3xf32>, tensor<3xi32>, tensor<i32>) {
  %lu:3 = hlo.custom_call @xhlo.getrf(%a) : (tensor<3x3xf32>) -> (tensor<3x3xf32>, tensor<3xi32>, tensor<i32>)
  return %lu#0, %lu#1, %lu#2 : tensor<3x3xf32>, tensor<3xi32>, tensor<i32>
}
