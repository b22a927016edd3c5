// RUN: hlo-opt %s --fuse --lower=loops --target=nvptx --libraries=always | filecheck %s
// RUN: hlo-opt %s --fuse --lower=loops --target=nvptx | filecheck %s --check-prefix=NEVER
// RUN: hlo-opt %s --fuse --lower=loops --target=nvptx --libraries=auto | filecheck %s --check-prefix=NEVER
// RUN: hlo-opt %s --fuse --lower --target=nvptx --chip=sm_80 --libraries=always --emit=ptx | filecheck %s --check-prefix=PTX
// RUN: not hlo-opt %s --fuse --libraries=auto 2>&1 | filecheck %s --check-prefix=TARGET
// RUN: not hlo-opt %s --fuse --target=nvptx --libraries=some 2>&1 | filecheck %s --check-prefix=CHOICE
// RUN: not hlo-opt %s "--pass-pipeline=plan-gpu-kernels{libraries=some}" 2>&1 | filecheck %s --check-prefix=OPTION

// Matrix products become calls of a library if the command line enables it, except small ones.

// CHECK: gpu_library.matmul ins(%a, %b : memref<8x16xf32>, memref<16x4xf32>) outs(%0 : memref<8x4xf32>)
// CHECK: gpu.launch_func @kernels::@loop_fusion_0
// NEVER-NOT: gpu_library
// NEVER: gpu.launch_func @kernels::@dot_0
// PTX: .target sm_80
// PTX-NOT: .entry dot_0
// PTX: .entry loop_fusion_0
// TARGET: error: --libraries is about GPUs: give --target=nvptx
// CHOICE: error: --libraries is one of never, auto, always, not 'some'
// OPTION: error: pass 'plan-gpu-kernels': libraries is never|auto|always, not 'some'
func.func @main(%a: tensor<8x16xf32>, %b: tensor<16x4xf32>, %c: tensor<32xf32>) -> (tensor<8x4xf32>, tensor<32xf32>) {
  %0 = stablehlo.dot_general %a, %b, contracting_dims = [1] x [0] : (tensor<8x16xf32>, tensor<16x4xf32>) -> tensor<8x4xf32>
  %1 = stablehlo.negate %c : tensor<32xf32>
  return %0, %1 : tensor<8x4xf32>, tensor<32xf32>
}
