// Broadcasts of what follows from indices and scalars alone are computed in the larger shape.
// RUN: hlo-opt %s --simplify-hlo --pass-statistics -o %t.mlir 2> %t.statistics
// RUN: filecheck %s < %t.mlir
// RUN: filecheck %s --check-prefix=STATISTICS < %t.statistics
// RUN: hlo-opt --print-rules | filecheck %s --check-prefix=RULES
// RUN: hlo-opt %s --fuse | filecheck %s --check-prefix=FUSED

// STATISTICS: broadcast-of-counts
// RULES: broadcast-of-counts

// CHECK-LABEL: func.func @mask
// CHECK-NEXT:    %[[I:.*]] = hlo.iota dim = 1 : tensor<2x8x8xi32>
// CHECK-NEXT:    %[[P:.*]] = hlo.broadcast_in_dim %p, dims = [] : (tensor<i32>) -> tensor<2x8x8xi32>
// CHECK-NEXT:    %[[S:.*]] = hlo.add %[[I]], %[[P]]
// CHECK-NEXT:    %[[J:.*]] = hlo.iota dim = 2 : tensor<2x8x8xi32>
// CHECK-NEXT:    %[[M:.*]] = hlo.compare GE, %[[S]], %[[J]]
// CHECK:         hlo.select %[[M]], %x
func.func @mask(%x: tensor<2x8x8xf32>, %p: tensor<i32>) -> tensor<2x8x8xf32> {
  %i = hlo.iota dim = 0 : tensor<8x8xi32>
  %j = hlo.iota dim = 1 : tensor<8x8xi32>
  %o = hlo.broadcast_in_dim %p, dims = [] : (tensor<i32>) -> tensor<8x8xi32>
  %s = hlo.add %i, %o : tensor<8x8xi32>
  %c = hlo.compare GE, %s, %j, SIGNED : (tensor<8x8xi32>, tensor<8x8xi32>) -> tensor<8x8xi1>
  %m = hlo.broadcast_in_dim %c, dims = [1, 2] : (tensor<8x8xi1>) -> tensor<2x8x8xi1>
  %low = hlo.constant dense<-1.0e+30> : tensor<2x8x8xf32>
  %0 = hlo.select %m, %x, %low : tensor<2x8x8xi1>, tensor<2x8x8xf32>
  func.return %0 : tensor<2x8x8xf32>
}

// Indices of one dimension, and dimensions of size 1, are indices of the larger shape too.

// CHECK-LABEL: func.func @grown
// CHECK-NEXT:    %[[J:.*]] = hlo.iota dim = 3 : tensor<1x2x8x8xi32>
// CHECK-NEXT:    %[[I:.*]] = hlo.iota dim = 2 : tensor<1x2x8x8xi32>
// CHECK-NEXT:    %[[O:.*]] = hlo.constant dense<4> : tensor<1x2x8x8xi32>
// CHECK-NEXT:    %[[S:.*]] = hlo.add %[[I]], %[[O]]
// CHECK-NEXT:    %[[M:.*]] = hlo.compare LE, %[[J]], %[[S]]
// CHECK:         hlo.select %[[M]], %x
// STATISTICS: reshape-of-counts
func.func @grown(%x: tensor<1x2x8x8xf32>) -> tensor<1x2x8x8xf32> {
  %i = hlo.iota dim = 0 : tensor<8xi32>
  %column = hlo.reshape %i : (tensor<8xi32>) -> tensor<8x1xi32>
  %four = hlo.constant dense<4> : tensor<8x1xi32>
  %s = hlo.add %column, %four : tensor<8x1xi32>
  %rows = hlo.broadcast_in_dim %s, dims = [0, 1] : (tensor<8x1xi32>) -> tensor<8x8xi32>
  %columns = hlo.broadcast_in_dim %i, dims = [1] : (tensor<8xi32>) -> tensor<8x8xi32>
  %c = hlo.compare LE, %columns, %rows, SIGNED : (tensor<8x8xi32>, tensor<8x8xi32>) -> tensor<8x8xi1>
  %b = hlo.broadcast_in_dim %c, dims = [1, 2] : (tensor<8x8xi1>) -> tensor<2x8x8xi1>
  %m = hlo.reshape %b : (tensor<2x8x8xi1>) -> tensor<1x2x8x8xi1>
  %low = hlo.constant dense<-1.0e+30> : tensor<1x2x8x8xf32>
  %0 = hlo.select %m, %x, %low : tensor<1x2x8x8xi1>, tensor<1x2x8x8xf32>
  func.return %0 : tensor<1x2x8x8xf32>
}

