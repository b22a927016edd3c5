// RUN: hlo-opt %s --split-input-file --resolve-custom-calls --verify-diagnostics
// RUN: not hlo-opt %s --resolve-custom-calls --split-input-file | filecheck %s

// Markers vanish.

// CHECK-LABEL: func.func @main(%x: tensor<4xf32>)
// CHECK-NEXT: func.return %x
func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = hlo.custom_call @Sharding(%x) {backend_config = "", mhlo.sharding = "{devices=[2]<=[2]}"} : (tensor<4xf32>) -> tensor<4xf32>
  %1 = hlo.custom_call @annotate_device_placement(%0) {has_side_effect = true} : (tensor<4xf32>) -> tensor<4xf32>
  return %1 : tensor<4xf32>
}

// -----

func.func @unknown(%x: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error@+1 {{calls the target 'cu_something', which is not registered}}
  %0 = hlo.custom_call @cu_something(%x) : (tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}

// -----

func.func @not_square(%x: tensor<4x3xf32>) -> tensor<4x3xf32> {
  // expected-error@+1 {{calls 'lapack_spotrf_ffi' wrongly: its matrices have 4 rows and 3 columns, expected square ones}}
  %0:2 = hlo.custom_call @lapack_spotrf_ffi(%x) {mhlo.backend_config = {uplo = 76 : ui8}} : (tensor<4x3xf32>) -> (tensor<4x3xf32>, tensor<i32>)
  return %0#0 : tensor<4x3xf32>
}

// -----

func.func @no_uplo(%x: tensor<3x3xf32>) -> tensor<3x3xf32> {
  // expected-error@+1 {{calls 'lapack_spotrf_ffi' wrongly: attribute uplo is None, expected the number of one of the characters LU}}
  %0:2 = hlo.custom_call @lapack_spotrf_ffi(%x) : (tensor<3x3xf32>) -> (tensor<3x3xf32>, tensor<i32>)
  return %0#0 : tensor<3x3xf32>
}
