// RUN: hlo-opt %s --convert-to-llvm | filecheck %s

// The external function takes the buffers' addresses.
// CHECK: llvm.call @kernel.call0(%{{.*}}) : (!llvm.ptr) -> ()
func.func private @kernel(%a: memref<3x3xf32>, %0: memref<3x3xf32>, %1: memref<i32>) attributes {hlo.kernel = "custom"} {
  cpu.host_call @kernel.call0(%a, %0, %1 : memref<3x3xf32>, memref<3x3xf32>, memref<i32>) {target = "lapack_spotrf_ffi", call = {mhlo.backend_config = {uplo = 76 : ui8}}, operands_as = [tensor<3x3xf32>], results_as = [tensor<3x3xf32>, tensor<i32>]}
  func.return
}
