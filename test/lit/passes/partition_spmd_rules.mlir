// RUN: hlo-opt %s --split-input-file --partition-spmd | filecheck %s

// A training step with a split batch: each device has its own rows; sums over them are taken over all devices.
module attributes {mhlo.num_partitions = 2 : i32} {
  sdy.mesh @mesh = <["batch"=2]>
  // CHECK-LABEL: func.func @main(%x: tensor<4x4xf32>, %w: tensor<4x6xf32>) -> (tensor<4x6xf32>, tensor<4x6xf32>, tensor<f32>)
  func.func @main(%x: tensor<8x4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"batch"}, {}]>}, %w: tensor<4x6xf32>) -> (tensor<8x6xf32>, tensor<4x6xf32>, tensor<f32>) {
    // CHECK-NEXT: %h = hlo.dot_general %x, %w, {{.*}} : (tensor<4x4xf32>, tensor<4x6xf32>) -> tensor<4x6xf32>
    %h = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0] : (tensor<8x4xf32>, tensor<4x6xf32>) -> tensor<8x6xf32>
    // CHECK-NEXT: %y = hlo.tanh %h : tensor<4x6xf32>
    %y = stablehlo.tanh %h : tensor<8x6xf32>
    // CHECK-NEXT: %[[PART:.*]] = hlo.dot_general %x, %y, contracting_dims = [0] x [0]
    // CHECK-NEXT: %g = "hlo.all_reduce"(%[[PART]]) <{replica_groups = dense<[[0, 1]]>
    %g = stablehlo.dot_general %x, %y, contracting_dims = [0] x [0] : (tensor<8x4xf32>, tensor<8x6xf32>) -> tensor<4x6xf32>
    %n = stablehlo.subtract %w, %g : tensor<4x6xf32>
    %zero = stablehlo.constant dense<0.0> : tensor<f32>
    // CHECK:      %[[SUM:.*]] = hlo.reduce(%y init: %zero) applies hlo.add across dimensions = [0, 1] : (tensor<4x6xf32>, tensor<f32>) -> tensor<f32>
    // CHECK-NEXT: %s = "hlo.all_reduce"(%[[SUM]])
    %s = stablehlo.reduce(%y init: %zero) applies stablehlo.add across dimensions = [0, 1] : (tensor<8x6xf32>, tensor<f32>) -> tensor<f32>
    // CHECK:      func.return %y, %n, %s
    return %y, %n, %s : tensor<8x6xf32>, tensor<4x6xf32>, tensor<f32>
  }
}

// -----

// A call that has effects happens once; its results are sent to the other devices.
module attributes {mhlo.num_partitions = 2 : i32} {
  sdy.mesh @mesh = <["x"=2]>
  func.func @main(%x: tensor<8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>}) -> tensor<8xf32> {
    // CHECK:      %[[ALL:.*]] = "hlo.all_gather"(%x)
    // CHECK-NEXT: %[[ZERO:.*]] = hlo.constant dense<0> : tensor<i32>
    // CHECK-NEXT: %[[FIRST:.*]] = hlo.compare EQ, %{{.*}}, %[[ZERO]]
    // CHECK-NEXT: %[[IF:.*]] = "hlo.if"(%[[FIRST]]) ({
    // CHECK-NEXT:   hlo.custom_call @somewhere(%[[ALL]]) {has_side_effect = true}
    // CHECK:      "hlo.collective_broadcast"(%[[IF]]) <{replica_groups = dense<[[0, 1]]>
    %0 = stablehlo.custom_call @somewhere(%x) {has_side_effect = true} : (tensor<8xf32>) -> tensor<8xf32>
    return %0 : tensor<8xf32>
  }
}

// -----

// Values of a loop stay split.
module attributes {mhlo.num_partitions = 2 : i32} {
  sdy.mesh @mesh = <["x"=2]>
  func.func @main(%x: tensor<8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>}, %n: tensor<i32>) -> tensor<8xf32> {
    %zero = stablehlo.constant dense<0> : tensor<i32>
    %one = stablehlo.constant dense<1> : tensor<i32>
    %r:2 = stablehlo.while(%i = %zero, %v = %x) : tensor<i32>, tensor<8xf32>
    // CHECK: hlo.while(%i = %zero, %v = %x) : tensor<i32>, tensor<4xf32>
    cond {
      %c = stablehlo.compare LT, %i, %n : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %c : tensor<i1>
    } do {
      %j = stablehlo.add %i, %one : tensor<i32>
      // CHECK: hlo.add %v, %v : tensor<4xf32>
      %w = stablehlo.add %v, %v : tensor<8xf32>
      stablehlo.return %j, %w : tensor<i32>, tensor<8xf32>
    }
    return %r#1 : tensor<8xf32>
  }
}

