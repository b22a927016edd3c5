// RUN: hlo-opt %s --verify-roundtrip | filecheck %s
// RUN: hlo-opt %s --stablehlo | filecheck %s --check-prefix=STABLEHLO

// CHECK: sdy.mesh @mesh = <["x"=2, "y"=4]> {note = 1 : i64}
sdy.mesh @mesh = <["x"=2, "y"=4]> {note = 1 : i64}
// CHECK: sdy.mesh @numbered = <["x"=2], device_ids=[1, 0]>
sdy.mesh @numbered = <["x"=2], device_ids=[1, 0]>

// CHECK-LABEL: func.func @collectives
func.func @collectives(%a: tensor<4x4xf32>, %b: tensor<4x4xi64>, %d: tensor<?x4xf32>) {
  // CHECK: "hlo.all_gather"(%a) <{all_gather_dim = 1 : i64, replica_groups = dense<{{\[\[0, 1\]\]}}> : tensor<1x2xi64>, channel_handle = #hlo.channel_handle<handle = 1, type = 0>, use_global_device_ids}> : (tensor<4x4xf32>) -> tensor<4x8xf32>
  // STABLEHLO: "stablehlo.all_gather"(%a) <{{.*}}channel_handle = #stablehlo.channel_handle<handle = 1, type = 0>
  %0 = "stablehlo.all_gather"(%a) {all_gather_dim = 1 : i64, replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>, channel_handle = #stablehlo.channel_handle<handle = 1, type = 0>, use_global_device_ids} : (tensor<4x4xf32>) -> tensor<4x8xf32>
  // CHECK: %{{.*}}:2 = "hlo.all_gather"(%a, %b)
  %1:2 = "stablehlo.all_gather"(%a, %b) <{all_gather_dim = 1 : i64, replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>}> : (tensor<4x4xf32>, tensor<4x4xi64>) -> (tensor<4x8xf32>, tensor<4x8xi64>)
  // CHECK: "hlo.all_gather"({{.*}}) <{{.*}}> : (tensor<?x4xf32>) -> tensor<?x8xf32>
  %2 = "stablehlo.all_gather"(%d) <{all_gather_dim = 1 : i64, replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>}> : (tensor<?x4xf32>) -> tensor<?x8xf32>
  // CHECK: "hlo.all_gather"({{.*}}) <{{.*}}> : (tensor<?x4xf32>) -> tensor<?x4xf32>
  %3 = "stablehlo.all_gather"(%d) <{all_gather_dim = 0 : i64, replica_groups = dense<> : tensor<0x0xi64>}> : (tensor<?x4xf32>) -> tensor<?x4xf32>
  // CHECK: replica_groups = #hlo.replica_group_mesh_axes<mesh = @mesh, axes = [#hlo.axis_ref<name = "y">]>
  // STABLEHLO: replica_groups = #stablehlo.replica_group_mesh_axes<mesh = @mesh, axes = [#stablehlo.axis_ref<name = "y">]>
  %4 = "stablehlo.all_gather"(%a) {all_gather_dim = 1 : i64, replica_groups = #stablehlo.replica_group_mesh_axes<mesh = @mesh, axes = [#stablehlo.axis_ref<name = "y">]>} : (tensor<4x4xf32>) -> tensor<4x16xf32>
  // CHECK: replica_groups = #hlo.replica_group_mesh_axes<mesh = #hlo.mesh<axes=[<name = "x", size = 2>, <name = "y", size = 4>], device_ids=dense<[7, 6, 5, 4, 3, 2, 1, 0]> : tensor<8xi64>>, axes = [#hlo.axis_ref<name = "y", sub_axis_info = (1)2>]>
  // STABLEHLO: mesh = #stablehlo.mesh<axes=[<name = "x", size = 2>, <name = "y", size = 4>], device_ids={{.*}}>, axes = [#stablehlo.axis_ref<name = "y", sub_axis_info = (1)2>]>
  %5 = "stablehlo.all_gather"(%a) {all_gather_dim = 1 : i64, replica_groups = #stablehlo.replica_group_mesh_axes<mesh = #stablehlo.mesh<axes = [#stablehlo.mesh_axis<name = "x", size = 2>, <name = "y", size = 4>], device_ids = dense<[7, 6, 5, 4, 3, 2, 1, 0]> : tensor<8xi64>>, axes = [#stablehlo.axis_ref<name = "y", sub_axis_info = (1)2>]>} : (tensor<4x4xf32>) -> tensor<4x8xf32>
  // CHECK: %{{.*}}:2 = "hlo.all_reduce"(%a, %a) <{{.*}}> ({
  // CHECK:   hlo.add %{{.*}}, %{{.*}} : tensor<f64>
  // CHECK: }) : (tensor<4x4xf32>, tensor<4x4xf32>) -> (tensor<4x4xf64>, tensor<4x4xf64>)
  %6:2 = "stablehlo.all_reduce"(%a, %a) ({
  ^bb0(%x: tensor<f64>, %y: tensor<f64>):
    %s = stablehlo.add %x, %y : tensor<f64>
    stablehlo.return %s : tensor<f64>
  }) {replica_groups = dense<[[0, 1], [2, -1]]> : tensor<2x2xi64>, channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, use_global_device_ids} : (tensor<4x4xf32>, tensor<4x4xf32>) -> (tensor<4x4xf64>, tensor<4x4xf64>)
  // CHECK: "hlo.reduce_scatter"(%a) <{scatter_dimension = 1 : i64, replica_groups = dense<{{.*}}> : tensor<1x2xi64>}> ({
  // CHECK: }) : (tensor<4x4xf32>) -> tensor<4x2xf32>
  %7 = "stablehlo.reduce_scatter"(%a) ({
  ^bb0(%x: tensor<f32>, %y: tensor<f32>):
    %s = stablehlo.maximum %x, %y : tensor<f32>
    stablehlo.return %s : tensor<f32>
  }) {scatter_dimension = 1 : i64, replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>} : (tensor<4x4xf32>) -> tensor<4x2xf32>
  // CHECK: "hlo.all_to_all"(%a) <{split_dimension = 1 : i64, concat_dimension = 0 : i64, split_count = 2 : i64, replica_groups = dense<{{.*}}> : tensor<1x2xi64>}> : (tensor<4x4xf32>) -> tensor<8x2xf32>
  %8 = "stablehlo.all_to_all"(%a) {split_dimension = 1 : i64, concat_dimension = 0 : i64, split_count = 2 : i64, replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>} : (tensor<4x4xf32>) -> tensor<8x2xf32>
  // CHECK: "hlo.all_to_all"(%a, %b) <{{.*}}> : (tensor<4x4xf32>, tensor<4x4xi64>) -> (tensor<4x4xf32>, tensor<4x4xi64>)
  %9:2 = "stablehlo.all_to_all"(%a, %b) {split_dimension = 1 : i64, concat_dimension = 1 : i64, split_count = 2 : i64, replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>} : (tensor<4x4xf32>, tensor<4x4xi64>) -> (tensor<4x4xf32>, tensor<4x4xi64>)
  // CHECK: "hlo.collective_broadcast"(%a) <{replica_groups = dense<{{.*}}> : tensor<1x2xi64>, channel_handle = #hlo.channel_handle<handle = 0, type = 0>}> : (tensor<4x4xf32>) -> tensor<4x4xf32>
  %10 = "stablehlo.collective_broadcast"(%a) {replica_groups = dense<[[3, 1]]> : tensor<1x2xi64>, channel_handle = #stablehlo.channel_handle<handle = 0, type = 0>} : (tensor<4x4xf32>) -> tensor<4x4xf32>
  // CHECK: "hlo.collective_permute"(%a) <{source_target_pairs = dense<{{.*}}> : tensor<1x2xi64>, channel_handle = #hlo.channel_handle<handle = 0, type = 0>}>
  %11 = "stablehlo.collective_permute"(%a) {source_target_pairs = dense<[[0, 1]]> : tensor<1x2xi64>, channel_handle = #stablehlo.channel_handle<handle = 0, type = 0>} : (tensor<4x4xf32>) -> tensor<4x4xf32>
  // CHECK: "hlo.cross-replica-sum"(%a) <{replica_groups = dense<{{.*}}> : tensor<1x2xi64>}> : (tensor<4x4xf32>) -> tensor<4x4xf32>
  // STABLEHLO: "stablehlo.cross-replica-sum"(%a)
  %12 = "stablehlo.cross-replica-sum"(%a) {replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>} : (tensor<4x4xf32>) -> tensor<4x4xf32>
  // CHECK: hlo.partition_id : tensor<ui32>
  // STABLEHLO: stablehlo.partition_id : tensor<ui32>
  %13 = "stablehlo.partition_id"() : () -> tensor<ui32>
  // CHECK: hlo.replica_id {a = 1 : i64} : tensor<ui32>
  // STABLEHLO: stablehlo.replica_id {a = 1 : i64} : tensor<ui32>
  %14 = stablehlo.replica_id {a = 1 : i64} : tensor<ui32>
  // CHECK: "hlo.async_start"(%a) ({
  // CHECK:   "hlo.all_gather"
  // CHECK: }) : (tensor<4x4xf32>) -> !hlo.future<tensor<4x8xf32>>
  // STABLEHLO: !stablehlo.future<tensor<4x8xf32>>
  %15 = "stablehlo.async_start"(%a) ({
  ^bb0(%x: tensor<4x4xf32>):
    %s = "stablehlo.all_gather"(%x) {all_gather_dim = 1 : i64, replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>} : (tensor<4x4xf32>) -> tensor<4x8xf32>
    stablehlo.return %s : tensor<4x8xf32>
  }) : (tensor<4x4xf32>) -> !stablehlo.future<tensor<4x8xf32>>
  // CHECK: "hlo.async_done"(%{{.*}}) : (!hlo.future<tensor<4x8xf32>>) -> tensor<4x8xf32>
  %16 = "stablehlo.async_done"(%15) : (!stablehlo.future<tensor<4x8xf32>>) -> tensor<4x8xf32>
  // CHECK: hlo.broadcast %a, sizes = [2] {foo = 1 : i64} : (tensor<4x4xf32>) -> tensor<2x4x4xf32>
  // STABLEHLO: stablehlo.broadcast %a, sizes = [2] {foo = 1 : i64} : (tensor<4x4xf32>) -> tensor<2x4x4xf32>
  %17 = "stablehlo.broadcast"(%a) {broadcast_sizes = array<i64: 2>, foo = 1 : i64} : (tensor<4x4xf32>) -> tensor<2x4x4xf32>
  // CHECK: hlo.broadcast %{{.*}}, sizes = [] : (tensor<?x4xf32>) -> tensor<?x4xf32>
  %18 = stablehlo.broadcast %d, sizes = [] : (tensor<?x4xf32>) -> tensor<?x4xf32>
  return
}

// CHECK: func.func @futures(%f: !hlo.future<tensor<f32>, tensor<i32>>)
func.func @futures(%f: !stablehlo.future<tensor<f32>, tensor<i32>>) {
  return
}
