// RUN: hlo-opt %s --verify-roundtrip | filecheck %s

// CHECK-LABEL: func.func @constants
func.func @constants() {
  // CHECK: hlo.constant dense<[1.000000e+00, 2.500000e+00]> : tensor<2xf32>
  %0 = stablehlo.constant dense<[1.0, 2.5]> : tensor<2xf32>
  // The bits of a float, not a number: minus infinity.
  // CHECK: hlo.constant dense<0xFF800000> : tensor<f32>
  %1 = hlo.constant dense<0xFF800000> : tensor<f32>
  // CHECK: hlo.constant dense<7> : tensor<1024x1024xui8>
  %2 = hlo.constant dense<7> : tensor<1024x1024xui8>
  // CHECK: hlo.constant dense<[true, false]> : tensor<2xi1>
  %3 = hlo.constant dense<[true, false]> : tensor<2xi1>
  // CHECK: hlo.constant {mine = 1 : i64} dense<1.500000e+00> : tensor<bf16>
  %4 = hlo.constant {mine = 1 : i64} dense<1.5> : tensor<bf16>
  // CHECK: hlo.constant dense<(1.000000e+00,-2.000000e+00)> : tensor<complex<f32>>
  %5 = hlo.constant dense<(1.0, -2.0)> : tensor<complex<f32>>
  // CHECK: hlo.constant dense<> : tensor<0xf32>
  %6 = hlo.constant dense<> : tensor<0xf32>
  // CHECK: hlo.constant dense<3> : tensor<2xi32>
  %7 = "stablehlo.constant"() {value = dense<3> : tensor<2xi32>} : () -> tensor<2xi32>
  return
}

// CHECK-LABEL: func.func @iota
func.func @iota() {
  // CHECK: hlo.iota dim = 1 : tensor<2x3xi32>
  %0 = stablehlo.iota dim = 1 : tensor<2x3xi32>
  // CHECK: hlo.iota dim = 0 {mine} : tensor<2xcomplex<f32>>
  %1 = hlo.iota dim = 0 {mine} : tensor<2xcomplex<f32>>
  // CHECK: hlo.iota dim = 0 : tensor<4xbf16>
  %2 = "stablehlo.iota"() <{iota_dimension = 0 : i64}> : () -> tensor<4xbf16>
  return
}
