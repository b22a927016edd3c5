// RUN: hlo-opt %s --split-input-file --partition-spmd --verify-diagnostics | filecheck %s

// Arguments and results become parts. A dimension along which an operation cannot be split is gathered before it.
// CHECK: builtin.module @whole attributes {mhlo.num_partitions = 4 : i32, mhlo.spmd_parameters_shardings = ["{devices=[2,2]0,1,2,3}", "{replicated}"], mhlo.spmd_output_sharding = "{devices=[4,1]0,2,1,3}"}
module @whole attributes {mhlo.num_partitions = 4 : i32} {
  sdy.mesh @mesh = <["x"=2, "y"=2]>
  // CHECK: func.func @main(%a: tensor<4x3xf32>, %b: tensor<6xf32>) -> (tensor<2x6xf32>)
  func.func @main(%a: tensor<8x6xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {"y"}]>}, %b: tensor<6xf32>) -> (tensor<8x6xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"y", "x"}, {}]>}) {
    // Values that depend only on the partition's number are computed first, once.
    // CHECK:      %[[ID:.*]] = hlo.partition_id : tensor<ui32>
    // CHECK:      hlo.constant dense<[0, 0, 4, 4]> : tensor<4xi32>
    // CHECK:      hlo.constant dense<[0, 4, 2, 6]> : tensor<4xi32>
    // CHECK:      "hlo.all_gather"(%a) <{all_gather_dim = 0 : i64, replica_groups = dense<[[0, 2], [1, 3]]> : tensor<2x2xi64>, channel_handle = #hlo.channel_handle<handle = 1, type = 1>, use_global_device_ids}> : (tensor<4x3xf32>) -> tensor<8x3xf32>
    // CHECK-NEXT: "hlo.sort"
    // CHECK:      }) : (tensor<8x3xf32>) -> tensor<8x3xf32>
    // CHECK-NEXT: "hlo.all_gather"({{.*}}) <{all_gather_dim = 1 : i64, replica_groups = dense<[[0, 1], [2, 3]]>
    %0 = "stablehlo.sort"(%a) ({
    ^bb0(%x: tensor<f32>, %y: tensor<f32>):
      %c = stablehlo.compare LT, %x, %y : (tensor<f32>, tensor<f32>) -> tensor<i1>
      stablehlo.return %c : tensor<i1>
    }) {dimension = 0 : i64} : (tensor<8x6xf32>) -> tensor<8x6xf32>
    // The body of a manual computation computes on parts already: an axis that is not manual splits nothing.
    // CHECK:      %[[PART:.*]] = hlo.dynamic_slice %{{.*}}, sizes = [4, 6]
    // CHECK-NEXT: %[[SUM:.*]] = hlo.add %[[PART]], %[[PART]] : tensor<4x6xf32>
    %1 = sdy.manual_computation(%0) in_shardings=[<@mesh, [{"x"}, {"y"}]>] out_shardings=[<@mesh, [{"x"}, {}]>] manual_axes={"x"} (%u: tensor<4x6xf32>) {
      %2 = stablehlo.add %u, %u : tensor<4x6xf32>
      sdy.return %2 : tensor<4x6xf32>
    } : (tensor<8x6xf32>) -> tensor<8x6xf32>
    // CHECK-NEXT: "hlo.all_gather"(%[[SUM]])
    // CHECK-NEXT: hlo.dynamic_slice %{{.*}}, sizes = [2, 6]
    return %1 : tensor<8x6xf32>
  }
}

// -----

// A part of a part needs no communication; parts of the last kind are filled up, and cut off again.
module attributes {mhlo.num_partitions = 4 : i32} {
  sdy.mesh @mesh = <["x"=2, "y"=2], device_ids=[3, 1, 2, 0]>
  // CHECK-LABEL: func.func @main(%a: tensor<4x7xf32>, %b: tensor<4xf32>) -> (tensor<2x7xf32>, tensor<7xf32>)
  func.func @main(%a: tensor<8x7xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}, %b: tensor<7xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"y"}]>}) -> (tensor<8x7xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x", "y"}, {}]>}, tensor<7xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}]>}) {
    // CHECK-DAG: hlo.constant dense<[2, 2, 0, 0]> : tensor<4xi32>
    // CHECK-DAG: %[[PART:.*]] = hlo.dynamic_slice %a, %{{.*}}, sizes = [2, 7]
    // CHECK-DAG: %[[FULL:.*]] = "hlo.all_gather"(%b) <{all_gather_dim = 0 : i64, replica_groups = dense<[[3, 1], [2, 0]]>{{.*}} : (tensor<4xf32>) -> tensor<8xf32>
    // CHECK-DAG: %[[ALL:.*]] = hlo.slice %[[FULL]] [0:7] : (tensor<8xf32>) -> tensor<7xf32>
    // CHECK:     func.return %[[PART]], %[[ALL]]
    return %a, %b : tensor<8x7xf32>, tensor<7xf32>
  }
}