// Not if the larger tensor goes to memory, or the value is not known from indices.

// CHECK-LABEL: func.func @kept
// CHECK:         hlo.compare {{.*}} -> tensor<8x8xi1>
// CHECK:         hlo.broadcast_in_dim {{.*}} -> tensor<2x8x8xi1>
// CHECK:         hlo.compare {{.*}} -> tensor<8x8xi1>
// CHECK:         hlo.broadcast_in_dim {{.*}} -> tensor<2x8x8xi1>
func.func @kept(%x: tensor<2x8x8xf32>, %y: tensor<8x8xi32>) -> (tensor<2x8x8xi1>, tensor<2x8x8xf32>) {
  %i = hlo.iota dim = 0 : tensor<8x8xi32>
  %j = hlo.iota dim = 1 : tensor<8x8xi32>
  %c = hlo.compare GE, %i, %j, SIGNED : (tensor<8x8xi32>, tensor<8x8xi32>) -> tensor<8x8xi1>
  %m = hlo.broadcast_in_dim %c, dims = [1, 2] : (tensor<8x8xi1>) -> tensor<2x8x8xi1>
  %d = hlo.compare GE, %i, %y, SIGNED : (tensor<8x8xi32>, tensor<8x8xi32>) -> tensor<8x8xi1>
  %n = hlo.broadcast_in_dim %d, dims = [1, 2] : (tensor<8x8xi1>) -> tensor<2x8x8xi1>
  %low = hlo.constant dense<-1.0e+30> : tensor<2x8x8xf32>
  %0 = hlo.select %n, %x, %low : tensor<2x8x8xi1>, tensor<2x8x8xf32>
  func.return %m, %0 : tensor<2x8x8xi1>, tensor<2x8x8xf32>
}

// Each row fusion compares the indices again, instead of reading another one's comparison.

// FUSED-LABEL: func.func @rows
// FUSED:         hlo.fusion row<2> ({{[^()]*}}) -> tensor<2x8x8xf32> {
// FUSED:           hlo.compare GE
// FUSED:         hlo.fusion row<2> ({{[^()]*}}) -> tensor<2x8x8xf32> {
// FUSED:           hlo.compare GE
func.func @rows(%x: tensor<2x8x8xf32>) -> (tensor<2x8x8xf32>, tensor<2x8x8xf32>) {
  %zero = hlo.constant dense<0.0> : tensor<f32>
  %i = hlo.iota dim = 0 : tensor<8x8xi32>
  %j = hlo.iota dim = 1 : tensor<8x8xi32>
  %c = hlo.compare GE, %i, %j, SIGNED : (tensor<8x8xi32>, tensor<8x8xi32>) -> tensor<8x8xi1>
  %m = hlo.broadcast_in_dim %c, dims = [1, 2] : (tensor<8x8xi1>) -> tensor<2x8x8xi1>
  %low = hlo.constant dense<-1.0> : tensor<2x8x8xf32>
  %0 = hlo.select %m, %x, %low : tensor<2x8x8xi1>, tensor<2x8x8xf32>
  %1 = hlo.reduce(%0 init: %zero) applies hlo.add across dimensions = [2] : (tensor<2x8x8xf32>, tensor<f32>) -> tensor<2x8xf32>
  %2 = hlo.broadcast_in_dim %1, dims = [0, 1] : (tensor<2x8xf32>) -> tensor<2x8x8xf32>
  %3 = hlo.subtract %0, %2 : tensor<2x8x8xf32>
  %4 = "hlo.sort"(%3) <{dimension = 2 : i64, is_stable = true}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %5 = hlo.compare LT, %a, %b, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
    hlo.return %5 : tensor<i1>
  }) : (tensor<2x8x8xf32>) -> tensor<2x8x8xf32>
  %6 = hlo.select %m, %4, %low : tensor<2x8x8xi1>, tensor<2x8x8xf32>
  %7 = hlo.reduce(%6 init: %zero) applies hlo.add across dimensions = [2] : (tensor<2x8x8xf32>, tensor<f32>) -> tensor<2x8xf32>
  %8 = hlo.broadcast_in_dim %7, dims = [0, 1] : (tensor<2x8xf32>) -> tensor<2x8x8xf32>
  %9 = hlo.subtract %6, %8 : tensor<2x8x8xf32>
  func.return %3, %9 : tensor<2x8x8xf32>, tensor<2x8x8xf32>
}
