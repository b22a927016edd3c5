// RUN: hlo-opt %s --pass-pipeline="decompose-hlo{native-calls=true any-size=true}" | filecheck %s
// RUN: hlo-opt %s --pass-pipeline="decompose-hlo{native-calls=true any-size=true},split-complex,fuse-hlo,outline-kernels,convert-hlo-to-linalg" | filecheck %s --check-prefix=LINALG
// RUN: hlo-opt %s --pass-pipeline="decompose-hlo{native-calls=true any-size=true},split-complex,fuse-hlo,outline-kernels,convert-hlo-to-linalg,bufferize,convert-linalg-ext-to-scf" | filecheck %s --check-prefix=LOOPS

// Without LAPACK its routines are loops: a function for each routine and type, which takes sizes as arguments.
// CHECK: hlo.custom_call @xhlo.unblocked(%a) {mhlo.backend_config = {routine = "lapack_zgeqrf_ffi"}}
// LINALG: linalg_ext.unblocked {target = "lapack_zgeqrf_ffi", {{.*}}operands_as = [tensor<5x3xcomplex<f64>>]
// LOOPS: func.call @{{.*}}_qr_cf64(%{{.*}}) : (memref<{{[0-9]+}}xf64>, index, index, index, index, index, index) -> ()
func.func @main(%a: tensor<5x3xcomplex<f64>>) -> tensor<5x3xcomplex<f64>> {
  %0:2 = hlo.custom_call @lapack_zgeqrf_ffi(%a) : (tensor<5x3xcomplex<f64>>) -> (tensor<5x3xcomplex<f64>>, tensor<3xcomplex<f64>>)
  return %0#0 : tensor<5x3xcomplex<f64>>
}
