// RUN: hlo-opt %s --split-input-file --verify-diagnostics

func.func @all_gather_of_a_token(%a: tensor<4x6xf32>, %d: tensor<?x6xf32>, %t: !stablehlo.token) {
  // expected-error@+1 {{all_gather_i1: operands have types (!hlo.token), expected tensors}}
  %0 = "stablehlo.all_gather"(%t) {all_gather_dim = 1 : i64, replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>} : (!stablehlo.token) -> !stablehlo.token
  return
}

// -----

func.func @all_gather_dim(%a: tensor<4x6xf32>, %d: tensor<?x6xf32>, %t: !stablehlo.token) {
  // expected-error@+1 {{all_gather_c1: all_gather_dim 2 is not in [0, 2)}}
  %0 = "stablehlo.all_gather"(%a) {all_gather_dim = 2 : i64, replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>} : (tensor<4x6xf32>) -> tensor<4x12xf32>
  return
}

// -----

func.func @all_gather_dim_negative(%a: tensor<4x6xf32>, %d: tensor<?x6xf32>, %t: !stablehlo.token) {
  // expected-error@+1 {{all_gather_c1: all_gather_dim -1}}
  %0 = "stablehlo.all_gather"(%a) {all_gather_dim = -1 : i64, replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>} : (tensor<4x6xf32>) -> tensor<4x12xf32>
  return
}

// -----

func.func @all_gather_twice(%a: tensor<4x6xf32>, %d: tensor<?x6xf32>, %t: !stablehlo.token) {
  // expected-error@+1 {{all_gather_c2: replica_groups names a process twice}}
  %0 = "stablehlo.all_gather"(%a) {all_gather_dim = 1 : i64, replica_groups = dense<[[0, 0]]> : tensor<1x2xi64>} : (tensor<4x6xf32>) -> tensor<4x12xf32>
  return
}

// -----

func.func @all_gather_gap(%a: tensor<4x6xf32>, %d: tensor<?x6xf32>, %t: !stablehlo.token) {
  // expected-error@+1 {{all_gather_c4: replica_groups names process 2, which is not in [0, 2)}}
  %0 = "stablehlo.all_gather"(%a) {all_gather_dim = 1 : i64, replica_groups = dense<[[0, 2]]> : tensor<1x2xi64>} : (tensor<4x6xf32>) -> tensor<4x12xf32>
  return
}

// -----

func.func @all_gather_padded(%a: tensor<4x6xf32>, %d: tensor<?x6xf32>, %t: !stablehlo.token) {
  // expected-error@+1 {{all_gather_c4: replica_groups holds -1}}
  %0 = "stablehlo.all_gather"(%a) {all_gather_dim = 1 : i64, replica_groups = dense<[[0, 1], [2, -1]]> : tensor<2x2xi64>} : (tensor<4x6xf32>) -> tensor<4x12xf32>
  return
}

// -----

func.func @all_gather_list(%a: tensor<4x6xf32>, %d: tensor<?x6xf32>, %t: !stablehlo.token) {
  // expected-error@+1 {{all_gather_i3: replica_groups is no two-dimensional list of 64-bit integers}}
  %0 = "stablehlo.all_gather"(%a) {all_gather_dim = 1 : i64, replica_groups = dense<[0, 1]> : tensor<2xi64>} : (tensor<4x6xf32>) -> tensor<4x12xf32>
  return
}

// -----

func.func @all_gather_huge(%a: tensor<4x6xf32>, %d: tensor<?x6xf32>, %t: !stablehlo.token) {
  // expected-error@+1 {{all_gather_i3: replica_groups is no two-dimensional list}}
  %0 = "stablehlo.all_gather"(%a) {all_gather_dim = 1 : i64, replica_groups = dense<0> : tensor<1152921504606846976x2xi64>} : (tensor<4x6xf32>) -> tensor<4x12xf32>
  return
}

// -----

func.func @all_gather_ids(%a: tensor<4x6xf32>, %d: tensor<?x6xf32>, %t: !stablehlo.token) {
  // expected-error@+1 {{all_gather_c5: use_global_device_ids needs a channel, the channel_id is 0}}
  %0 = "stablehlo.all_gather"(%a) {all_gather_dim = 1 : i64, replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>, use_global_device_ids} : (tensor<4x6xf32>) -> tensor<4x12xf32>
  return
}

