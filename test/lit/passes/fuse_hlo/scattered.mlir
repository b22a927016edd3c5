// A scatter computes the indices and updates that it alone reads, and a constant that others read too.
// RUN: hlo-opt %s --fuse-hlo --fuse-remarks -o %t.mlir 2> %t.remarks
// RUN: filecheck %s < %t.mlir
// RUN: filecheck %s --check-prefix=REMARK < %t.remarks
// RUN: hlo-opt %s --fuse-hlo --fuse-hlo | filecheck %s
// RUN: hlo-opt %s --fuse-hlo=epilogues=dots | filecheck %s --check-prefix=APART

// REMARK: remark: fused hlo.convert into the custom fusion of hlo.scatter: saves 8000 bytes
// REMARK: remark: fused hlo.constant into the custom fusion of hlo.scatter: saves 8000 bytes
// CHECK-LABEL: func.func @bins
// CHECK:         hlo.fusion custom (%[[OUT:.*]] = %out : tensor<10xi32>, %{{.*}} = %x : tensor<1000xf32>)
// CHECK:           %[[FLOOR:.*]] = hlo.convert
// CHECK:           %[[I:.*]] = hlo.reshape %[[FLOOR]]
// CHECK:           "hlo.scatter"(%[[OUT]], %[[I]], %
// APART-LABEL: func.func @bins
// APART:         hlo.fusion loop
// APART:           hlo.convert
// APART:         hlo.fusion custom
// APART-NEXT:      "hlo.scatter"
func.func @bins(%x: tensor<1000xf32>, %out: tensor<10xi32>) -> tensor<10xi32> {
  %0 = hlo.floor %x : tensor<1000xf32>
  %1 = hlo.convert %0 : (tensor<1000xf32>) -> tensor<1000xi32>
  %2 = hlo.reshape %1 : (tensor<1000xi32>) -> tensor<1000x1xi32>
  %one = hlo.constant dense<1> : tensor<1000xi32>
  %3 = "hlo.scatter"(%out, %2, %one) <{scatter_dimension_numbers = #hlo.scatter<inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>}> ({
  ^bb0(%a: tensor<i32>, %b: tensor<i32>):
    %4 = hlo.add %a, %b : tensor<i32>
    hlo.return %4 : tensor<i32>
  }) : (tensor<10xi32>, tensor<1000x1xi32>, tensor<1000xi32>) -> tensor<10xi32>
  func.return %3 : tensor<10xi32>
}

// A scatter computes nothing from what it writes over, and no indices that are in memory anyway, as results.
// CHECK-LABEL: func.func @kept
// CHECK:         %[[ROWS:.*]] = hlo.fusion loop
// CHECK:           hlo.negate
// CHECK:         %[[TWICE:.*]] = hlo.fusion loop
// CHECK:           hlo.add
// CHECK:         %[[I:.*]] = hlo.reshape %[[TWICE]]
// CHECK-NEXT:    hlo.fusion custom ({{.*}} = %x : {{.*}} = %[[I]] : {{.*}} = %[[ROWS]] :
// CHECK-NEXT:      "hlo.scatter"
func.func @kept(%x: tensor<50xf32>, %i: tensor<50xi32>) -> (tensor<50xf32>, tensor<50xi32>) {
  %0 = hlo.negate %x : tensor<50xf32>
  %1 = hlo.add %i, %i : tensor<50xi32>
  %2 = hlo.reshape %1 : (tensor<50xi32>) -> tensor<50x1xi32>
  %3 = "hlo.scatter"(%x, %2, %0) <{scatter_dimension_numbers = #hlo.scatter<inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %4 = hlo.add %a, %b : tensor<f32>
    hlo.return %4 : tensor<f32>
  }) : (tensor<50xf32>, tensor<50x1xi32>, tensor<50xf32>) -> tensor<50xf32>
  func.return %3, %1 : tensor<50xf32>, tensor<50xi32>
}

