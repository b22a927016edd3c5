// RUN: hlo-opt %s --convert-hlo-to-linalg | filecheck %s --check-prefix=LINALG
// RUN: hlo-opt %s --convert-hlo-to-linalg --bufferize --convert-linalg-ext-to-scf | filecheck %s --check-prefix=CPU
// RUN: hlo-opt %s --convert-hlo-to-linalg --bufferize --convert-linalg-ext-to-scf --convert-to-llvm | filecheck %s --check-prefix=LLVM

// A custom call of a function is a host_call, which becomes a call of an external function of the buffers' addresses.

// LINALG: linalg_ext.host_call {target = "lapack_spotrf_ffi", {{.*}}operands_as = [tensor<3x3xf32>], results_as = [tensor<3x3xf32>, tensor<i32>]} ins(%{{.*}} : tensor<3x3xf32>) outs(%{{.*}}, %{{.*}} : tensor<3x3xf32>, tensor<i32>) -> tensor<3x3xf32>, tensor<i32>
// CPU: cpu.host_call @kernel.call0(%{{.*}}, %{{.*}}, %{{.*}} : memref<3x3xf32>, memref<3x3xf32>, memref<i32>)
// LLVM: llvm.call @kernel.call0(%{{.*}}) : (!llvm.ptr) -> ()
func.func private @kernel(%a: tensor<3x3xf32>) -> (tensor<3x3xf32>, tensor<i32>) attributes {hlo.kernel = "custom"} {
  %0:2 = hlo.custom_call @lapack_spotrf_ffi(%a) {mhlo.backend_config = {uplo = 76 : ui8}} : (tensor<3x3xf32>) -> (tensor<3x3xf32>, tensor<i32>)
  return %0#0, %0#1 : tensor<3x3xf32>, tensor<i32>
}
