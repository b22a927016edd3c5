// RUN: hlo-opt %s --convert-hlo-to-linalg | filecheck %s

// A custom call of a function is a host_call.
// CHECK: linalg_ext.host_call {target = "lapack_spotrf_ffi", {{.*}}operands_as = [tensor<3x3xf32>], results_as = [tensor<3x3xf32>, tensor<i32>]} ins(%{{.*}} : tensor<3x3xf32>) outs(%{{.*}}, %{{.*}} : tensor<3x3xf32>, tensor<i32>) -> tensor<3x3xf32>, tensor<i32>
func.func private @kernel(%a: tensor<3x3xf32>) -> (tensor<3x3xf32>, tensor<i32>) attributes {hlo.kernel = "custom"} {
  %0:2 = hlo.custom_call @lapack_spotrf_ffi(%a) {mhlo.backend_config = {uplo = 76 : ui8}} : (tensor<3x3xf32>) -> (tensor<3x3xf32>, tensor<i32>)
  return %0#0, %0#1 : tensor<3x3xf32>, tensor<i32>
}
