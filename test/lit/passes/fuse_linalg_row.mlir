// RUN: hlo-opt %s --convert-hlo-to-linalg --fuse-linalg | filecheck %s

// What is expensive and needed by two loops is computed once and kept for the row.
// CHECK-LABEL: @expensive
// CHECK:         %[[E:[a-z0-9_]+]] = linalg.generic {{.*}} ins(%x : tensor<3x4xf32>)
// CHECK:           math.exp
// CHECK:         %[[S:[a-z0-9_]+]] = linalg.generic {{.*}}["parallel", "reduction"]} ins(%[[E]] :
// CHECK-SAME:    xhlo.loop_sizes = array<i64: 3, 4>
// CHECK:         linalg.generic {{.*}} ins(%[[S]], %[[E]] :
// CHECK-NOT:       math.exp
// CHECK:           arith.divf
func.func private @expensive(%x: tensor<3x4xf32>, %z: tensor<f32>) -> tensor<3x4xf32> attributes {hlo.kernel = "row", hlo.row_dims = 1 : i64} {
  %e = hlo.exponential %x : tensor<3x4xf32>
  %s = hlo.reduce(%e init: %z) applies hlo.add across dimensions = [1] : (tensor<3x4xf32>, tensor<f32>) -> tensor<3xf32>
  %b = hlo.broadcast_in_dim %s, dims = [0] : (tensor<3xf32>) -> tensor<3x4xf32>
  %r = hlo.divide %e, %b : tensor<3x4xf32>
  return %r : tensor<3x4xf32>
}

// What is cheap is computed in both: no third loop, no memory.
// CHECK-LABEL: @cheap
// CHECK:         %[[S:[a-z0-9_]+]] = linalg.generic {{.*}}["parallel", "reduction"]} ins(%x :
// CHECK:           %[[D:[0-9]+]] = arith.addf %[[X:[0-9]+]], %[[X]] : f32
// CHECK-NEXT:      arith.addf %{{[0-9]+}}, %[[D]] fastmath<reassoc> : f32
// CHECK:         linalg.generic {{.*}} ins(%x, %[[S]] :
// CHECK:           %[[D:[0-9]+]] = arith.addf %[[X:[0-9]+]], %[[X]] : f32
// CHECK-NEXT:      arith.subf %[[D]],
// CHECK-NOT:     linalg.generic
// CHECK:         func.return
func.func private @cheap(%x: tensor<3x4xf32>, %z: tensor<f32>) -> tensor<3x4xf32> attributes {hlo.kernel = "row", hlo.row_dims = 1 : i64} {
  %e = hlo.add %x, %x : tensor<3x4xf32>
  %s = hlo.reduce(%e init: %z) applies hlo.add across dimensions = [1] : (tensor<3x4xf32>, tensor<f32>) -> tensor<3xf32>
  %b = hlo.broadcast_in_dim %s, dims = [0] : (tensor<3xf32>) -> tensor<3x4xf32>
  %r = hlo.subtract %e, %b : tensor<3x4xf32>
  return %r : tensor<3x4xf32>
}