// Several threads compute exponentials for the one that combines them. Each row would compute the indices again.
// REMARK: remark: not fused hlo.exponential with hlo.scatter: several threads compute it, and one combines the updates
// CHECK-LABEL: func.func @many
// CHECK:         hlo.fusion loop
// CHECK:           hlo.exponential
// CHECK:         hlo.fusion custom
// CHECK-NEXT:      "hlo.scatter"
func.func @many(%x: tensor<20000xf32>, %i: tensor<20000x1xi32>, %out: tensor<9000xf32>) -> tensor<9000xf32> {
  %0 = hlo.exponential %x : tensor<20000xf32>
  %1 = "hlo.scatter"(%out, %i, %0) <{scatter_dimension_numbers = #hlo.scatter<inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %2 = hlo.add %a, %b : tensor<f32>
    hlo.return %2 : tensor<f32>
  }) : (tensor<9000xf32>, tensor<20000x1xi32>, tensor<20000xf32>) -> tensor<9000xf32>
  func.return %1 : tensor<9000xf32>
}

// REMARK: remark: not fused hlo.subtract with hlo.scatter: would be recomputed 6x
// CHECK-LABEL: func.func @columns
// CHECK:         hlo.fusion loop
// CHECK:           hlo.subtract
// CHECK:         hlo.fusion custom
// CHECK-NEXT:      "hlo.scatter"
func.func @columns(%i: tensor<30x1xi32>, %j: tensor<30x1xi32>, %u: tensor<6x30xf32>, %out: tensor<6x9xf32>) -> tensor<6x9xf32> {
  %0 = hlo.add %i, %j : tensor<30x1xi32>
  %1 = hlo.subtract %0, %j : tensor<30x1xi32>
  %2 = "hlo.scatter"(%out, %1, %u) <{scatter_dimension_numbers = #hlo.scatter<update_window_dims = [0], inserted_window_dims = [1], scatter_dims_to_operand_dims = [1], index_vector_dim = 1>}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %3 = hlo.add %a, %b : tensor<f32>
    hlo.return %3 : tensor<f32>
  }) : (tensor<6x9xf32>, tensor<30x1xi32>, tensor<6x30xf32>) -> tensor<6x9xf32>
  func.return %2 : tensor<6x9xf32>
}

// Cheap indices of two scatters are computed in both, and constants in each that reads them.
// REMARK: remark: fused hlo.subtract into the custom fusion of hlo.scatter: saves 3200 bytes
// CHECK-LABEL: func.func @both
// CHECK-NOT:     hlo.fusion loop
// CHECK:         hlo.fusion custom
// CHECK:           hlo.subtract
// CHECK:         hlo.fusion custom
// CHECK:           hlo.subtract
// CHECK:         func.return
func.func @both(%i: tensor<400xi32>, %j: tensor<400xi32>, %u: tensor<400xf32>, %x: tensor<9xf32>, %y: tensor<9xf32>) -> (tensor<9xf32>, tensor<9xf32>) {
  %c = hlo.constant dense<3> : tensor<400xi32>
  %0 = hlo.subtract %i, %c : tensor<400xi32>
  %1 = hlo.reshape %0 : (tensor<400xi32>) -> tensor<400x1xi32>
  %one = hlo.constant dense<1.0> : tensor<400xf32>
  %2 = "hlo.scatter"(%x, %1, %u) <{scatter_dimension_numbers = #hlo.scatter<inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %3 = hlo.add %a, %b : tensor<f32>
    hlo.return %3 : tensor<f32>
  }) : (tensor<9xf32>, tensor<400x1xi32>, tensor<400xf32>) -> tensor<9xf32>
  %4 = "hlo.scatter"(%y, %1, %one) <{scatter_dimension_numbers = #hlo.scatter<inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %5 = hlo.add %a, %b : tensor<f32>
    hlo.return %5 : tensor<f32>
  }) : (tensor<9xf32>, tensor<400x1xi32>, tensor<400xf32>) -> tensor<9xf32>
  func.return %2, %4 : tensor<9xf32>, tensor<9xf32>
}
