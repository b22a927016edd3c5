// RUN: hlo-opt %s --decompose-hlo | filecheck %s

// Dimensions that only one operand has are summed before the product.
// CHECK-LABEL: func.func @dots
// CHECK:         %[[SUM:.*]] = hlo.reduce(%a init: %{{.*}}) applies hlo.add across dimensions = [2]
// CHECK:         %[[DOT:.*]] = hlo.dot_general %[[SUM]], %b, contracting_dims = [1] x [0]
// CHECK:         hlo.transpose %[[DOT]], dims = [1, 0]
// CHECK:         hlo.dot_general %b, %v, contracting_dims = [1] x [0], precision = [HIGH, HIGH]
func.func @dots(%a: tensor<2x3x2xf32>, %b: tensor<3x4xf32>, %v: tensor<4xf32>) -> (tensor<4x2xf32>, tensor<3xf32>) {
  %0 = hlo.einsum %a, %b, config = "abx,bc->ca" : (tensor<2x3x2xf32>, tensor<3x4xf32>) -> tensor<4x2xf32>
  %1 = hlo.dot %b, %v, precision = [HIGH, HIGH] : (tensor<3x4xf32>, tensor<4xf32>) -> tensor<3xf32>
  return %0, %1 : tensor<4x2xf32>, tensor<3xf32>
}

// Mean and variance are sums; the vectors are combined before they are broadcast.
// CHECK-LABEL: func.func @normalized
// CHECK:         %[[X:.*]] = hlo.convert %x : (tensor<5x4xbf16>) -> tensor<5x4xf32>
// CHECK:         hlo.reduce(%[[X]] init: %{{.*}}) applies hlo.add across dimensions = [0]
// CHECK:         %[[VARIANCE:.*]] = hlo.divide
// CHECK:         hlo.sqrt %{{.*}} : tensor<4xf32>
// CHECK:         %[[FACTOR:.*]] = hlo.divide %{{.*}} : tensor<4xf32>
// CHECK:         hlo.broadcast_in_dim %[[FACTOR]], dims = [1]
// CHECK-NOT:     hlo.batch_norm_training
func.func @normalized(%x: tensor<5x4xbf16>, %s: tensor<4xbf16>) -> (tensor<5x4xbf16>, tensor<4xbf16>, tensor<4xbf16>) {
  %0:3 = "hlo.batch_norm_training"(%x, %s, %s) <{epsilon = 0.001 : f32, feature_index = 1 : i64}> : (tensor<5x4xbf16>, tensor<4xbf16>, tensor<4xbf16>) -> (tensor<5x4xbf16>, tensor<4xbf16>, tensor<4xbf16>)
  return %0#0, %0#1, %0#2 : tensor<5x4xbf16>, tensor<4xbf16>, tensor<4xbf16>
}
