// Functions that a kernel calls go with it into the module of the device.
// RUN: hlo-opt %s --fuse --target=nvptx --lower=loops --verify-each | filecheck %s
// RUN: hlo-opt %s --fuse --target=nvptx --lower --verify-each | filecheck %s --check-prefix=LLVM
// RUN: hlo-opt %s --fuse --target=amdgcn --lower --verify-each | filecheck %s --check-prefix=LLVM
// RUN: hlo-run %s --target=simt --compare=cpu

// CHECK-LABEL: gpu.module @kernels
// CHECK:         gpu.func @call_xhlo.getrf_0
// CHECK:           func.call @call_xhlo.getrf_0_lu_f32
// CHECK:         func.func private @call_xhlo.getrf_0_lu_f32

// LLVM-LABEL:  gpu.module @kernels
// LLVM:          llvm.call @call_xhlo.getrf_0_lu_f32
// LLVM:          llvm.func {{.*}}@call_xhlo.getrf_0_lu_f32
func.func @main(%matrices: tensor<32x4x4xf32>) -> tensor<32x4x4xf32> {
  %lu:3 = hlo.custom_call @xhlo.getrf(%matrices) : (tensor<32x4x4xf32>) -> (tensor<32x4x4xf32>, tensor<32x4xi32>, tensor<32xi32>)
  return %lu#0 : tensor<32x4x4xf32>
}
