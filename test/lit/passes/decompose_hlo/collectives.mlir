// RUN: hlo-opt %s --decompose-hlo --split-input-file --verify-diagnostics | filecheck %s

// With one process, each collective returns its operand.
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
  // expected-error@+1 {{'hlo.all_gather' op is not supported: several processes exchange data; the module does not say that it runs on several}}
  %0 = "stablehlo.all_gather"(%a) {all_gather_dim = 0 : i64, replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>} : (tensor<4xf32>) -> tensor<8xf32>
  return %0 : tensor<8xf32>
}

// -----

// On several each becomes a call of the runtime, which knows the groups by the numbers of the devices.
module attributes {mhlo.num_partitions = 2 : i32, mhlo.num_replicas = 2 : i32} {
  // CHECK-LABEL: func.func @four
  // CHECK-NEXT: hlo.custom_call @xhlo.partition_id() : () -> tensor<ui32>
  // CHECK-NEXT: hlo.custom_call @xhlo.all_gather(%a) {has_side_effect = true, mhlo.backend_config = {dim = 0 : i64, groups = dense<[[0, 2], [1, 3]]> : tensor<2x2xi64>, number = 0 : i64}} : (tensor<4xf32>) -> tensor<8xf32>
  // CHECK-NEXT: hlo.convert %{{.*}} : (tensor<8xf32>) -> tensor<8xf64>
  // CHECK-NEXT: hlo.custom_call @xhlo.all_reduce(%{{.*}}) {has_side_effect = true, mhlo.backend_config = {combiner = "hlo.add", groups = dense<[[0, 1], [2, 3]]> : tensor<2x2xi64>, number = 1 : i64}} : (tensor<8xf64>) -> tensor<8xf64>
  func.func @four(%a: tensor<4xf32>) -> (tensor<ui32>, tensor<8xf64>) {
    %0 = stablehlo.partition_id : tensor<ui32>
    %1 = "stablehlo.all_gather"(%a) {all_gather_dim = 0 : i64, replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>} : (tensor<4xf32>) -> tensor<8xf32>
    %2 = "stablehlo.all_reduce"(%1) ({
    ^bb0(%x: tensor<f64>, %y: tensor<f64>):
      %s = stablehlo.add %x, %y : tensor<f64>
      stablehlo.return %s : tensor<f64>
    }) {replica_groups = dense<[[0, 1], [2, 3]]> : tensor<2x2xi64>, channel_handle = #stablehlo.channel_handle<handle = 1, type = 0>, use_global_device_ids} : (tensor<8xf32>) -> tensor<8xf64>
    return %0, %2 : tensor<ui32>, tensor<8xf64>
  }

  // A computation of more than one operation: the operands are gathered, and folded in compiled code.
  // CHECK-LABEL: func.func @computation
  // CHECK:      %[[ALL:.*]] = hlo.custom_call @xhlo.all_gather({{.*}}) {{.*}} : (tensor<1x4xf32>) -> tensor<2x4xf32>
  // CHECK:      hlo.slice %[[ALL]] [0:1, 0:4]
  // CHECK:      hlo.slice %[[ALL]] [1:2, 0:4]
  // CHECK:      hlo.add {{.*}} : tensor<4xf32>
  // CHECK-NEXT: hlo.multiply {{.*}} : tensor<4xf32>
  func.func @computation(%a: tensor<4xf32>) -> tensor<4xf32> {
    %0 = "stablehlo.all_reduce"(%a) ({
    ^bb0(%x: tensor<f32>, %y: tensor<f32>):
      %s = stablehlo.add %x, %y : tensor<f32>
      %t = stablehlo.multiply %s, %y : tensor<f32>
      stablehlo.return %t : tensor<f32>
    }) {replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>} : (tensor<4xf32>) -> tensor<4xf32>
    return %0 : tensor<4xf32>
  }
}

// -----

module attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 4 : i32} {
  func.func @misfit(%a: tensor<4xf32>) -> tensor<8xf32> {
    // expected-error@+1 {{'hlo.all_gather' op all_gather_c3: it names processes 0..1 (2), cross_replica has 4 on this grid}}
    %0 = "stablehlo.all_gather"(%a) {all_gather_dim = 0 : i64, replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>} : (tensor<4xf32>) -> tensor<8xf32>
    return %0 : tensor<8xf32>
  }
}
