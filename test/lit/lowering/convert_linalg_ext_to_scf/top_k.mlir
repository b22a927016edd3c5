// RUN: hlo-opt %s --fuse --lower=loops --split-input-file | filecheck %s

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

// -----

// What runs seldom or for few elements is written down once, without vectors: the ranks of few candidates, what fills
// the last block of candidates, the pieces of a block. How many keys are less than the last one is known where that is.
// CHECK-LABEL: func.func private @{{.*}}top_k{{.*}}_sort(
// CHECK:         scf.for
// CHECK:           scf.for
// CHECK:           } {xhlo.vectorize = false}
// CHECK:           scf.for
// CHECK:           } {xhlo.vectorize = false}
// CHECK-LABEL: func.func private @{{.*}}top_k{{.*}}_select(
// CHECK:         {xhlo.unroll = 1 : i64}
// CHECK-LABEL: func.func private @{{.*}}top_k{{.*}}_keep_first
// CHECK:         } {xhlo.vectorize = false}
// CHECK-NEXT:    arith.index_cast
// CHECK-NEXT:    %[[LAST:.*]]:3 = scf.for
// CHECK:         arith.extui %[[LAST]]#2 : i32 to i64
// CHECK:         scf.for
// CHECK-NOT:     scf.for
// CHECK:         func.return
func.func @main(%x: tensor<70000xf32>) -> (tensor<9xf32>, tensor<9xi32>) {
  %v, %i = chlo.top_k(%x, k = 9) : tensor<70000xf32> -> (tensor<9xf32>, tensor<9xi32>)
  func.return %v, %i : tensor<9xf32>, tensor<9xi32>
}
