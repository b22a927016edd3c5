// RUN: hlo-opt %s --split-input-file --convert-hlo-to-linalg | filecheck %s

// Gaussians: a square times a negative number, however it is written, is not above zero, nor is it after a subtraction
// from such a number.
// CHECK-LABEL: @gaussians
// CHECK-COUNT-4: math.exp %{{.*}} {xhlo.not_above_zero} : f32
func.func @gaussians(%x: tensor<8xf32>, %s: tensor<8xf32>) -> (tensor<8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<8xf32>) {
  %half = hlo.constant dense<-0.5> : tensor<8xf32>
  %two = hlo.constant dense<2.0> : tensor<8xf32>
  %0 = hlo.multiply %half, %x : tensor<8xf32>
  %1 = hlo.multiply %0, %x : tensor<8xf32>
  %2 = hlo.exponential %1 : tensor<8xf32>
  %3 = hlo.multiply %x, %x : tensor<8xf32>
  %4 = hlo.divide %3, %two : tensor<8xf32>
  %5 = hlo.subtract %half, %4 : tensor<8xf32>
  %6 = hlo.exponential %5 : tensor<8xf32>
  %7 = hlo.negate %3 : tensor<8xf32>
  %8 = hlo.multiply %s, %s : tensor<8xf32>
  %9 = hlo.divide %7, %8 : tensor<8xf32>
  %10 = hlo.exponential %9 : tensor<8xf32>
  %11 = hlo.abs %x : tensor<8xf32>
  %12 = hlo.negate %11 : tensor<8xf32>
  %13 = hlo.minimum %s, %12 : tensor<8xf32>
  %14 = hlo.exponential %13 : tensor<8xf32>
  return %2, %6, %10, %14 : tensor<8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<8xf32>
}

// -----

// Distances: sums of squares, moved.
// CHECK-LABEL: @distances
// CHECK: math.exp %{{.*}} {xhlo.not_above_zero} : f32
func.func @distances(%x: tensor<8x4x3xf32>) -> tensor<4x8xf32> {
  %zero = hlo.constant dense<0.0> : tensor<f32>
  %0 = hlo.multiply %x, %x : tensor<8x4x3xf32>
  %1 = hlo.reduce(%0 init: %zero) applies hlo.add across dimensions = [2] : (tensor<8x4x3xf32>, tensor<f32>) -> tensor<8x4xf32>
  %2 = hlo.transpose %1, dims = [1, 0] : (tensor<8x4xf32>) -> tensor<4x8xf32>
  %3 = hlo.sqrt %2 : tensor<4x8xf32>
  %4 = hlo.negate %3 : tensor<4x8xf32>
  %5 = hlo.exponential %4 : tensor<4x8xf32>
  return %5 : tensor<4x8xf32>
}

// -----

// A square minus a number may be anything, as may a quotient by zeros that may have a sign, and a product of others.
// CHECK-LABEL: @others
// CHECK-NOT: xhlo.not_above_zero
func.func @others(%x: tensor<8xf32>, %y: tensor<8xf32>) -> (tensor<8xf32>, tensor<8xf32>, tensor<8xf32>) {
  %half = hlo.constant dense<-0.5> : tensor<8xf32>
  %0 = hlo.multiply %x, %x : tensor<8xf32>
  %1 = hlo.subtract %0, %half : tensor<8xf32>
  %2 = hlo.exponential %1 : tensor<8xf32>
  %3 = hlo.sqrt %y : tensor<8xf32>
  %4 = hlo.negate %0 : tensor<8xf32>
  %5 = hlo.divide %4, %3 : tensor<8xf32>
  %6 = hlo.exponential %5 : tensor<8xf32>
  %7 = hlo.multiply %half, %x : tensor<8xf32>
  %8 = hlo.multiply %7, %y : tensor<8xf32>
  %9 = hlo.exponential %8 : tensor<8xf32>
  return %2, %6, %9 : tensor<8xf32>, tensor<8xf32>, tensor<8xf32>
}
