// RUN: hlo-opt %s --verify-roundtrip | filecheck %s

// CHECK: sdy.mesh @mesh = <["x"=2, "y"=4]>
sdy.mesh @mesh = <["x"=2, "y"=4]>
// CHECK: sdy.mesh @one = <[], device_ids=[3]>
sdy.mesh @one = <[], device_ids=[3]>

// CHECK-LABEL: func.func @main
// CHECK-SAME: {sdy.sharding = #sdy.sharding<@mesh, [{"x", "y":(1)2}p1, {"y":(2)2, ?}]>}
// CHECK-SAME: {sdy.sharding = #sdy.sharding<@mesh, [{?}], replicated={"x"}, unreduced={"y"}>}
// CHECK-SAME: {sdy.sharding = #sdy.sharding<mesh<["a"=2]>, []>}
func.func @main(%a: tensor<8x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x", "y":(1)2}p1, {"y":(2)2, ?}]>},
                %b: tensor<8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{?}], replicated={"x"}, unreduced={"y"}>},
                %c: tensor<f32> {sdy.sharding = #sdy.sharding<mesh<["a"=2]>, []>}) -> (tensor<8x8xf32>, tensor<8xf32>) {
  // CHECK: %0 = sdy.sharding_constraint %a <@mesh, [{"x"}, {}]> : tensor<8x8xf32>
  %0 = sdy.sharding_constraint %a <@mesh, [{"x"}, {}]> : tensor<8x8xf32>
  // CHECK: %1 = sdy.reshard %0 <@one, []> : tensor<8x8xf32>
  %1 = sdy.reshard %0 <@one, []> : tensor<8x8xf32>
  // CHECK: %2:2 = sdy.manual_computation(%1, %b) in_shardings=[<@mesh, [{"x", "y"}, {}]>, <@mesh, [{}]>] out_shardings=[<@mesh, [{"x"}, {}]>, <@mesh, [{?}]>] manual_axes={"x"} (%u: tensor<4x8xf32>, %v: tensor<8xf32>) {
  %2:2 = sdy.manual_computation(%1, %b) in_shardings=[<@mesh, [{"x", "y"}, {}]>, <@mesh, [{}]>] out_shardings=[<@mesh, [{"x"}, {}]>, <@mesh, [{?}]>] manual_axes={"x"} (%u: tensor<4x8xf32>, %v: tensor<8xf32>) {
    // CHECK-NEXT: hlo.add %u, %u {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}, {"y"}]>]>} : tensor<4x8xf32>
    %e = stablehlo.add %u, %u {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}, {"y"}]>]>} : tensor<4x8xf32>
    // CHECK-NEXT: sdy.return %e, %v : tensor<4x8xf32>, tensor<8xf32>
    sdy.return %e, %v : tensor<4x8xf32>, tensor<8xf32>
  // CHECK-NEXT: } : (tensor<8x8xf32>, tensor<8xf32>) -> (tensor<8x8xf32>, tensor<8xf32>)
  } : (tensor<8x8xf32>, tensor<8xf32>) -> (tensor<8x8xf32>, tensor<8xf32>)
  // CHECK-NEXT: sdy.manual_computation() in_shardings=[] out_shardings=[] manual_axes={} () {
  sdy.manual_computation() in_shardings=[] out_shardings=[] manual_axes={} () {
    sdy.return
  } : () -> ()
  // CHECK: %3 = sdy.propagation_barrier %2#0 allowed_direction=NONE : tensor<8x8xf32>
  %3 = sdy.propagation_barrier %2#0 allowed_direction=NONE : tensor<8x8xf32>
  // CHECK: sdy.sharding_group %3 group_id=0 : tensor<8x8xf32>
  sdy.sharding_group %3 group_id=0 : tensor<8x8xf32>
  return %3, %2#1 : tensor<8x8xf32>, tensor<8xf32>
}
