// Constants keep their bits, however they are written.
// RUN: hlo-opt %s --verify-roundtrip | filecheck %s

// CHECK-LABEL: func.func @constants
func.func @constants() {
  // CHECK-NEXT: hlo.constant dense<0xFF800000> : tensor<f32>
  %0 = stablehlo.constant dense<0xFF800000> : tensor<f32>
  // CHECK-NEXT: hlo.constant dense<0xFC00> : tensor<f16>
  %1 = stablehlo.constant dense<0xFC00> : tensor<f16>
  // CHECK-NEXT: hlo.constant dense<0x7FC0> : tensor<bf16>
  %2 = stablehlo.constant dense<0x7FC0> : tensor<bf16>
  // CHECK-NEXT: hlo.constant dense<1.000000e+00> : tensor<2xf32>
  %3 = stablehlo.constant dense<"0x0000803F0000803F"> : tensor<2xf32>
  // CHECK-NEXT: hlo.constant dense<-0.000000e+00> : tensor<1073741824x1073741824xf64>
  %4 = stablehlo.constant dense<-0.0> : tensor<1073741824x1073741824xf64>
  // CHECK-NEXT: hlo.constant dense<[true, false]> : tensor<2xi1>
  %5 = stablehlo.constant dense<"0x0100"> : tensor<2xi1>
  // CHECK-NEXT: hlo.constant dense<[(1.000000e+00,0xFF800000), (0.000000e+00,2.000000e+00)]> : tensor<2xcomplex<f32>>
  %6 = stablehlo.constant dense<[(1.0, 0xFF800000), (0.0, 2.0)]> : tensor<2xcomplex<f32>>
  // CHECK-NEXT: hlo.constant dense<> : tensor<0x3xi32>
  %7 = stablehlo.constant dense<> : tensor<0x3xi32>
  // CHECK-NEXT: hlo.constant dense<[-1, 127]> : tensor<2xi8>
  %8 = stablehlo.constant dense<[255, 127]> : tensor<2xi8>
  // CHECK-NEXT: hlo.constant dense<[1.000000e+00, 2.000000e+00]> : tensor<2xf32>
  %9 = stablehlo.constant dense_resource<weights> : tensor<2xf32>
  return
}

{-#
  dialect_resources: {
    builtin: {
      weights: "0x040000000000803F00000040"
    }
  }
#-}
