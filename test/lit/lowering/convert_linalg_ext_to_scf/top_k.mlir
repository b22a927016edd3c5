// RUN: hlo-opt %s --fuse --lower=loops | filecheck %s

// The candidates of the segments of a long row are brought together before the last selection, whose loops compute no
// place by a division.
// CHECK-LABEL: func.func private @{{.*}}top_k{{.*}}_select_1(
// CHECK:         scf.for %[[SEGMENT:.*]] =
// CHECK:           scf.for
// CHECK:             memref.load %{{.*}} : memref<516xi32>
// CHECK:             memref.store %{{.*}} : memref<120xi32>
// CHECK:           scf.for
// CHECK:             memref.store %{{.*}} : memref<120xi32>
// CHECK-NOT:     arith.divui
// CHECK:         memref.load %{{.*}} : memref<120xi32>
// CHECK-NOT:     arith.divui
// CHECK:         func.return
func.func @main(%x: tensor<70000xf32>) -> (tensor<30xf32>, tensor<30xi32>) {
  %v, %i = chlo.top_k(%x, k = 30) : tensor<70000xf32> -> (tensor<30xf32>, tensor<30xi32>)
  func.return %v, %i : tensor<30xf32>, tensor<30xi32>
}
