// RUN: hlo-opt %s --split-complex --split-input-file --verify-diagnostics | filecheck %s

// CHECK-LABEL: func.func @square
// CHECK-SAME: (%[[A:.*]]: tensor<4xf32>, %[[B:.*]]: tensor<4xf32>)
// CHECK-NEXT: %[[AA:.*]] = hlo.multiply %[[A]], %[[A]]
// CHECK-NEXT: %[[BB:.*]] = hlo.multiply %[[B]], %[[B]]
// CHECK-NEXT: %[[RE:.*]] = hlo.subtract %[[AA]], %[[BB]]
// CHECK-NEXT: %[[AB:.*]] = hlo.multiply %[[A]], %[[B]]
// CHECK-NEXT: %[[BA:.*]] = hlo.multiply %[[B]], %[[A]]
// CHECK-NEXT: %[[IM:.*]] = hlo.add %[[AB]], %[[BA]]
// CHECK-NEXT: func.return %[[RE]], %[[IM]]
func.func @square(%a: tensor<4xf32>, %b: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
  %z = hlo.complex %a, %b : tensor<4xcomplex<f32>>
  %0 = hlo.multiply %z, %z : tensor<4xcomplex<f32>>
  %1 = hlo.real %0 : (tensor<4xcomplex<f32>>) -> tensor<4xf32>
  %2 = hlo.imag %0 : (tensor<4xcomplex<f32>>) -> tensor<4xf32>
  return %1, %2 : tensor<4xf32>, tensor<4xf32>
}

// -----

// A loop carries both parts.

// CHECK-LABEL: func.func @carried
// CHECK-DAG: %[[ONE:.*]] = hlo.constant dense<1.0
// CHECK-DAG: %[[TWO:.*]] = hlo.constant dense<2.0
// CHECK: %[[W:.*]]:2 = hlo.while(%[[RE:.*]] = %[[ONE]], %[[IM:.*]] = %[[TWO]]) : tensor<f32>, tensor<f32>
// CHECK: do {
// CHECK-NEXT: hlo.negate %[[RE]]
// CHECK-NEXT: hlo.negate %[[IM]]
// CHECK: func.return %[[W]]#1
func.func @carried(%p: tensor<i1>) -> tensor<f32> {
  %z = hlo.constant dense<(1.0, 2.0)> : tensor<complex<f32>>
  %0 = hlo.while(%v = %z) : tensor<complex<f32>>
    cond {
      hlo.return %p : tensor<i1>
    } do {
      %1 = hlo.negate %v : tensor<complex<f32>>
      hlo.return %1 : tensor<complex<f32>>
    }
  %2 = hlo.imag %0 : (tensor<complex<f32>>) -> tensor<f32>
  return %2 : tensor<f32>
}

// -----

// expected-error@+1 {{@entry: argument 0 has the complex type tensor<2xcomplex<f32>>}}
func.func @entry(%z: tensor<2xcomplex<f32>>) -> tensor<2xf32> {
  %0 = hlo.real %z : (tensor<2xcomplex<f32>>) -> tensor<2xf32>
  return %0 : tensor<2xf32>
}

// -----

func.func @unknown(%a: tensor<2xf32>) -> tensor<2xf32> {
  %0 = hlo.complex %a, %a : tensor<2xcomplex<f32>>
  // expected-error@+1 {{'hlo.cbrt' op is not supported by split-complex}}
  %1 = hlo.cbrt %0 : tensor<2xcomplex<f32>>
  %2 = hlo.real %1 : (tensor<2xcomplex<f32>>) -> tensor<2xf32>
  return %2 : tensor<2xf32>
}
