// StableHLO's and MHLO's names, pretty and generic, properties in either place: one operation.
// RUN: hlo-opt %s --verify-roundtrip | filecheck %s

// CHECK: builtin.module @jit_f attributes {mhlo.num_partitions = 1 : i32}
module @jit_f attributes {mhlo.num_partitions = 1 : i32} {
  // CHECK-LABEL: func.func public @main
  // CHECK-SAME:    (%x: tensor<2x3xf32> {jax.buffer_donor = true}, %y: tensor<2x3xf32>) -> (tensor<2x3xf32> {jax.result_info = "result"})
  func.func public @main(%x: tensor<2x3xf32> {jax.buffer_donor = true}, %y: tensor<2x3xf32>) -> (tensor<2x3xf32> {jax.result_info = "result"}) {
    // CHECK-NEXT: hlo.add %x, %y : tensor<2x3xf32>
    // CHECK-NEXT: hlo.add %x, %y : tensor<2x3xf32>
    // CHECK-NEXT: hlo.add %x, %y : tensor<2x3xf32>
    %0 = stablehlo.add %x, %y : tensor<2x3xf32>
    %1 = mhlo.add %x, %y : tensor<2x3xf32>
    %2 = "stablehlo.add"(%x, %y) : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
    // CHECK-NEXT: hlo.transpose %x, dims = [1, 0] : (tensor<2x3xf32>) -> tensor<3x2xf32>
    // CHECK-NEXT: hlo.transpose %x, dims = [1, 0] : (tensor<2x3xf32>) -> tensor<3x2xf32>
    // CHECK-NEXT: hlo.transpose %x, dims = [1, 0] : (tensor<2x3xf32>) -> tensor<3x2xf32>
    %3 = "stablehlo.transpose"(%x) <{permutation = array<i64: 1, 0>}> : (tensor<2x3xf32>) -> tensor<3x2xf32>
    %4 = "stablehlo.transpose"(%x) {permutation = array<i64: 1, 0>} : (tensor<2x3xf32>) -> tensor<3x2xf32>
    %5 = "stablehlo.transpose"(%x) {permutation = dense<[1, 0]> : tensor<2xi64>} : (tensor<2x3xf32>) -> tensor<3x2xf32>
    // CHECK-NEXT: hlo.compare LT, %x, %y, FLOAT : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xi1>
    %6 = "stablehlo.compare"(%x, %y) {compare_type = #stablehlo<comparison_type FLOAT>, comparison_direction = #stablehlo<comparison_direction LT>} : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xi1>
    // CHECK-NEXT: %[[PAIR:.*]]:2 = hlo.optimization_barrier %x, %y
    %7:2 = stablehlo.optimization_barrier %x, %y : tensor<2x3xf32>, tensor<2x3xf32>
    // CHECK-NEXT: hlo.add %[[PAIR]]#1, %[[PAIR]]#0
    %8 = stablehlo.add %7#1, %7#0 : tensor<2x3xf32>
    return %8 : tensor<2x3xf32>
  }
}
