// RUN: hlo-opt %s --fuse | filecheck %s

// Where a slice begins is computed by the kernel that reads or writes it; the updated tensor stays its first operand.

// CHECK-LABEL: func.func @main(
// CHECK:         hlo.fusion update (%[[X:.*]] = %x : tensor<9x5xf32>, %{{.*}} = %i : tensor<i32>, %{{.*}} = %u
// CHECK:           %[[K:.*]] = hlo.select
// CHECK:           hlo.dynamic_update_slice %[[X]], %{{.*}}, %[[K]]
// CHECK:         hlo.fusion loop (%{{.*}} = %m : tensor<3xi32>, %{{.*}} = %x
// CHECK:           hlo.multiply
// CHECK:           hlo.dynamic_slice
// CHECK-NOT:     hlo.fusion
func.func @main(%x: tensor<9x5xf32>, %u: tensor<1x5xf32>, %i: tensor<i32>, %m: tensor<3xi32>) -> (tensor<9x5xf32>, tensor<1x5xf32>) {
  %z = hlo.constant dense<0> : tensor<i32>
  %n = hlo.constant dense<9> : tensor<i32>
  %p = hlo.compare LT, %i, %z, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
  %j = hlo.add %i, %n : tensor<i32>
  %k = hlo.select %p, %j, %i : tensor<i1>, tensor<i32>
  %0 = hlo.dynamic_update_slice %x, %u, %k, %z : (tensor<9x5xf32>, tensor<1x5xf32>, tensor<i32>, tensor<i32>) -> tensor<9x5xf32>
  %s = hlo.slice %m [1:2] : (tensor<3xi32>) -> tensor<1xi32>
  %t = hlo.reshape %s : (tensor<1xi32>) -> tensor<i32>
  %v = hlo.multiply %t, %t : tensor<i32>
  %2 = hlo.dynamic_slice %x, %v, %z, sizes = [1, 5] : (tensor<9x5xf32>, tensor<i32>, tensor<i32>) -> tensor<1x5xf32>
  %3 = hlo.sqrt %2 : tensor<1x5xf32>
  return %0, %3 : tensor<9x5xf32>, tensor<1x5xf32>
}
