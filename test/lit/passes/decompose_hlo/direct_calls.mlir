// RUN: hlo-opt %s -p "decompose-hlo{direct-calls=true}" | filecheck %s

// Compiled code calls LAPACK by itself, in a workspace that is a result; a batch that threads share has one for each part.
// Vectors that nothing reads are not computed.
func.func @main(%a: tensor<70x70xf32>, %b: tensor<64x70x70xf32>) -> (tensor<70x70xf32>, tensor<70xf32>, tensor<64x70xf32>) {
  // CHECK: hlo.custom_call @xhlo.lapack(%a) {mhlo.backend_config = {mode = 86 : i64, uplo = 76 : i64, routine = "lapack_ssyevd_ffi"}} : (tensor<70x70xf32>) -> (tensor<70x70xf32>, tensor<70xf32>, tensor<i32>, tensor<{{.*}}xui8>)
  %0:3 = hlo.custom_call @lapack_ssyevd_ffi(%a) {mhlo.backend_config = {mode = 86 : i64, uplo = 76 : i64}} : (tensor<70x70xf32>) -> (tensor<70x70xf32>, tensor<70xf32>, tensor<i32>)
  // CHECK: hlo.custom_call @xhlo.lapack(%b) {mhlo.backend_config = {mode = 78 : i64, uplo = 76 : i64, routine = "lapack_ssyevd_ffi", parts = 64 : i64}}
  %1:3 = hlo.custom_call @lapack_ssyevd_ffi(%b) {mhlo.backend_config = {mode = 86 : i64, uplo = 76 : i64}} : (tensor<64x70x70xf32>) -> (tensor<64x70x70xf32>, tensor<64x70xf32>, tensor<64xi32>)
  return %0#0, %0#1, %1#1 : tensor<70x70xf32>, tensor<70xf32>, tensor<64x70xf32>
}