// -----

func.func @all_gather_type(%a: tensor<4x6xf32>, %d: tensor<?x6xf32>, %t: !stablehlo.token) {
  // expected-error@+1 {{all_gather_c6: result has type tensor<4x13xf32>, expected tensor<4x12xf32>}}
  %0 = "stablehlo.all_gather"(%a) {all_gather_dim = 1 : i64, replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>} : (tensor<4x6xf32>) -> tensor<4x13xf32>
  return
}

// -----

func.func @all_gather_multiple(%a: tensor<4x6xf32>, %d: tensor<?x6xf32>, %t: !stablehlo.token) {
  // expected-error@+1 {{all_gather_c6: the result has size 13 along all_gather_dim, no multiple of the operand's 6}}
  %0 = "stablehlo.all_gather"(%a) {all_gather_dim = 1 : i64, replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>, channel_handle = #stablehlo.channel_handle<handle = 1, type = 0>} : (tensor<4x6xf32>) -> tensor<4x13xf32>
  return
}

// -----

func.func @all_gather_count(%a: tensor<4x6xf32>, %d: tensor<?x6xf32>, %t: !stablehlo.token) {
  // expected-error@+1 {{all_gather_c6: there are 2 results for 1 operands}}
  %0:2 = "stablehlo.all_gather"(%a) {all_gather_dim = 1 : i64, replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>} : (tensor<4x6xf32>) -> (tensor<4x12xf32>, tensor<4x12xf32>)
  return
}

// -----

func.func @all_gather_axis(%a: tensor<4x6xf32>, %d: tensor<?x6xf32>, %t: !stablehlo.token) {
  // expected-error@+1 {{all_gather_i3: replica_groups: the mesh has no axis "y"}}
  %0 = "stablehlo.all_gather"(%a) {all_gather_dim = 1 : i64, replica_groups = #stablehlo.replica_group_mesh_axes<mesh = #stablehlo.mesh<axes = [<name = "x", size = 2>]>, axes = [#stablehlo.axis_ref<name = "y">]>} : (tensor<4x6xf32>) -> tensor<4x12xf32>
  return
}

// -----

func.func @all_gather_sub_axis(%a: tensor<4x6xf32>, %d: tensor<?x6xf32>, %t: !stablehlo.token) {
  // expected-error@+1 {{all_gather_i3: replica_groups: sub-axis (1)3 does not divide axis "x" of size 4}}
  %0 = "stablehlo.all_gather"(%a) {all_gather_dim = 1 : i64, replica_groups = #stablehlo.replica_group_mesh_axes<mesh = #stablehlo.mesh<axes = [<name = "x", size = 4>]>, axes = [#stablehlo.axis_ref<name = "x", sub_axis_info = (1)3>]>} : (tensor<4x6xf32>) -> tensor<4x12xf32>
  return
}

// -----

func.func @all_gather_overlap(%a: tensor<4x6xf32>, %d: tensor<?x6xf32>, %t: !stablehlo.token) {
  // expected-error@+1 {{all_gather_i3: replica_groups: sub-axes of axis "x" overlap}}
  %0 = "stablehlo.all_gather"(%a) {all_gather_dim = 1 : i64, replica_groups = #stablehlo.replica_group_mesh_axes<mesh = #stablehlo.mesh<axes = [<name = "x", size = 4>]>, axes = [#stablehlo.axis_ref<name = "x">, #stablehlo.axis_ref<name = "x", sub_axis_info = (1)2>]>} : (tensor<4x6xf32>) -> tensor<4x12xf32>
  return
}

// -----

func.func @all_gather_mesh_of_nothing(%a: tensor<4x6xf32>, %d: tensor<?x6xf32>, %t: !stablehlo.token) {
  // expected-error@+1 {{all_gather_i3: replica_groups: axis "x" has size 0}}
  %0 = "stablehlo.all_gather"(%a) {all_gather_dim = 1 : i64, replica_groups = #stablehlo.replica_group_mesh_axes<mesh = #stablehlo.mesh<axes = [<name = "x", size = 0>]>, axes = []>} : (tensor<4x6xf32>) -> tensor<4x12xf32>
  return
}

// -----

func.func @all_reduce_twice(%a: tensor<4x6xf32>, %d: tensor<?x6xf32>, %t: !stablehlo.token) {
  // expected-error@+1 {{all_reduce_c1: replica_groups names a process twice}}
  %0 = "stablehlo.all_reduce"(%a) ({
  ^bb0(%x: tensor<f32>, %y: tensor<f32>):
    %s = stablehlo.add %x, %y : tensor<f32>
    stablehlo.return %s : tensor<f32>
  }) {replica_groups = dense<[[0], [0]]> : tensor<2x1xi64>} : (tensor<4x6xf32>) -> tensor<4x6xf32>
  return
}

// -----

func.func @all_reduce_gap(%a: tensor<4x6xf32>, %d: tensor<?x6xf32>, %t: !stablehlo.token) {
  // expected-error@+1 {{all_reduce_c3: replica_groups names process 3, which is not in [0, 3)}}
  %0 = "stablehlo.all_reduce"(%a) ({
  ^bb0(%x: tensor<f32>, %y: tensor<f32>):
    %s = stablehlo.add %x, %y : tensor<f32>
    stablehlo.return %s : tensor<f32>
  }) {replica_groups = dense<[[0, 3], [1, -1]]> : tensor<2x2xi64>} : (tensor<4x6xf32>) -> tensor<4x6xf32>
  return
}

// -----

func.func @all_reduce_ids(%a: tensor<4x6xf32>, %d: tensor<?x6xf32>, %t: !stablehlo.token) {
  // expected-error@+1 {{all_reduce_c4: use_global_device_ids needs a channel}}
  %0 = "stablehlo.all_reduce"(%a) ({
  ^bb0(%x: tensor<f32>, %y: tensor<f32>):
    %s = stablehlo.add %x, %y : tensor<f32>
    stablehlo.return %s : tensor<f32>
  }) {replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>, use_global_device_ids, channel_handle = #stablehlo.channel_handle<handle = 0, type = 0>} : (tensor<4x6xf32>) -> tensor<4x6xf32>
  return
}

// -----

func.func @all_reduce_body(%a: tensor<4x6xf32>, %d: tensor<?x6xf32>, %t: !stablehlo.token) {
  // expected-error@+1 {{all_reduce_c5: computation takes (tensor<2xf32>, tensor<2xf32>) and returns (tensor<2xf32>), expected two scalars}}
  %0 = "stablehlo.all_reduce"(%a) ({
  ^bb0(%x: tensor<2xf32>, %y: tensor<2xf32>):
    %s = stablehlo.add %x, %y : tensor<2xf32>
    stablehlo.return %s : tensor<2xf32>
  }) {replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>} : (tensor<4x6xf32>) -> tensor<4x6xf32>
  return
}

// -----

func.func @all_reduce_promotion(%a: tensor<4x6xf32>, %d: tensor<?x6xf32>, %t: !stablehlo.token) {
  // expected-error@+1 {{all_reduce_c5: computation is of i32, to which f32 does not promote}}
  %0 = "stablehlo.all_reduce"(%a) ({
  ^bb0(%x: tensor<i32>, %y: tensor<i32>):
    %s = stablehlo.add %x, %y : tensor<i32>
    stablehlo.return %s : tensor<i32>
  }) {replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>} : (tensor<4x6xf32>) -> tensor<4x6xf32>
  return
}

// -----

func.func @all_reduce_shape(%a: tensor<4x6xf32>, %d: tensor<?x6xf32>, %t: !stablehlo.token) {
  // expected-error@+1 {{all_reduce_c6: result has type tensor<4x5xf32>, expected tensor<4x6xf32>}}
  %0 = "stablehlo.all_reduce"(%a) ({
  ^bb0(%x: tensor<f32>, %y: tensor<f32>):
    %s = stablehlo.add %x, %y : tensor<f32>
    stablehlo.return %s : tensor<f32>
  }) {replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>} : (tensor<4x6xf32>) -> tensor<4x5xf32>
  return
}

// -----

func.func @all_reduce_element(%a: tensor<4x6xf32>, %d: tensor<?x6xf32>, %t: !stablehlo.token) {
  // expected-error@+1 {{all_reduce_c7: result has type tensor<4x6xf64>, the computation is of f32}}
  %0 = "stablehlo.all_reduce"(%a) ({
  ^bb0(%x: tensor<f32>, %y: tensor<f32>):
    %s = stablehlo.add %x, %y : tensor<f32>
    stablehlo.return %s : tensor<f32>
  }) {replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>} : (tensor<4x6xf32>) -> tensor<4x6xf64>
  return
}

// -----

func.func @reduce_scatter_parts(%a: tensor<4x6xf32>, %d: tensor<?x6xf32>, %t: !stablehlo.token) {
  // expected-error@+1 {{reduce_scatter_c1: size 6 of the operand does not divide into 4 parts}}
  %0 = "stablehlo.reduce_scatter"(%a) ({
  ^bb0(%x: tensor<f32>, %y: tensor<f32>):
    %s = stablehlo.add %x, %y : tensor<f32>
    stablehlo.return %s : tensor<f32>
  }) {scatter_dimension = 1 : i64, replica_groups = dense<[[0, 1, 2, 3]]> : tensor<1x4xi64>} : (tensor<4x6xf32>) -> tensor<4x1xf32>
  return
}

// -----

func.func @reduce_scatter_dim(%a: tensor<4x6xf32>, %d: tensor<?x6xf32>, %t: !stablehlo.token) {
  // expected-error@+1 {{reduce_scatter_c2: scatter_dimension 2 is not in [0, 2)}}
  %0 = "stablehlo.reduce_scatter"(%a) ({
  ^bb0(%x: tensor<f32>, %y: tensor<f32>):
    %s = stablehlo.add %x, %y : tensor<f32>
    stablehlo.return %s : tensor<f32>
  }) {scatter_dimension = 2 : i64, replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>} : (tensor<4x6xf32>) -> tensor<4x3xf32>
  return
}

// -----

func.func @reduce_scatter_twice(%a: tensor<4x6xf32>, %d: tensor<?x6xf32>, %t: !stablehlo.token) {
  // expected-error@+1 {{reduce_scatter_c3: replica_groups names a process twice}}
  %0 = "stablehlo.reduce_scatter"(%a) ({
  ^bb0(%x: tensor<f32>, %y: tensor<f32>):
    %s = stablehlo.add %x, %y : tensor<f32>
    stablehlo.return %s : tensor<f32>
  }) {scatter_dimension = 1 : i64, replica_groups = dense<[[1, 1]]> : tensor<1x2xi64>} : (tensor<4x6xf32>) -> tensor<4x3xf32>
  return
}

// -----

func.func @reduce_scatter_gap(%a: tensor<4x6xf32>, %d: tensor<?x6xf32>, %t: !stablehlo.token) {
  // expected-error@+1 {{reduce_scatter_c5: replica_groups names process -5}}
  %0 = "stablehlo.reduce_scatter"(%a) ({
  ^bb0(%x: tensor<f32>, %y: tensor<f32>):
    %s = stablehlo.add %x, %y : tensor<f32>
    stablehlo.return %s : tensor<f32>
  }) {scatter_dimension = 1 : i64, replica_groups = dense<[[0, -5]]> : tensor<1x2xi64>} : (tensor<4x6xf32>) -> tensor<4x3xf32>
  return
}

// -----

func.func @reduce_scatter_ids(%a: tensor<4x6xf32>, %d: tensor<?x6xf32>, %t: !stablehlo.token) {
  // expected-error@+1 {{reduce_scatter_c6: use_global_device_ids needs a channel}}
  %0 = "stablehlo.reduce_scatter"(%a) ({
  ^bb0(%x: tensor<f32>, %y: tensor<f32>):
    %s = stablehlo.add %x, %y : tensor<f32>
    stablehlo.return %s : tensor<f32>
  }) {scatter_dimension = 1 : i64, use_global_device_ids, replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>} : (tensor<4x6xf32>) -> tensor<4x3xf32>
  return
}

// -----

func.func @reduce_scatter_body(%a: tensor<4x6xf32>, %d: tensor<?x6xf32>, %t: !stablehlo.token) {
  // expected-error@+1 {{reduce_scatter_c7: computation is of f16, to which f32 does not promote}}
  %0 = "stablehlo.reduce_scatter"(%a) ({
  ^bb0(%x: tensor<f16>, %y: tensor<f16>):
    %s = stablehlo.add %x, %y : tensor<f16>
    stablehlo.return %s : tensor<f16>
  }) {scatter_dimension = 1 : i64, replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>} : (tensor<4x6xf32>) -> tensor<4x3xf32>
  return
}

// -----

func.func @reduce_scatter_shape(%a: tensor<4x6xf32>, %d: tensor<?x6xf32>, %t: !stablehlo.token) {
  // expected-error@+1 {{reduce_scatter_c8: result has type tensor<4x6xf32>, expected tensor<4x3xf32>}}
  %0 = "stablehlo.reduce_scatter"(%a) ({
  ^bb0(%x: tensor<f32>, %y: tensor<f32>):
    %s = stablehlo.add %x, %y : tensor<f32>
    stablehlo.return %s : tensor<f32>
  }) {scatter_dimension = 1 : i64, replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>} : (tensor<4x6xf32>) -> tensor<4x6xf32>
  return
}

// -----

func.func @reduce_scatter_element(%a: tensor<4x6xf32>, %d: tensor<?x6xf32>, %t: !stablehlo.token) {
  // expected-error@+1 {{reduce_scatter_c9: result has type tensor<4x3xf64>, the computation is of f32}}
  %0 = "stablehlo.reduce_scatter"(%a) ({
  ^bb0(%x: tensor<f32>, %y: tensor<f32>):
    %s = stablehlo.add %x, %y : tensor<f32>
    stablehlo.return %s : tensor<f32>
  }) {scatter_dimension = 1 : i64, replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>} : (tensor<4x6xf32>) -> tensor<4x3xf64>
  return
}

// -----

func.func @all_to_all_split(%a: tensor<4x6xf32>, %d: tensor<?x6xf32>, %t: !stablehlo.token) {
  // expected-error@+1 {{all_to_all_c1: split_dimension 2 is not in [0, 2)}}
  %0 = "stablehlo.all_to_all"(%a) {split_dimension = 2 : i64, concat_dimension = 0 : i64, split_count = 2 : i64, replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>} : (tensor<4x6xf32>) -> tensor<8x3xf32>
  return
}

// -----

func.func @all_to_all_parts(%a: tensor<4x6xf32>, %d: tensor<?x6xf32>, %t: !stablehlo.token) {
  // expected-error@+1 {{all_to_all_c2: size 6 along split_dimension does not divide into 4 parts}}
  %0 = "stablehlo.all_to_all"(%a) {split_dimension = 1 : i64, concat_dimension = 0 : i64, split_count = 4 : i64, replica_groups = dense<[[0, 1, 2, 3]]> : tensor<1x4xi64>} : (tensor<4x6xf32>) -> tensor<8x3xf32>
  return
}

// -----

func.func @all_to_all_concat(%a: tensor<4x6xf32>, %d: tensor<?x6xf32>, %t: !stablehlo.token) {
  // expected-error@+1 {{all_to_all_c3: concat_dimension -1 is not in [0, 2)}}
  %0 = "stablehlo.all_to_all"(%a) {split_dimension = 1 : i64, concat_dimension = -1 : i64, split_count = 2 : i64, replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>} : (tensor<4x6xf32>) -> tensor<8x3xf32>
  return
}

// -----

func.func @all_to_all_count(%a: tensor<4x6xf32>, %d: tensor<?x6xf32>, %t: !stablehlo.token) {
  // expected-error@+1 {{all_to_all_c4: split_count 0 is not positive}}
  %0 = "stablehlo.all_to_all"(%a) {split_dimension = 1 : i64, concat_dimension = 0 : i64, split_count = 0 : i64, replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>} : (tensor<4x6xf32>) -> tensor<8x3xf32>
  return
}

// -----

func.func @all_to_all_twice(%a: tensor<4x6xf32>, %d: tensor<?x6xf32>, %t: !stablehlo.token) {
  // expected-error@+1 {{all_to_all_c5: replica_groups names a process twice}}
  %0 = "stablehlo.all_to_all"(%a) {split_dimension = 1 : i64, concat_dimension = 0 : i64, split_count = 2 : i64, replica_groups = dense<1> : tensor<1x2xi64>} : (tensor<4x6xf32>) -> tensor<8x3xf32>
  return
}

// -----

func.func @all_to_all_gap(%a: tensor<4x6xf32>, %d: tensor<?x6xf32>, %t: !stablehlo.token) {
  // expected-error@+1 {{all_to_all_c7: replica_groups names process 2}}
  %0 = "stablehlo.all_to_all"(%a) {split_dimension = 1 : i64, concat_dimension = 0 : i64, split_count = 2 : i64, replica_groups = dense<[[1, 2]]> : tensor<1x2xi64>} : (tensor<4x6xf32>) -> tensor<8x3xf32>
  return
}

// -----

func.func @all_to_all_group(%a: tensor<4x6xf32>, %d: tensor<?x6xf32>, %t: !stablehlo.token) {
  // expected-error@+1 {{all_to_all_c8: the groups have 2 processes, split_count is 3}}
  %0 = "stablehlo.all_to_all"(%a) {split_dimension = 1 : i64, concat_dimension = 0 : i64, split_count = 3 : i64, replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>} : (tensor<4x6xf32>) -> tensor<8x3xf32>
  return
}

// -----

func.func @all_to_all_type(%a: tensor<4x6xf32>, %d: tensor<?x6xf32>, %t: !stablehlo.token) {
  // expected-error@+1 {{all_to_all_c9: result has type tensor<4x6xf32>, expected tensor<8x3xf32>}}
  %0 = "stablehlo.all_to_all"(%a) {split_dimension = 1 : i64, concat_dimension = 0 : i64, split_count = 2 : i64, replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>} : (tensor<4x6xf32>) -> tensor<4x6xf32>
  return
}

// -----

func.func @collective_broadcast_twice(%a: tensor<4x6xf32>, %d: tensor<?x6xf32>, %t: !stablehlo.token) {
  // expected-error@+1 {{collective_broadcast_c1: replica_groups names a process twice}}
  %0 = "stablehlo.collective_broadcast"(%a) {replica_groups = dense<[[4, 4]]> : tensor<1x2xi64>} : (tensor<4x6xf32>) -> tensor<4x6xf32>
  return
}

// -----

func.func @collective_broadcast_negative(%a: tensor<4x6xf32>, %d: tensor<?x6xf32>, %t: !stablehlo.token) {
  // expected-error@+1 {{collective_broadcast_c2: replica_groups names process -2, which is negative}}
  %0 = "stablehlo.collective_broadcast"(%a) {replica_groups = dense<[[4, -2]]> : tensor<1x2xi64>} : (tensor<4x6xf32>) -> tensor<4x6xf32>
  return
}

// -----

func.func @collective_broadcast_roots(%a: tensor<4x6xf32>, %d: tensor<2xi32>) {
  // expected-error@+1 {{collective_broadcast_i2: the roots have type tensor<2xi32>, expected tensor<1xi32>}}
  %0 = "stablehlo.collective_broadcast"(%a, %d) {replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>, has_dynamic_root} : (tensor<4x6xf32>, tensor<2xi32>) -> tensor<4x6xf32>
  func.return
}

// -----

func.func @collective_broadcast_count(%a: tensor<4x6xf32>) {
  // expected-error@+1 {{collective_broadcast_c3: there are 2 results for 1 operands}}
  %0:2 = "stablehlo.collective_broadcast"(%a) {replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>} : (tensor<4x6xf32>) -> (tensor<4x6xf32>, tensor<4x6xf32>)
  func.return
}

// -----

func.func @collective_broadcast_type(%a: tensor<4x6xf32>, %d: tensor<?x6xf32>, %t: !stablehlo.token) {
  // expected-error@+1 {{collective_broadcast_c3: result has type tensor<4x6xf64>, expected tensor<4x6xf32>}}
  %0 = "stablehlo.collective_broadcast"(%a) {replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>} : (tensor<4x6xf32>) -> tensor<4x6xf64>
  return
}

// -----

func.func @collective_permute_triples(%a: tensor<4x6xf32>, %d: tensor<?x6xf32>, %t: !stablehlo.token) {
  // expected-error@+1 {{collective_permute_c1: source_target_pairs of type tensor<1x3xi64> is no list of pairs}}
  %0 = "stablehlo.collective_permute"(%a) {source_target_pairs = dense<[[0, 1, 2]]> : tensor<1x3xi64>} : (tensor<4x6xf32>) -> tensor<4x6xf32>
  return
}

// -----

func.func @collective_permute_sources(%a: tensor<4x6xf32>, %d: tensor<?x6xf32>, %t: !stablehlo.token) {
  // expected-error@+1 {{collective_permute_c2: a process is the source of two pairs}}
  %0 = "stablehlo.collective_permute"(%a) {source_target_pairs = dense<[[0, 1], [0, 2]]> : tensor<2x2xi64>} : (tensor<4x6xf32>) -> tensor<4x6xf32>
  return
}

// -----

func.func @collective_permute_targets(%a: tensor<4x6xf32>, %d: tensor<?x6xf32>, %t: !stablehlo.token) {
  // expected-error@+1 {{collective_permute_c3: a process is the target of two pairs}}
  %0 = "stablehlo.collective_permute"(%a) {source_target_pairs = dense<[[0, 1], [2, 1]]> : tensor<2x2xi64>} : (tensor<4x6xf32>) -> tensor<4x6xf32>
  return
}

// -----

func.func @collective_permute_negative(%a: tensor<4x6xf32>, %d: tensor<?x6xf32>, %t: !stablehlo.token) {
  // expected-error@+1 {{collective_permute_c4: source_target_pairs [[0, -1]] names a negative process}}
  %0 = "stablehlo.collective_permute"(%a) {source_target_pairs = dense<[[0, -1]]> : tensor<1x2xi64>} : (tensor<4x6xf32>) -> tensor<4x6xf32>
  return
}

// -----

func.func @collective_permute_type(%a: tensor<4x6xf32>, %d: tensor<?x6xf32>, %t: !stablehlo.token) {
  // expected-error@+1 {{collective_permute_c5: result has type tensor<6x4xf32>, expected tensor<4x6xf32>}}
  %0 = "stablehlo.collective_permute"(%a) {source_target_pairs = dense<[[0, 1]]> : tensor<1x2xi64>} : (tensor<4x6xf32>) -> tensor<6x4xf32>
  return
}

// -----

func.func @cross_replica_sum_twice(%a: tensor<4x6xf32>, %d: tensor<?x6xf32>, %t: !stablehlo.token) {
  // expected-error@+1 {{cross_replica_sum_c1: replica_groups names a process twice}}
  %0 = "stablehlo.cross-replica-sum"(%a) {replica_groups = dense<1> : tensor<1x2xi64>} : (tensor<4x6xf32>) -> tensor<4x6xf32>
  return
}

// -----

func.func @replica_id_type(%a: tensor<4x6xf32>, %d: tensor<?x6xf32>, %t: !stablehlo.token) {
  // expected-error@+1 {{replica_id_o1: result has type tensor<i32>, expected tensor<ui32>}}
  %0 = stablehlo.replica_id : tensor<i32>
  return
}

// -----

func.func @partition_id_type(%a: tensor<4x6xf32>, %d: tensor<?x6xf32>, %t: !stablehlo.token) {
  // expected-error@+1 {{partition_id_o1: result has type tensor<1xui32>, expected tensor<ui32>}}
  %0 = "stablehlo.partition_id"() : () -> tensor<1xui32>
  return
}

// -----

func.func @broadcast_negative(%a: tensor<4x6xf32>, %d: tensor<?x6xf32>, %t: !stablehlo.token) {
  // expected-error@+1 {{broadcast_i2: broadcast_sizes (-1,) are not all at least 0}}
  %0 = stablehlo.broadcast %a, sizes = [-1] : (tensor<4x6xf32>) -> tensor<1x4x6xf32>
  return
}

// -----

func.func @broadcast_type(%a: tensor<4x6xf32>, %d: tensor<?x6xf32>, %t: !stablehlo.token) {
  // expected-error@+1 {{broadcast_c1: result has type tensor<3x4x6xf32>, expected tensor<2x4x6xf32>}}
  %0 = stablehlo.broadcast %a, sizes = [2] : (tensor<4x6xf32>) -> tensor<3x4x6xf32>
  return
}

// -----

func.func @optimization_barrier_type(%a: tensor<4x6xf32>, %d: tensor<?x6xf32>, %t: !stablehlo.token) {
  // expected-error@+1 {{optimization_barrier_c1: result has type tensor<4x5xf32>, expected tensor<4x6xf32>}}
  %0 = "stablehlo.optimization_barrier"(%a) : (tensor<4x6xf32>) -> tensor<4x5xf32>
  return
}