// -----

// The older spelling: shardings as text, custom calls for the conversions between whole arrays and parts.
module attributes {mhlo.num_partitions = 4 : i32, mhlo.num_replicas = 1 : i32} {
  // CHECK-LABEL: func.func @main(%a: tensor<4x4xf32>) -> (tensor<4x8xf32>)
  // CHECK-NEXT: %[[ALL:.*]] = "hlo.all_gather"(%a) <{all_gather_dim = 1 : i64, replica_groups = dense<[[0, 1], [2, 3]]>
  // CHECK-NEXT: func.return %[[ALL]]
  func.func @main(%a: tensor<8x8xf32> {mhlo.sharding = "{devices=[2,2]<=[2,2]T(1,0)}"}) -> (tensor<4x8xf32> {mhlo.sharding = "{replicated}"}) {
    %0 = stablehlo.custom_call @Sharding(%a) {mhlo.sharding = "{devices=[2,2]<=[2,2]T(1,0)}"} : (tensor<8x8xf32>) -> tensor<8x8xf32>
    %1 = stablehlo.custom_call @SPMDFullToShardShape(%0) {mhlo.sharding = "{manual}"} : (tensor<8x8xf32>) -> tensor<4x4xf32>
    %2 = stablehlo.custom_call @SPMDShardToFullShape(%1) {mhlo.sharding = "{devices=[1,2,2]0,2,1,3 last_tile_dim_replicate}"} : (tensor<4x4xf32>) -> tensor<4x8xf32>
    return %2 : tensor<4x8xf32>
  }
}

// -----

module attributes {mhlo.num_partitions = 8 : i32} {
  sdy.mesh @mesh = <["x"=2, "y"=2]>
  // expected-error@+1 {{'func.func' op has argument 0 of type tensor<8xf32> with a sharding that is wrong: the mesh is of other devices than the 8 of the program}}
  func.func @main(%a: tensor<8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>}) -> tensor<8xf32> {
    return %a : tensor<8xf32>
  }
}

// -----

module attributes {mhlo.num_partitions = 2 : i32} {
  // expected-error@+1 {{has result 0 of type tensor<8xf32> with a sharding that is wrong: the sharding {devices=[2,2]<=[4]} does not fit an array of 1 dimensions on 2 devices}}
  func.func @main(%a: tensor<8xf32>) -> (tensor<8xf32> {mhlo.sharding = "{devices=[2,2]<=[4]}"}) {
    return %a : tensor<8xf32>
  }
}

// -----

module attributes {mhlo.num_partitions = 2 : i32} {
  sdy.mesh @one = <[], device_ids=[1]>
  // expected-error@+1 {{an array on one device of several is not supported}}
  func.func @main(%a: tensor<8xf32> {sdy.sharding = #sdy.sharding<@one, []>}) -> tensor<8xf32> {
    return %a : tensor<8xf32>
  }
}

// -----

// expected-error@+1 {{'builtin.module' op is for 1000000 partitions; more than 4096 are not supported}}
module attributes {mhlo.num_partitions = 1000000 : i32} {
  func.func @main(%a: tensor<8xf32> {mhlo.sharding = "{devices=[1000000]<=[1000000]}"}) -> tensor<8xf32> {
    return %a : tensor<8xf32>
  }
}

// -----

module attributes {mhlo.num_partitions = 2 : i32} {
  // expected-error@+1 {{is not supported}}
  func.func @main(%a: tensor<8xf32>) -> (tensor<8xf32> {mhlo.sharding = "{devices=[2]0,1,}"}) {
    return %a : tensor<8xf32>
  }
}

// -----

module attributes {mhlo.num_partitions = 2 : i32} {
  // expected-error@+1 {{is not supported}}
  func.func @main(%a: tensor<8xf32>) -> (tensor<8xf32> {mhlo.sharding = "{devices=[2],1}"}) {
    return %a : tensor<8xf32>
  }
}

// -----

module attributes {mhlo.num_partitions = 2 : i32} {
  // expected-error@+1 {{is not supported}}
  func.func @main(%a: tensor<8xf32>) -> (tensor<8xf32> {mhlo.sharding = "{devices=[2]<=[99999999999999999999]}"}) {
    return %a : tensor<8xf32>
  }
}

// -----

module attributes {mhlo.num_partitions = 2 : i32} {
  // expected-error@+1 {{does not fit an array of 1 dimensions on 2 devices}}
  func.func @main(%a: tensor<8xf32>) -> (tensor<8xf32> {mhlo.sharding = "{devices=[2]<=[1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,2]}"}) {
    return %a : tensor<8xf32>
  }
}
