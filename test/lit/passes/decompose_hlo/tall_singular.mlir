// RUN: hlo-opt %s -p "decompose-hlo{native-calls=true}" | filecheck %s

// Singular vectors of a tall matrix: those of R, the left ones multiplied by Q. Nothing reads the overwritten matrix.
// CHECK-LABEL: func.func @main
func.func @main(%a: tensor<100x40xf32>) -> (tensor<40xf32>, tensor<100x40xf32>, tensor<40x40xf32>) {
  // CHECK: %[[QR:.+]]:2 = hlo.custom_call @xhlo.unblocked(%a) {mhlo.backend_config = {routine = "lapack_sgeqrf_ffi"}}
  // CHECK: %[[ROWS:.+]] = hlo.slice %[[QR]]#0 [0:40, 0:40]
  // CHECK: %[[R:.+]] = hlo.select %{{.+}}, %[[ROWS]], %{{.+}}
  // CHECK: %[[S:.+]]:5 = hlo.custom_call @lapack_sgesdd_ffi(%[[R]]) {mhlo.backend_config = {mode = 83 : i64}}
  // CHECK: %[[Q:.+]] = hlo.custom_call @xhlo.unblocked(%[[QR]]#0, %[[QR]]#1) {mhlo.backend_config = {routine = "lapack_sorgqr_ffi"}}
  // CHECK: %[[U:.+]] = hlo.dot_general %[[Q]], %[[S]]#2
  // CHECK: return %[[S]]#1, %[[U]], %[[S]]#3
  %0:5 = hlo.custom_call @lapack_sgesdd_ffi(%a) {mhlo.backend_config = {mode = 83 : i64}} : (tensor<100x40xf32>) -> (tensor<100x40xf32>, tensor<40xf32>, tensor<100x40xf32>, tensor<40x40xf32>, tensor<i32>)
  return %0#1, %0#2, %0#3 : tensor<40xf32>, tensor<100x40xf32>, tensor<40x40xf32>
}

// A matrix of which the routine computes the vectors without QR, and one whose overwritten form is read, stay.
// CHECK-LABEL: func.func @others
func.func @others(%a: tensor<50x40xf32>, %b: tensor<100x40xf32>) -> (tensor<50x40xf32>, tensor<100x40xf32>) {
  // CHECK: hlo.custom_call @lapack_sgesdd_ffi(%a)
  %0:5 = hlo.custom_call @lapack_sgesdd_ffi(%a) {mhlo.backend_config = {mode = 83 : i64}} : (tensor<50x40xf32>) -> (tensor<50x40xf32>, tensor<40xf32>, tensor<50x40xf32>, tensor<40x40xf32>, tensor<i32>)
  // CHECK: hlo.custom_call @lapack_sgesdd_ffi(%b)
  %1:5 = hlo.custom_call @lapack_sgesdd_ffi(%b) {mhlo.backend_config = {mode = 83 : i64}} : (tensor<100x40xf32>) -> (tensor<100x40xf32>, tensor<40xf32>, tensor<100x40xf32>, tensor<40x40xf32>, tensor<i32>)
  return %0#2, %1#0 : tensor<50x40xf32>, tensor<100x40xf32>
}
