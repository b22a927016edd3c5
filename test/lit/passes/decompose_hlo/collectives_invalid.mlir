// RUN: hlo-opt %s --decompose-hlo --verify-diagnostics --split-input-file

// expected-error@+1 {{is for 2 replicas of 9223372036854775807 partitions: a program runs on one device at least, and on 1048576 at most}}
module attributes {mhlo.num_partitions = 9223372036854775807 : i64, mhlo.num_replicas = 2 : i32} {
  func.func @main(%a: tensor<4xf32>) -> tensor<8xf32> {
    %1 = "stablehlo.all_gather"(%a) {all_gather_dim = 0 : i64, replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>} : (tensor<4xf32>) -> tensor<8xf32>
    return %1 : tensor<8xf32>
  }
}

// -----

// expected-error@+1 {{is for 1 replicas of 0 partitions}}
module attributes {mhlo.num_partitions = 0 : i32} {
  func.func @main() -> tensor<ui32> {
    %0 = stablehlo.partition_id : tensor<ui32>
    return %0 : tensor<ui32>
  }
}
