// A sound program gives the same results in guard mode, with buffers at either side of their pages, on simt too.
// RUN: hlo-run %s --guard --compare=reference | filecheck %s
// RUN: hlo-run %s --guard=start --compare=reference | filecheck %s
// RUN: hlo-run %s --guard --target=simt --compare=reference | filecheck %s
// RUN: not hlo-run %s --guard --target=reference 2>&1 | filecheck %s --check-prefix=REFERENCE

// CHECK: ok
// REFERENCE: error: --guard needs a target that is compiled
func.func @main(%x: tensor<7x5xf32>, %i: tensor<i32>) -> tensor<5x5xf32> {
  %z = stablehlo.constant dense<0> : tensor<i32>
  %0 = stablehlo.dynamic_slice %x, %i, %z, sizes = [5, 5] : (tensor<7x5xf32>, tensor<i32>, tensor<i32>) -> tensor<5x5xf32>
  %1 = stablehlo.dot %0, %0 : (tensor<5x5xf32>, tensor<5x5xf32>) -> tensor<5x5xf32>
  %2 = stablehlo.tanh %1 : tensor<5x5xf32>
  return %2 : tensor<5x5xf32>
}
