// RUN: hlo-opt %s --split-input-file --verify-diagnostics

func.func @tokens_in_place_of_tensors(%t: !stablehlo.token) {
  // expected-error@+1 {{all_reduce_i1: operands have types (!hlo.token), expected tensors}}
  %0 = "stablehlo.all_reduce"(%t) ({
  ^bb0(%x: tensor<f32>, %y: tensor<f32>):
    stablehlo.return %x : tensor<f32>
  }) {replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>} : (!stablehlo.token) -> !stablehlo.token
  // expected-error@+1 {{reduce_scatter_i1: operands have types (!hlo.token), expected tensors}}
  %1 = "stablehlo.reduce_scatter"(%t) ({
  ^bb0(%x: tensor<f32>, %y: tensor<f32>):
    stablehlo.return %x : tensor<f32>
  }) {scatter_dimension = 0 : i64, replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>} : (!stablehlo.token) -> !stablehlo.token
  // expected-error@+1 {{all_to_all_i1: operands have types (!hlo.token), expected tensors}}
  %2 = "stablehlo.all_to_all"(%t) {split_dimension = 0 : i64, concat_dimension = 0 : i64, split_count = 2 : i64, replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>} : (!stablehlo.token) -> !stablehlo.token
  // expected-error@+1 {{collective_broadcast_i1: operands have types (!hlo.token), expected tensors}}
  %3 = "stablehlo.collective_broadcast"(%t) {replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>} : (!stablehlo.token) -> !stablehlo.token
  // expected-error@+1 {{collective_permute_i1: operands have types (!hlo.token), expected tensors}}
  %4 = "stablehlo.collective_permute"(%t) {source_target_pairs = dense<[[0, 1]]> : tensor<1x2xi64>} : (!stablehlo.token) -> !stablehlo.token
  return
}

// -----

func.func @sum_of_another_type(%x: tensor<4xf32>) {
  // expected-error@+1 {{cross_replica_sum_c3: result has type tensor<5xf32>, expected tensor<4xf32>}}
  %0 = "stablehlo.cross-replica-sum"(%x) {replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>} : (tensor<4xf32>) -> tensor<5xf32>
  return
}
