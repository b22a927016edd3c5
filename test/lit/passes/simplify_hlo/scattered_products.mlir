// RUN: hlo-opt %s --simplify-hlo --split-input-file | filecheck %s

// Ten terms lie together in both factors: the second is moved in rows of five elements, the first is a matrix already.

// CHECK-LABEL: func.func @network
// CHECK-NEXT: %[[A:.*]] = hlo.reshape %a : (tensor<10x10x5x64xf32>) -> tensor<500x64xf32>
// CHECK-NEXT: %[[T:.*]] = hlo.transpose %b, dims = [1, 3, 0, 2, 4]
// CHECK-NEXT: %[[B:.*]] = hlo.reshape %[[T]] : (tensor<64x5x10x10x5xf32>) -> tensor<320x500xf32>
// CHECK-NEXT: %[[C:.*]] = hlo.dot_general %[[A]], %[[B]], contracting_dims = [0] x [1], precision = [DEFAULT, HIGHEST]
// CHECK-NEXT: hlo.reshape %[[C]] : (tensor<64x320xf32>) -> tensor<64x64x5xf32>
func.func @network(%a: tensor<10x10x5x64xf32>, %b: tensor<10x64x10x5x5xf32>) -> tensor<64x64x5xf32> {
  %0 = hlo.dot_general %a, %b, contracting_dims = [1, 2, 0] x [2, 4, 0], precision = [DEFAULT, HIGHEST] : (tensor<10x10x5x64xf32>, tensor<10x64x10x5x5xf32>) -> tensor<64x64x5xf32>
  return %0 : tensor<64x64x5xf32>
}

// -----

// Batches stay in front of a factor that is moved.

// CHECK-LABEL: func.func @batches
// CHECK-NEXT: %[[T:.*]] = hlo.transpose %a, dims = [1, 3, 0, 2, 4]
// CHECK-NEXT: %[[A:.*]] = hlo.reshape %[[T]] : (tensor<3x32x8x4x6xf32>) -> tensor<3x32x192xf32>
// CHECK-NEXT: %[[B:.*]] = hlo.reshape %b : (tensor<8x4x6x3x20xf32>) -> tensor<192x3x20xf32>
// CHECK-NEXT: hlo.dot_general %[[A]], %[[B]], batching_dims = [0] x [1], contracting_dims = [2] x [0]
func.func @batches(%a: tensor<8x3x4x32x6xf32>, %b: tensor<8x4x6x3x20xf32>) -> tensor<3x32x20xf32> {
  %0 = hlo.dot_general %a, %b, batching_dims = [1] x [3], contracting_dims = [4, 0, 2] x [2, 0, 1] : (tensor<8x3x4x32x6xf32>, tensor<8x4x6x3x20xf32>) -> tensor<3x32x20xf32>
  return %0 : tensor<3x32x20xf32>
}

// -----

// Long runs, sums that lie together in both factors, and results that are small beside what would be moved stay.

// CHECK-LABEL: func.func @stay
// CHECK-NEXT: hlo.dot_general %a, %b, contracting_dims = [1, 3] x [0, 1]
// CHECK-NEXT: hlo.dot_general %c, %d, contracting_dims = [1, 2] x [0, 1]
// CHECK-NEXT: hlo.dot_general %e, %d, contracting_dims = [0, 2] x [0, 1]
func.func @stay(%a: tensor<8x4x64x48xf32>, %b: tensor<4x48x128xf32>, %c: tensor<64x8x16xf32>, %d: tensor<8x16x2xf32>, %e: tensor<8x500x16xf32>) -> (tensor<8x64x128xf32>, tensor<64x2xf32>, tensor<500x2xf32>) {
  %0 = hlo.dot_general %a, %b, contracting_dims = [1, 3] x [0, 1] : (tensor<8x4x64x48xf32>, tensor<4x48x128xf32>) -> tensor<8x64x128xf32>
  %1 = hlo.dot_general %c, %d, contracting_dims = [1, 2] x [0, 1] : (tensor<64x8x16xf32>, tensor<8x16x2xf32>) -> tensor<64x2xf32>
  %2 = hlo.dot_general %e, %d, contracting_dims = [0, 2] x [0, 1] : (tensor<8x500x16xf32>, tensor<8x16x2xf32>) -> tensor<500x2xf32>
  return %0, %1, %2 : tensor<8x64x128xf32>, tensor<64x2xf32>, tensor<500x2xf32>
}
