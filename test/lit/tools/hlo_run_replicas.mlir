// RUN: hlo-run %s --target=reference --num-replicas=2 | filecheck %s
// RUN: hlo-run %s --num-replicas=2 | filecheck %s
// RUN: not hlo-run %s --target=reference --num-replicas=1 --num-partitions=2 2>&1 | filecheck %s --check-prefix=GRID
// RUN: not hlo-run %s --num-partitions=2 2>&1 | filecheck %s --check-prefix=GRID
// RUN: not hlo-run %s --num-replicas=2 --repeat=2 2>&1 | filecheck %s --check-prefix=USAGE
// RUN: not hlo-run %s --target=reference 2>&1 | filecheck %s --check-prefix=ALONE
// RUN: not hlo-run %s 2>&1 | filecheck %s --check-prefix=CPU

// CHECK:      replica 0, partition 0
// CHECK-NEXT: result 0: uint32[2]
// CHECK-NEXT: [0, 1]
// CHECK-NEXT: replica 1, partition 0
// CHECK-NEXT: result 0: uint32[2]
// CHECK-NEXT: [0, 1]
// GRID: error: 'stablehlo.all_gather' op all_gather_c3: it names processes 0..1 (2), cross_replica has 1 on this grid
// USAGE: hlo-run: error: --repeat is for programs of one process
// ALONE: error: 'stablehlo.all_gather' op is not supported by the reference interpreter: several processes exchange data
// CPU: error: 'stablehlo.all_gather' op is not supported: several processes exchange data
func.func @main() -> tensor<2xui32> {
  %0 = stablehlo.replica_id : tensor<ui32>
  %1 = stablehlo.reshape %0 : (tensor<ui32>) -> tensor<1xui32>
  %2 = "stablehlo.all_gather"(%1) {all_gather_dim = 0 : i64, replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>} : (tensor<1xui32>) -> tensor<2xui32>
  return %2 : tensor<2xui32>
}