// -----

// Both operands of a product are split, along axes that go together; the contracted dimension as in the other operand.
module attributes {mhlo.num_partitions = 4 : i32} {
  sdy.mesh @mesh = <["x"=2, "y"=2]>
  // CHECK-LABEL: func.func @main(%a: tensor<4x4xf32>, %b: tensor<4x3xf32>, %c: tensor<6x2xf32>)
  func.func @main(%a: tensor<8x4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}, %b: tensor<4x6xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"y"}]>}, %c: tensor<6x2xf32>) -> tensor<8x2xf32> {
    // CHECK: %[[C:.*]] = hlo.dynamic_slice %c, {{.*}}, sizes = [3, 2]
    // CHECK: %[[AB:.*]] = hlo.dot_general %a, %b, {{.*}} : (tensor<4x4xf32>, tensor<4x3xf32>) -> tensor<4x3xf32>
    %0 = stablehlo.dot_general %a, %b, contracting_dims = [1] x [0] : (tensor<8x4xf32>, tensor<4x6xf32>) -> tensor<8x6xf32>
    // CHECK: %[[ABC:.*]] = hlo.dot_general %[[AB]], %[[C]], {{.*}} : (tensor<4x3xf32>, tensor<3x2xf32>) -> tensor<4x2xf32>
    // CHECK: "hlo.all_reduce"(%[[ABC]]) <{replica_groups = dense<[[0, 1], [2, 3]]>
    %1 = stablehlo.dot_general %0, %c, contracting_dims = [1] x [0] : (tensor<8x6xf32>, tensor<6x2xf32>) -> tensor<8x2xf32>
    return %1 : tensor<8x2xf32>
  }
}

// -----

// A merged dimension is split as its outermost one; an inner one is gathered first.
module attributes {mhlo.num_partitions = 2 : i32} {
  sdy.mesh @mesh = <["x"=2]>
  // CHECK-LABEL: func.func @main(%a: tensor<2x6xf32>, %b: tensor<4x3xf32>)
  func.func @main(%a: tensor<4x6xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}, %b: tensor<4x6xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"x"}]>}) -> (tensor<24xf32>, tensor<24xf32>) {
    // CHECK-DAG: hlo.reshape %a : (tensor<2x6xf32>) -> tensor<12xf32>
    // CHECK-DAG: %[[B:.*]] = "hlo.all_gather"(%b)
    // CHECK-DAG: hlo.reshape %[[B]] : (tensor<4x6xf32>) -> tensor<24xf32>
    %0 = stablehlo.reshape %a : (tensor<4x6xf32>) -> tensor<24xf32>
    %1 = stablehlo.reshape %b : (tensor<4x6xf32>) -> tensor<24xf32>
    return %0, %1 : tensor<24xf32>, tensor<24xf32>
  }
}

// -----

// The result of a sum over devices is whole on each, and may be split again.
module attributes {mhlo.num_partitions = 2 : i32} {
  sdy.mesh @mesh = <["x"=2]>
  // CHECK-LABEL: func.func @main(%a: tensor<4x4xf32>) -> (tensor<2x4xf32>, tensor<4xf32>)
  func.func @main(%a: tensor<8x4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}) -> (tensor<4x4xf32>, tensor<4xf32>) {
    // CHECK:      %[[PART:.*]] = hlo.dot_general %a, %a
    // CHECK-NEXT: %[[ALL:.*]] = "hlo.all_reduce"(%[[PART]])
    // CHECK:      %[[SPLIT:.*]] = hlo.dynamic_slice %[[ALL]], {{.*}}, sizes = [2, 4]
    %0 = stablehlo.dot_general %a, %a, contracting_dims = [0] x [0] : (tensor<8x4xf32>, tensor<8x4xf32>) -> tensor<4x4xf32>
    %1 = sdy.sharding_constraint %0 <@mesh, [{"x"}, {}]> : tensor<4x4xf32>
    %zero = stablehlo.constant dense<0.0> : tensor<f32>
    // CHECK:      "hlo.sort"(%[[ALL]])
    %2 = "stablehlo.sort"(%1) ({
    ^bb0(%x: tensor<f32>, %y: tensor<f32>):
      %c = stablehlo.compare LT, %x, %y : (tensor<f32>, tensor<f32>) -> tensor<i1>
      stablehlo.return %c : tensor<i1>
    }) {dimension = 0 : i64} : (tensor<4x4xf32>) -> tensor<4x4xf32>
    %3 = stablehlo.reduce(%2 init: %zero) applies stablehlo.add across dimensions = [1] : (tensor<4x4xf32>, tensor<f32>) -> tensor<4xf32>
    return %1, %3 : tensor<4x4xf32>, tensor<4xf32>
  }
}
