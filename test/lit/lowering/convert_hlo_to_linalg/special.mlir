// RUN: hlo-opt %s --convert-hlo-to-linalg | filecheck %s

// Special functions are one operation in a body, of f16 too, which expand-math rounds once.
// CHECK-LABEL: func.func @special
func.func @special(%x: tensor<4xf64>, %n: tensor<4xf16>, %y: tensor<4xf16>) -> (tensor<4xf64>, tensor<4xf16>) {
  // CHECK: ^{{.*}}(%[[X:.*]]: f64, %{{.*}}: f64):
  // CHECK-NEXT: %[[Y:.*]] = math_ext.lgamma %[[X]] : f64
  // CHECK-NEXT: linalg.yield %[[Y]] : f64
  // CHECK: ^{{.*}}(%[[N:.*]]: f16, %[[A:.*]]: f16, %{{.*}}: f16):
  // CHECK-NEXT: %[[B:.*]] = math_ext.polygamma %[[N]], %[[A]] : f16
  // CHECK-NEXT: linalg.yield %[[B]] : f16
  %0 = chlo.lgamma %x : tensor<4xf64> -> tensor<4xf64>
  %1 = chlo.polygamma %n, %y : tensor<4xf16>, tensor<4xf16> -> tensor<4xf16>
  return %0, %1 : tensor<4xf64>, tensor<4xf16>
}
