// RUN: hlo-opt %s --split-input-file --propagate-shardings --verify-diagnostics | filecheck %s

// Forwards through a product, backwards into an argument without a sharding; the results take what comes.
module attributes {mhlo.num_partitions = 4 : i32} {
  sdy.mesh @mesh = <["a"=2, "b"=2]>
  // CHECK-LABEL: func.func @main
  // CHECK-SAME: %w: tensor<6x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"b"}, {}]>}
  // CHECK-SAME: -> (tensor<4x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"a"}, {}]>}, tensor<6x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"b"}, {}]>})
  func.func @main(%x: tensor<4x6xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"a"}, {"b"}]>}, %w: tensor<6x8xf32>) -> (tensor<4x8xf32>, tensor<6x8xf32>) {
    // CHECK: hlo.dot_general {{.*}}sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"a"}, {}]>]>
    %0 = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0] : (tensor<4x6xf32>, tensor<6x8xf32>) -> tensor<4x8xf32>
    // CHECK: hlo.reverse {{.*}}sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"b"}, {}]>]>
    %1 = stablehlo.reverse %w, dims = [0] : tensor<6x8xf32>
    return %0, %1 : tensor<4x8xf32>, tensor<6x8xf32>
  }
}

// -----

// An open dimension of a constraint is split as its operand; a closed one is not.
module attributes {mhlo.num_partitions = 4 : i32} {
  sdy.mesh @mesh = <["a"=2, "b"=2]>
  // CHECK-LABEL: func.func @main
  // CHECK-SAME: -> (tensor<4x6xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"a"}, {}]>})
  func.func @main(%x: tensor<4x6xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"a"}, {"b"}]>}) -> tensor<4x6xf32> {
    // CHECK: sdy.sharding_constraint %x <@mesh, [{"a"}, {}]>
    %0 = sdy.sharding_constraint %x <@mesh, [{?}, {}]> : tensor<4x6xf32>
    return %0 : tensor<4x6xf32>
  }
}

// -----

// Parts of an axis pass between dimensions that a reshape divides, but not out of the program.
module attributes {mhlo.num_partitions = 4 : i32} {
  sdy.mesh @mesh = <["a"=4]>
  // CHECK-LABEL: func.func @main
  // CHECK-SAME: -> (tensor<2x4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {}]>}, tensor<8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"a"}]>})
  func.func @main(%x: tensor<8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"a"}]>}) -> (tensor<2x4xf32>, tensor<8xf32>) {
    // CHECK: hlo.reshape %x {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"a":(1)2}, {"a":(2)2}]>]>}
    %0 = stablehlo.reshape %x : (tensor<8xf32>) -> tensor<2x4xf32>
    %1 = stablehlo.negate %0 : tensor<2x4xf32>
    %2 = stablehlo.reshape %1 : (tensor<2x4xf32>) -> tensor<8xf32>
    return %0, %2 : tensor<2x4xf32>, tensor<8xf32>
  }
}

// -----

// A custom call states its factors: the batch of matrices stays split.
module attributes {mhlo.num_partitions = 2 : i32} {
  sdy.mesh @mesh = <["a"=2]>
  // CHECK-LABEL: func.func @main
  // CHECK-SAME: -> (tensor<2x3x3xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"a"}, {}, {}]>})
  func.func @main(%x: tensor<2x3x3xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"a"}, {}, {}]>}) -> tensor<2x3x3xf32> {
    %0 = stablehlo.custom_call @somewhere(%x) {sdy.sharding_rule = #sdy.op_sharding_rule<([i, j, k])->([i, l, m]) {i=2, j=3, k=3, l=3, m=3}, custom>} : (tensor<2x3x3xf32>) -> tensor<2x3x3xf32>
    return %0 : tensor<2x3x3xf32>
  }
}

// -----

module attributes {mhlo.num_partitions = 2 : i32} {
  sdy.mesh @mesh = <["a"=2]>
  func.func @main(%x: tensor<2x3xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"a"}, {}]>}) -> tensor<2x3xf32> {
    // expected-error@+1 {{has a sharding rule that is wrong: sharding_rule: its operands have the shapes}}
    %0 = stablehlo.custom_call @somewhere(%x) {sdy.sharding_rule = #sdy.op_sharding_rule<([i])->([i]) {i=2}>} : (tensor<2x3xf32>) -> tensor<2x3xf32>
    return %0 : tensor<2x3xf32>
  }
}

// -----

module attributes {mhlo.num_partitions = 2 : i32} {
  sdy.mesh @mesh = <["a"=2]>
  func.func @main(%x: tensor<2x3xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"a"}, {}]>}) -> tensor<2x3xf32> {
    // expected-error@+1 {{has a sharding rule that is wrong: sharding_rule: the factor j has no size}}
    %0 = stablehlo.custom_call @somewhere(%x) {sdy.sharding_rule = #sdy.op_sharding_rule<([i, j])->([i, j]) {i=2}>} : (tensor<2x3xf32>) -> tensor<2x3xf32>
    return %0 : tensor<2x3xf32>
  }
}

// -----

module attributes {mhlo.num_partitions = 2 : i32} {
  sdy.mesh @mesh = <["a"=2]>
  func.func @main(%x: tensor<2x3xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"a"}, {}]>}) -> tensor<2x3xf32> {
    // expected-error@+1 {{has a sharding rule that is wrong: sharding_rule: a size has more than 18 digits}}
    %0 = stablehlo.custom_call @somewhere(%x) {sdy.sharding_rule = #sdy.op_sharding_rule<([i, j])->([i, j]) {i=2, j=9999999999999999999}>} : (tensor<2x3xf32>) -> tensor<2x3xf32>
    return %0 : tensor<2x3xf32>
  }
}
