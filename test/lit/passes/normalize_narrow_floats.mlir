// RUN: hlo-opt %s --normalize-narrow-floats | filecheck %s

// Each operation rounds once.

// CHECK-LABEL: func.func @elementwise
// CHECK-SAME: (%[[X:.*]]: tensor<4xf8E4M3FN>)
// CHECK-NEXT: %[[W:.*]] = hlo.convert %[[X]] : (tensor<4xf8E4M3FN>) -> tensor<4xf32>
// CHECK-NEXT: %[[S:.*]] = hlo.add %[[W]], %[[W]] : tensor<4xf32>
// CHECK-NEXT: %[[R:.*]] = hlo.convert %[[S]] : (tensor<4xf32>) -> tensor<4xf8E4M3FN>
// CHECK-NEXT: %[[V:.*]] = hlo.convert %[[R]] : (tensor<4xf8E4M3FN>) -> tensor<4xf32>
// CHECK-NEXT: %[[F:.*]] = hlo.is_finite %[[V]] : (tensor<4xf32>) -> tensor<4xi1>
// CHECK-NEXT: hlo.select %[[F]], %[[R]], %[[X]] : tensor<4xi1>, tensor<4xf8E4M3FN>
func.func @elementwise(%x: tensor<4xf8E4M3FN>) -> tensor<4xf8E4M3FN> {
  %0 = hlo.add %x, %x : tensor<4xf8E4M3FN>
  %1 = hlo.is_finite %0 : (tensor<4xf8E4M3FN>) -> tensor<4xi1>
  %2 = hlo.select %1, %0, %x : tensor<4xi1>, tensor<4xf8E4M3FN>
  return %2 : tensor<4xf8E4M3FN>
}

// A sum accumulates in f32.

// CHECK-LABEL: func.func @sum
// CHECK: hlo.reduce(%{{.*}} init: %{{.*}}) applies hlo.add across dimensions = [0] : (tensor<4xf32>, tensor<f32>) -> tensor<f32>
// CHECK-NEXT: hlo.convert %{{.*}} : (tensor<f32>) -> tensor<f4E2M1FN>
func.func @sum(%x: tensor<4xf4E2M1FN>, %i: tensor<f4E2M1FN>) -> tensor<f4E2M1FN> {
  %0 = hlo.reduce(%x init: %i) applies hlo.add across dimensions = [0] : (tensor<4xf4E2M1FN>, tensor<f4E2M1FN>) -> tensor<f4E2M1FN>
  return %0 : tensor<f4E2M1FN>
}

// In any other region each operation rounds.

// CHECK-LABEL: func.func @region
// CHECK: hlo.reduce(%{{.*}} init: %{{.*}}) across dimensions = [0] : (tensor<4xf8E5M2>, tensor<f8E5M2>) -> tensor<f8E5M2>
// CHECK-NEXT: reducer(%[[A:.*]]: tensor<f8E5M2>, %[[B:.*]]: tensor<f8E5M2>) {
// CHECK-NEXT: hlo.convert %[[A]]
// CHECK-NEXT: hlo.convert %[[B]]
// CHECK-NEXT: hlo.add %{{.*}} : tensor<f32>
// CHECK-NEXT: hlo.convert %{{.*}} : (tensor<f32>) -> tensor<f8E5M2>
// CHECK-NEXT: hlo.convert %{{.*}} : (tensor<f8E5M2>) -> tensor<f32>
// CHECK-NEXT: hlo.negate
// CHECK-NEXT: hlo.convert
// CHECK-NEXT: hlo.return
func.func @region(%x: tensor<4xf8E5M2>, %i: tensor<f8E5M2>) -> tensor<f8E5M2> {
  %0 = hlo.reduce(%x init: %i) across dimensions = [0] : (tensor<4xf8E5M2>, tensor<f8E5M2>) -> tensor<f8E5M2>
   reducer(%a: tensor<f8E5M2>, %b: tensor<f8E5M2>) {
    %s = hlo.add %a, %b : tensor<f8E5M2>
    %n = hlo.negate %s : tensor<f8E5M2>
    hlo.return %n : tensor<f8E5M2>
  }
  return %0 : tensor<f8E5M2>
}

// Operations that only move elements keep their type.

// CHECK-LABEL: func.func @moved
// CHECK-NEXT: hlo.transpose %{{.*}} : (tensor<2x3xf6E2M3FN>) -> tensor<3x2xf6E2M3FN>
// CHECK-NEXT: func.return
func.func @moved(%x: tensor<2x3xf6E2M3FN>) -> tensor<3x2xf6E2M3FN> {
  %0 = hlo.transpose %x, dims = [1, 0] : (tensor<2x3xf6E2M3FN>) -> tensor<3x2xf6E2M3FN>
  return %0 : tensor<3x2xf6E2M3FN>
}
