// RUN: hlo-opt %s -p simplify-hlo | filecheck %s

// CHECK-LABEL: @accumulated
// CHECK:       %[[S:.*]] = hlo.reduce
// CHECK-NEXT:  return %[[S]]
func.func @accumulated(%x: tensor<8x4xf32>) -> tensor<4xf32> {
  %zero = hlo.constant dense<0.0> : tensor<f32>
  %zeros = hlo.constant dense<0.0> : tensor<4xf32>
  %0 = hlo.reduce(%x init: %zero) applies hlo.add across dimensions = [0] : (tensor<8x4xf32>, tensor<f32>) -> tensor<4xf32>
  %1 = hlo.add %zeros, %0 : tensor<4xf32>
  return %1 : tensor<4xf32>
}

// A sum that begins with -0 may be -0.
// CHECK-LABEL: @begins_below
// CHECK:       hlo.add %
func.func @begins_below(%x: tensor<8x4xf32>) -> tensor<4xf32> {
  %zero = hlo.constant dense<-0.0> : tensor<f32>
  %zeros = hlo.constant dense<0.0> : tensor<4xf32>
  %0 = hlo.reduce(%x init: %zero) applies hlo.add across dimensions = [0] : (tensor<8x4xf32>, tensor<f32>) -> tensor<4xf32>
  %1 = hlo.add %0, %zeros : tensor<4xf32>
  return %1 : tensor<4xf32>
}
