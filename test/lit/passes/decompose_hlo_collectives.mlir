// RUN: hlo-opt %s --decompose-hlo --split-input-file --verify-diagnostics | filecheck %s

// On one process each gets what it has.
// CHECK-NOT: sdy.mesh
sdy.mesh @mesh = <["x"=1]>
// CHECK-LABEL: func.func @alone
// CHECK-NEXT:    %[[ID:.*]] = hlo.constant dense<0> : tensor<ui32>
// CHECK-NEXT:    %[[WIDE:.*]] = hlo.convert %a : (tensor<4xf16>) -> tensor<4xf32>
// CHECK-NEXT:    %[[ZERO:.*]] = hlo.constant dense<0.000000e+00> : tensor<4xf16>
// CHECK-NEXT:    %[[ALL:.*]] = hlo.broadcast_in_dim %a, dims = [1] : (tensor<4xf16>) -> tensor<2x4xf16>
// CHECK-NEXT:    func.return %[[ID]], %a, %[[WIDE]], %[[ZERO]], %[[ALL]]
func.func @alone(%a: tensor<4xf16>) -> (tensor<ui32>, tensor<4xf16>, tensor<4xf32>, tensor<4xf16>, tensor<2x4xf16>) {
  %0 = stablehlo.replica_id : tensor<ui32>
  %1 = "stablehlo.all_gather"(%a) {all_gather_dim = 0 : i64, replica_groups = #stablehlo.replica_group_mesh_axes<mesh = @mesh, axes = [#stablehlo.axis_ref<name = "x">]>} : (tensor<4xf16>) -> tensor<4xf16>
  %2 = "stablehlo.all_reduce"(%1) ({
  ^bb0(%x: tensor<f32>, %y: tensor<f32>):
    %s = stablehlo.add %x, %y : tensor<f32>
    stablehlo.return %s : tensor<f32>
  }) {replica_groups = dense<0> : tensor<1x1xi64>} : (tensor<4xf16>) -> tensor<4xf32>
  %3 = "stablehlo.collective_permute"(%1) {source_target_pairs = dense<> : tensor<0x2xi64>} : (tensor<4xf16>) -> tensor<4xf16>
  %4 = stablehlo.broadcast %1, sizes = [2] : (tensor<4xf16>) -> tensor<2x4xf16>
  return %0, %1, %2, %3, %4 : tensor<ui32>, tensor<4xf16>, tensor<4xf32>, tensor<4xf16>, tensor<2x4xf16>
}

// -----

func.func @two(%a: tensor<4xf32>) -> tensor<8xf32> {
  // expected-error@+1 {{'hlo.all_gather' op is not supported: several processes exchange data; compiled programs run on one: hlo-run --target=reference --num-replicas=N}}
  %0 = "stablehlo.all_gather"(%a) {all_gather_dim = 0 : i64, replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>} : (tensor<4xf32>) -> tensor<8xf32>
  return %0 : tensor<8xf32>
}

// -----

module attributes {mhlo.num_partitions = 4 : i32, mhlo.num_replicas = 1 : i32} {
  func.func @four() -> tensor<ui32> {
    // expected-error@+1 {{'hlo.partition_id' op is not supported: the program is for 4 partitions}}
    %0 = stablehlo.partition_id : tensor<ui32>
    return %0 : tensor<ui32>
  }
}
