// RUN: hlo-run %s --num-partitions=2 | filecheck %s
// RUN: hlo-run %s --target=reference --num-partitions=2 | filecheck %s
// RUN: hlo-opt %s --partition-spmd | not hlo-run --num-partitions=4 2>&1 | filecheck %s --check-prefix=GRID

// A program whose arrays are sharded returns whole arrays, computed by two devices.
// CHECK:      result 0: float32[4]
// CHECK-NEXT: [3., 3., 5., 5.]
// CHECK-NEXT: result 1: float32[]
// CHECK-NEXT: 16.
// GRID: error: 'builtin.module' op was partitioned for other devices than these 4: the sharding {devices=[2]1,0} does not fit
module attributes {mhlo.num_partitions = 2 : i32} {
  sdy.mesh @mesh = <["x"=2], device_ids=[1, 0]>
  func.func @main() -> (tensor<4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>}, tensor<f32>) {
    %0 = stablehlo.constant dense<[1.0, 1.0, 2.0, 2.0]> : tensor<4xf32>
    %1 = sdy.sharding_constraint %0 <@mesh, [{"x"}]> : tensor<4xf32>
    %2 = stablehlo.add %1, %0 : tensor<4xf32>
    %3 = sdy.manual_computation(%2) in_shardings=[<@mesh, [{"x"}]>] out_shardings=[<@mesh, [{"x"}]>] manual_axes={"x"} (%p: tensor<2xf32>) {
      %one = stablehlo.constant dense<1.0> : tensor<2xf32>
      %q = stablehlo.add %p, %one : tensor<2xf32>
      sdy.return %q : tensor<2xf32>
    } : (tensor<4xf32>) -> tensor<4xf32>
    %zero = stablehlo.constant dense<0.0> : tensor<f32>
    %4 = stablehlo.reduce(%3 init: %zero) applies stablehlo.add across dimensions = [0] : (tensor<4xf32>, tensor<f32>) -> tensor<f32>
    return %3, %4 : tensor<4xf32>, tensor<f32>
  }
}
