// Kernels for GPUs run without a GPU; results equal the CPU's, and races would be errors.
// RUN: hlo-run --target=simt --compare=cpu %s | filecheck %s
// RUN: hlo-run --target=simt --compare --profile %s | filecheck %s --check-prefix=PROFILE
// RUN: hlo-opt --target=simt --fuse --lower %s | filecheck %s --check-prefix=IR
// RUN: not hlo-opt --target=simt --fuse --lower --emit=ptx %s 2>&1 | filecheck %s --check-prefix=EMIT

// CHECK: simt against cpu:
// CHECK-NEXT: output abs rel ulp
// CHECK-NEXT: 0 {{.*}} ok
// CHECK-NEXT: 1 {{.*}} ok

// PROFILE: simt against reference:
// PROFILE: 0 {{.*}} ok
// PROFILE: 1 {{.*}} ok
// PROFILE: kernel calls ms

// IR: func.func @main(
// IR: gpu.launch_func @kernels::@
// IR: gpu.module @kernels
// IR: gpu.func @

// EMIT: hlo-opt: error: target simt does not emit ptx; it emits mlir, bytecode, hlo-text

func.func @main(%x: tensor<33x257xf32>) -> (tensor<33x257xf32>, tensor<33xf32>) {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %0 = stablehlo.exponential %x : tensor<33x257xf32>
  %1 = stablehlo.reduce(%0 init: %zero) applies stablehlo.add across dimensions = [1] : (tensor<33x257xf32>, tensor<f32>) -> tensor<33xf32>
  %2 = stablehlo.broadcast_in_dim %1, dims = [0] : (tensor<33xf32>) -> tensor<33x257xf32>
  %3 = stablehlo.divide %0, %2 : tensor<33x257xf32>
  return %3, %1 : tensor<33x257xf32>, tensor<33xf32>
}
