// RUN: hlo-opt %s --simplify-hlo --split-input-file | filecheck %s

// Small constants are computed; splats stay splats at any size.

// CHECK-LABEL: func.func @constants
// CHECK-DAG: hlo.constant dense<[4, 6]> : tensor<2xi32>
// CHECK-DAG: hlo.constant dense<5.0{{.*}}> : tensor<1000000xf32>
// CHECK-NOT: hlo.add
func.func @constants() -> (tensor<2xi32>, tensor<1000000xf32>) {
  %0 = hlo.constant dense<[1, 2]> : tensor<2xi32>
  %1 = hlo.constant dense<[3, 4]> : tensor<2xi32>
  %2 = hlo.add %0, %1 : tensor<2xi32>
  %3 = hlo.constant dense<2.0> : tensor<f32>
  %4 = hlo.broadcast_in_dim %3, dims = [] : (tensor<f32>) -> tensor<1000000xf32>
  %5 = hlo.constant dense<3.0> : tensor<1000000xf32>
  %6 = hlo.add %4, %5 : tensor<1000000xf32>
  return %2, %6 : tensor<2xi32>, tensor<1000000xf32>
}

// -----

// x + 0.0 changes -0.0, and stays; -inf is neutral for the maximum.

// CHECK-LABEL: func.func @identities
// CHECK-SAME: (%[[X:.*]]: tensor<4xf32>, %[[I:.*]]: tensor<4xi32>)
// CHECK: %[[S:.*]] = hlo.add %[[X]]
// CHECK-NOT: hlo.
// CHECK: func.return %[[S]], %[[I]], %[[X]]
func.func @identities(%x: tensor<4xf32>, %i: tensor<4xi32>) -> (tensor<4xf32>, tensor<4xi32>, tensor<4xf32>) {
  %0 = hlo.constant dense<0.0> : tensor<4xf32>
  %1 = hlo.add %x, %0 : tensor<4xf32>
  %2 = hlo.constant dense<0> : tensor<4xi32>
  %3 = hlo.add %i, %2 : tensor<4xi32>
  %4 = hlo.constant dense<0xFF800000> : tensor<4xf32>
  %5 = hlo.maximum %4, %x : tensor<4xf32>
  return %1, %3, %5 : tensor<4xf32>, tensor<4xi32>, tensor<4xf32>
}

// -----

// A conversion that loses nothing melts into the next; one that rounds stays.

// CHECK-LABEL: func.func @conversions
// CHECK-SAME: (%[[X:.*]]: tensor<f16>, %[[Y:.*]]: tensor<f32>)
// CHECK-NEXT: %[[D:.*]] = hlo.convert %[[X]] : (tensor<f16>) -> tensor<f64>
// CHECK-NEXT: %[[H:.*]] = hlo.convert %[[Y]] : (tensor<f32>) -> tensor<f16>
// CHECK-NEXT: %[[W:.*]] = hlo.convert %[[H]] : (tensor<f16>) -> tensor<f32>
// CHECK-NEXT: func.return %[[D]], %[[X]], %[[W]]
func.func @conversions(%x: tensor<f16>, %y: tensor<f32>) -> (tensor<f64>, tensor<f16>, tensor<f32>) {
  %0 = hlo.convert %x : (tensor<f16>) -> tensor<f32>
  %1 = hlo.convert %0 : (tensor<f32>) -> tensor<f64>
  %2 = hlo.convert %0 : (tensor<f32>) -> tensor<f16>
  %3 = hlo.convert %y : (tensor<f32>) -> tensor<f16>
  %4 = hlo.convert %3 : (tensor<f16>) -> tensor<f32>
  return %1, %2, %4 : tensor<f64>, tensor<f16>, tensor<f32>
}

// -----

// Floats saturate where integers wrap around: -1 becomes 0 through f32, but 4294967295 at once.

// CHECK-LABEL: func.func @through_floats
// CHECK-NEXT: %[[F:.*]] = hlo.convert %x : (tensor<i16>) -> tensor<f32>
// CHECK-NEXT: hlo.convert %[[F]] : (tensor<f32>) -> tensor<ui32>
// CHECK-NEXT: hlo.convert %x : (tensor<i16>) -> tensor<i32>
func.func @through_floats(%x: tensor<i16>) -> (tensor<ui32>, tensor<i32>) {
  %0 = hlo.convert %x : (tensor<i16>) -> tensor<f32>
  %1 = hlo.convert %0 : (tensor<f32>) -> tensor<ui32>
  %2 = hlo.convert %0 : (tensor<f32>) -> tensor<i32>
  return %1, %2 : tensor<ui32>, tensor<i32>
}

// -----

// The gradient of a relu reads the relu, which is there already, wherever the comparison is written.

