// RUN: hlo-opt %s --fuse-hlo --split-input-file | filecheck %s

// Producers, reduction and epilogue are one kernel.

// CHECK-LABEL: func.func @mean_of_squares
// CHECK: hlo.fusion reduce (%[[X:.*]] = %{{.*}} : tensor<4x8xf32>) -> tensor<8xf32> {
// CHECK-NEXT: %[[M:.*]] = hlo.multiply %[[X]], %[[X]]
// CHECK-NEXT: %[[Z:.*]] = hlo.constant
// CHECK-NEXT: %[[R:.*]] = hlo.reduce(%[[M]] init: %[[Z]])
// CHECK-NEXT: %[[N:.*]] = hlo.constant
// CHECK-NEXT: %[[Q:.*]] = hlo.divide %[[R]], %[[N]]
// CHECK-NEXT: hlo.return %[[Q]]
// CHECK-NOT: hlo.fusion
func.func @mean_of_squares(%x: tensor<4x8xf32>) -> tensor<8xf32> {
  %zero = hlo.constant dense<0.0> : tensor<f32>
  %n = hlo.constant dense<4.0> : tensor<8xf32>
  %0 = hlo.multiply %x, %x : tensor<4x8xf32>
  %1 = hlo.reduce(%0 init: %zero) applies hlo.add across dimensions = [0] : (tensor<4x8xf32>, tensor<f32>) -> tensor<8xf32>
  %2 = hlo.divide %1, %n : tensor<8xf32>
  return %2 : tensor<8xf32>
}

// -----

// Reductions of one shape that share their operand are one kernel with several results.

// CHECK-LABEL: func.func @two_moments
// CHECK: %[[R:.*]]:2 = hlo.fusion reduce
// CHECK: func.return %[[R]]#0, %[[R]]#1
func.func @two_moments(%x: tensor<64xf32>) -> (tensor<f32>, tensor<f32>) {
  %zero = hlo.constant dense<0.0> : tensor<f32>
  %0 = hlo.reduce(%x init: %zero) applies hlo.add across dimensions = [0] : (tensor<64xf32>, tensor<f32>) -> tensor<f32>
  %1 = hlo.multiply %x, %x : tensor<64xf32>
  %2 = hlo.reduce(%1 init: %zero) applies hlo.add across dimensions = [0] : (tensor<64xf32>, tensor<f32>) -> tensor<f32>
  return %0, %2 : tensor<f32>, tensor<f32>
}

// -----

// Without sharing: a kernel for each operation.

// RUN: hlo-opt %s -p "fuse-hlo{strategy=none}" --split-input-file | filecheck %s --check-prefix=NONE

// NONE-LABEL: func.func @alone
// NONE: hlo.fusion loop
// NONE: hlo.fusion reduce
// NONE: hlo.fusion loop
func.func @alone(%x: tensor<64xf32>) -> tensor<f32> {
  %zero = hlo.constant dense<0.0> : tensor<f32>
  %0 = hlo.multiply %x, %x : tensor<64xf32>
  %1 = hlo.reduce(%0 init: %zero) applies hlo.add across dimensions = [0] : (tensor<64xf32>, tensor<f32>) -> tensor<f32>
  %2 = hlo.sqrt %1 : tensor<f32>
  return %2 : tensor<f32>
}
