// RUN: hlo-opt %s --convert-linalg-ext-to-scf | filecheck %s

// A host_call of buffers becomes a call of an external function, named after the kernel, that takes them.
// CHECK: cpu.host_call @kernel.call0(%{{.*}}, %{{.*}}, %{{.*}} : memref<3x3xf32>, memref<3x3xf32>, memref<i32>)
func.func private @kernel(%a: memref<3x3xf32>, %0: memref<3x3xf32>, %1: memref<i32>) attributes {hlo.kernel = "custom"} {
  linalg_ext.host_call {target = "lapack_spotrf_ffi", call = {mhlo.backend_config = {uplo = 76 : ui8}}, operands_as = [tensor<3x3xf32>], results_as = [tensor<3x3xf32>, tensor<i32>]} ins(%a : memref<3x3xf32>) outs(%0, %1 : memref<3x3xf32>, memref<i32>)
  func.return
}