// CHECK-LABEL: func.func @relu
// CHECK-SAME: (%[[X:.*]]: tensor<4xf32>, %[[Y:.*]]: tensor<4xf32>, %[[G:.*]]: tensor<4xf32>)
// CHECK: %[[A:.*]] = hlo.tanh %[[X]]
// CHECK: %[[H:.*]] = hlo.maximum %[[A]]
// CHECK: hlo.compare GT, %[[H]]
// CHECK: %[[B:.*]] = hlo.tanh %[[Y]]
// CHECK: %[[L:.*]] = hlo.minimum %{{.*}}, %[[B]]
// CHECK: hlo.compare GT, %{{.*}}, %[[L]]
func.func @relu(%x: tensor<4xf32>, %y: tensor<4xf32>, %g: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) {
  %zero = hlo.constant dense<0.0> : tensor<4xf32>
  %a = hlo.tanh %x : tensor<4xf32>
  %p = hlo.compare GT, %a, %zero, FLOAT : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xi1>
  %h = hlo.maximum %a, %zero : tensor<4xf32>
  %d = hlo.select %p, %g, %zero : tensor<4xi1>, tensor<4xf32>
  %b = hlo.tanh %y : tensor<4xf32>
  %six = hlo.constant dense<6.0> : tensor<4xf32>
  %l = hlo.minimum %six, %b : tensor<4xf32>
  %q = hlo.compare GT, %six, %b, FLOAT : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xi1>
  %e = hlo.select %q, %g, %zero : tensor<4xi1>, tensor<4xf32>
  return %h, %d, %l, %e : tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>
}

// -----

// Another bound, the total order, in which NaN may be above it, and other uses of the operand: as it was.

// CHECK-LABEL: func.func @not_relu
// CHECK: %[[A:.*]] = hlo.tanh
// CHECK: hlo.compare GT, %[[A]]
// CHECK: %[[B:.*]] = hlo.tanh
// CHECK: hlo.compare GT, %[[B]]
// CHECK: %[[C:.*]] = hlo.tanh
// CHECK: hlo.compare GT, %[[C]]
// CHECK: %[[D:.*]] = hlo.tanh
// CHECK: hlo.compare GE, %[[D]]
func.func @not_relu(%x: tensor<4xf32>, %y: tensor<4xf32>, %z: tensor<4xf32>, %w: tensor<4xf32>) -> (tensor<4xi1>, tensor<4xi1>, tensor<4xi1>, tensor<4xi1>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) {
  %zero = hlo.constant dense<0.0> : tensor<4xf32>
  %one = hlo.constant dense<1.0> : tensor<4xf32>
  %a = hlo.tanh %x : tensor<4xf32>
  %p = hlo.compare GT, %a, %one : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xi1>
  %g = hlo.maximum %a, %zero : tensor<4xf32>
  %b = hlo.tanh %y : tensor<4xf32>
  %q = hlo.compare GT, %b, %zero, TOTALORDER : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xi1>
  %h = hlo.maximum %b, %zero : tensor<4xf32>
  %c = hlo.tanh %z : tensor<4xf32>
  %r = hlo.compare GT, %c, %zero : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xi1>
  %i = hlo.maximum %c, %zero : tensor<4xf32>
  %d = hlo.tanh %w : tensor<4xf32>
  %s = hlo.compare GE, %d, %zero : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xi1>
  %j = hlo.maximum %d, %zero : tensor<4xf32>
  return %p, %q, %r, %s, %g, %h, %i, %c, %j : tensor<4xi1>, tensor<4xi1>, tensor<4xi1>, tensor<4xi1>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>
}

// -----

// Elementary functions are computed once for each element that is repeated; additions, sums of two, and what is repeated
// nowhere stay as they were.

// CHECK-LABEL: func.func @repeated
// CHECK-SAME: (%[[X:.*]]: tensor<8x16xf32>
// CHECK: %[[E:.*]] = hlo.exponential %[[X]] : tensor<8x16xf32>
// CHECK: hlo.broadcast_in_dim %[[E]], dims = [1, 2] : (tensor<8x16xf32>) -> tensor<4x8x16xf32>
// CHECK: hlo.reshape %{{.*}} : (tensor<4x8x16xf32>) -> tensor<32x16xf32>
// CHECK: hlo.divide %{{.*}}, %{{.*}} : tensor<8x16xf32>
// CHECK: hlo.negate %{{.*}} : tensor<4x8x16xf32>
// CHECK: hlo.divide %{{.*}}, %{{.*}} : tensor<4x8x16xf32>
// CHECK: hlo.exponential %{{.*}} : tensor<16x8xf32>
func.func @repeated(%x: tensor<8x16xf32>, %z: tensor<4x8x16xf32>) -> (tensor<32x16xf32>, tensor<4x8x16xf32>, tensor<4x8x16xf32>, tensor<4x8x16xf32>, tensor<16x8xf32>) {
  %0 = hlo.broadcast_in_dim %x, dims = [1, 2] : (tensor<8x16xf32>) -> tensor<4x8x16xf32>
  %1 = hlo.reshape %0 : (tensor<4x8x16xf32>) -> tensor<32x16xf32>
  %2 = hlo.exponential %1 : tensor<32x16xf32>
  %3 = hlo.constant dense<3.0> : tensor<4x8x16xf32>
  %4 = hlo.divide %3, %0 : tensor<4x8x16xf32>
  %5 = hlo.negate %0 : tensor<4x8x16xf32>
  %6 = hlo.divide %0, %z : tensor<4x8x16xf32>
  %7 = hlo.broadcast_in_dim %x, dims = [1, 0] : (tensor<8x16xf32>) -> tensor<16x8xf32>
  %8 = hlo.exponential %7 : tensor<16x8xf32>
  return %2, %4, %5, %6, %8 : tensor<32x16xf32>, tensor<4x8x16xf32>, tensor<4x8x16xf32>, tensor<4x8x16xf32>, tensor<16x8xf32>
}
