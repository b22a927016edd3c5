// RUN: hlo-opt %s --convert-chlo-to-hlo | filecheck %s

// Functions of floats stay whole until expand-math.
// CHECK-LABEL: func.func @whole
func.func @whole(%x: tensor<4xf32>, %n: tensor<4xf16>, %y: tensor<4xf16>) -> (tensor<4xf32>, tensor<4xf32>, tensor<4xf16>) {
  // CHECK-NEXT: chlo.digamma
  // CHECK-NEXT: chlo.asinh
  // CHECK-NEXT: chlo.polygamma
  // CHECK-NEXT: return
  %0 = chlo.digamma %x : tensor<4xf32> -> tensor<4xf32>
  %1 = chlo.asinh %x : tensor<4xf32> -> tensor<4xf32>
  %2 = chlo.polygamma %n, %y : tensor<4xf16>, tensor<4xf16> -> tensor<4xf16>
  return %0, %1, %2 : tensor<4xf32>, tensor<4xf32>, tensor<4xf16>
}

// Those of complex numbers do not.
// CHECK-LABEL: func.func @complex
// CHECK-NOT: chlo
// CHECK: return
func.func @complex(%x: tensor<4xcomplex<f32>>) -> tensor<4xcomplex<f32>> {
  %0 = chlo.asinh %x : tensor<4xcomplex<f32>> -> tensor<4xcomplex<f32>>
  return %0 : tensor<4xcomplex<f32>>
}

// Nor do short ones.
// CHECK-LABEL: func.func @short
// CHECK-NOT: chlo
// CHECK: return
func.func @short(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = chlo.square %x : tensor<4xf32> -> tensor<4xf32>
  return %0 : tensor<4xf32>
}
