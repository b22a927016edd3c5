// RUN: hlo-opt %s --fuse --split-input-file | filecheck %s

// Two row fusions share the sum of rows, broadcast: the first returns the sums, and the second broadcasts them again.

// CHECK:         hlo.fusion row<1>
// CHECK:           hlo.return %{{.*}}, %{{.*}}, %{{.*}} : tensor<64xf32>, tensor<64x128xf32>, tensor<64x64xf32>
// CHECK:         hlo.fusion row<1>
// CHECK-NEXT:      hlo.broadcast_in_dim %{{.*}}, dims = [0] : (tensor<64xf32>) -> tensor<64x128xf32>
func.func @main(%x: tensor<64x128xf32>, %y: tensor<64x128xf32>) -> (tensor<64x128xf32>, tensor<64x128xf32>) {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %e = stablehlo.exponential %x : tensor<64x128xf32>
  %s = stablehlo.reduce(%e init: %zero) applies stablehlo.add across dimensions = [1] : (tensor<64x128xf32>, tensor<f32>) -> tensor<64xf32>
  %b = stablehlo.broadcast_in_dim %s, dims = [0] : (tensor<64xf32>) -> tensor<64x128xf32>
  %p = stablehlo.divide %e, %b : tensor<64x128xf32>
  %d = stablehlo.dot_general %p, %y, contracting_dims = [1] x [1] : (tensor<64x128xf32>, tensor<64x128xf32>) -> tensor<64x64xf32>
  %g = stablehlo.dot_general %d, %y, contracting_dims = [1] x [0] : (tensor<64x64xf32>, tensor<64x128xf32>) -> tensor<64x128xf32>
  %q = stablehlo.divide %g, %b : tensor<64x128xf32>
  %t = stablehlo.reduce(%q init: %zero) applies stablehlo.add across dimensions = [1] : (tensor<64x128xf32>, tensor<f32>) -> tensor<64xf32>
  %c = stablehlo.broadcast_in_dim %t, dims = [0] : (tensor<64xf32>) -> tensor<64x128xf32>
  %r = stablehlo.add %q, %c : tensor<64x128xf32>
  return %p, %r : tensor<64x128xf32>, tensor<64x128xf32>
}

// -----

// So does a loop.

// CHECK:         hlo.fusion row<1>
// CHECK:           hlo.return %{{.*}}, %{{.*}} : tensor<64xf32>, tensor<64x128xf32>
// CHECK:         hlo.fusion loop
// CHECK-NEXT:      hlo.broadcast_in_dim %{{.*}}, dims = [0] : (tensor<64xf32>) -> tensor<64x128xf32>
func.func @main(%x: tensor<64x128xf32>, %y: tensor<64x64xf32>) -> (tensor<64x128xf32>, tensor<128x64xf32>) {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %e = stablehlo.exponential %x : tensor<64x128xf32>
  %s = stablehlo.reduce(%e init: %zero) applies stablehlo.add across dimensions = [1] : (tensor<64x128xf32>, tensor<f32>) -> tensor<64xf32>
  %b = stablehlo.broadcast_in_dim %s, dims = [0] : (tensor<64xf32>) -> tensor<64x128xf32>
  %p = stablehlo.divide %e, %b : tensor<64x128xf32>
  %d = stablehlo.dot_general %y, %p, contracting_dims = [1] x [0] : (tensor<64x64xf32>, tensor<64x128xf32>) -> tensor<64x128xf32>
  %q = stablehlo.divide %d, %b : tensor<64x128xf32>
  %t = stablehlo.transpose %q, dims = [1, 0] : (tensor<64x128xf32>) -> tensor<128x64xf32>
  return %p, %t : tensor<64x128xf32>, tensor<128x64xf32>
}

// -----

// Each state of a loop is filled: no state is a copy of another.

// CHECK-COUNT-2: hlo.constant dense<0.000000e+00> : tensor<2000xf32>
// CHECK:         hlo.while
func.func @main(%n: tensor<i32>, %x: tensor<2000xf32>) -> (tensor<2000xf32>, tensor<2000xf32>) {
  %zeros = stablehlo.constant dense<0.0> : tensor<2000xf32>
  %i0 = stablehlo.constant dense<0> : tensor<i32>
  %0:3 = stablehlo.while(%i = %i0, %a = %zeros, %b = %zeros) : tensor<i32>, tensor<2000xf32>, tensor<2000xf32>
    cond {
      %c = stablehlo.compare LT, %i, %n : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %c : tensor<i1>
    } do {
      %one = stablehlo.constant dense<1> : tensor<i32>
      %j = stablehlo.add %i, %one : tensor<i32>
      %r = stablehlo.reverse %a, dims = [0] : tensor<2000xf32>
      %s = stablehlo.add %r, %x : tensor<2000xf32>
      %u = stablehlo.reverse %b, dims = [0] : tensor<2000xf32>
      %t = stablehlo.multiply %u, %s : tensor<2000xf32>
      stablehlo.return %j, %s, %t : tensor<i32>, tensor<2000xf32>, tensor<2000xf32>
    }
  return %0#1, %0#2 : tensor<2000xf32>, tensor<2000xf32>
}
