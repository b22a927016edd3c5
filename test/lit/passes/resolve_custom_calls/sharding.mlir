// RUN: hlo-opt %s --split-input-file --resolve-custom-calls --verify-diagnostics | filecheck %s

// On one device nothing is split, and a computation of its parts is the computation.
sdy.mesh @mesh = <["x"=1]>
// CHECK-LABEL: func.func @main(
// CHECK-NEXT: %[[SUM:.*]] = hlo.add %x, %x : tensor<4xf32>
// CHECK-NEXT: func.return %[[SUM]]
func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = sdy.sharding_constraint %x <@mesh, [{"x"}]> : tensor<4xf32>
  sdy.sharding_group %0 group_id=0 : tensor<4xf32>
  %1 = sdy.manual_computation(%0) in_shardings=[<@mesh, [{"x"}]>] out_shardings=[<@mesh, [{"x"}]>] manual_axes={"x"} (%p: tensor<4xf32>) {
    %2 = sdy.reshard %p <@mesh, [{}]> : tensor<4xf32>
    %3 = stablehlo.add %2, %p : tensor<4xf32>
    sdy.return %3 : tensor<4xf32>
  } : (tensor<4xf32>) -> tensor<4xf32>
  %4 = sdy.propagation_barrier %1 allowed_direction=BOTH : tensor<4xf32>
  return %4 : tensor<4xf32>
}

// -----

sdy.mesh @mesh = <["x"=2]>
func.func @several(%x: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error@+1 {{'sdy.manual_computation' op is not supported: it runs on several devices: hlo-opt --partition-spmd makes the program of one of them}}
  %1 = sdy.manual_computation(%x) in_shardings=[<@mesh, [{"x"}]>] out_shardings=[<@mesh, [{"x"}]>] manual_axes={"x"} (%p: tensor<2xf32>) {
    sdy.return %p : tensor<2xf32>
  } : (tensor<4xf32>) -> tensor<4xf32>
  return %1 : tensor<4xf32>
}
