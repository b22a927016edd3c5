// RUN: hlo-opt %s --tile-loops=vector_bits=256 --split-input-file | filecheck %s
// RUN: hlo-opt %s --tile-loops --split-input-file | filecheck %s --check-prefix=LONG

// Rows of 11 elements and a number each: with short vectors a tile has as many rows as lanes.

// CHECK-LABEL: func.func @short
// CHECK:         attributes {xhlo.independent = 2 : i64}
// CHECK:         sizes = [16, 11]
// LONG-LABEL: func.func @short
// LONG:          attributes {xhlo.independent = 4 : i64}
// LONG:          sizes = [8, 11]
func.func @short(%x: tensor<32x11xf32>) -> tensor<32x11xf32> {
  %zero = hlo.constant dense<0> : tensor<i32>
  %none = hlo.constant dense<0.0> : tensor<f32>
  %0:2 = hlo.while(%i = %zero, %v = %x) : tensor<i32>, tensor<32x11xf32>
    cond {
      %n = hlo.constant dense<50> : tensor<i32>
      %1 = hlo.compare LT, %i, %n, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
      hlo.return %1 : tensor<i1>
    } do {
      %1 = hlo.reduce(%v init: %none) applies hlo.add across dimensions = [1] : (tensor<32x11xf32>, tensor<f32>) -> tensor<32xf32>
      %2 = hlo.broadcast_in_dim %1, dims = [0] : (tensor<32xf32>) -> tensor<32x11xf32>
      %3 = hlo.subtract %v, %2 : tensor<32x11xf32>
      %4 = hlo.tanh %3 : tensor<32x11xf32>
      %one = hlo.constant dense<1> : tensor<i32>
      %5 = hlo.add %i, %one : tensor<i32>
      hlo.return %5, %4 : tensor<i32>, tensor<32x11xf32>
    }
  return %0#1 : tensor<32x11xf32>
}

// -----

// Rows of whole vectors stay rows.

// CHECK-LABEL: func.func @whole
// CHECK:         sizes = [4, 16]
func.func @whole(%x: tensor<32x16xf32>) -> tensor<32x16xf32> {
  %zero = hlo.constant dense<0> : tensor<i32>
  %none = hlo.constant dense<0.0> : tensor<f32>
  %0:2 = hlo.while(%i = %zero, %v = %x) : tensor<i32>, tensor<32x16xf32>
    cond {
      %n = hlo.constant dense<50> : tensor<i32>
      %1 = hlo.compare LT, %i, %n, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
      hlo.return %1 : tensor<i1>
    } do {
      %1 = hlo.reduce(%v init: %none) applies hlo.add across dimensions = [1] : (tensor<32x16xf32>, tensor<f32>) -> tensor<32xf32>
      %2 = hlo.broadcast_in_dim %1, dims = [0] : (tensor<32xf32>) -> tensor<32x16xf32>
      %3 = hlo.subtract %v, %2 : tensor<32x16xf32>
      %4 = hlo.tanh %3 : tensor<32x16xf32>
      %one = hlo.constant dense<1> : tensor<i32>
      %5 = hlo.add %i, %one : tensor<i32>
      hlo.return %5, %4 : tensor<i32>, tensor<32x16xf32>
    }
  return %0#1 : tensor<32x16xf32>
}
