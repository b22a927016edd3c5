// RUN: hlo-opt %s --simplify-hlo --split-input-file | filecheck %s

// A torch-style linear layer multiplies by a transposed weight.

// CHECK-LABEL: func.func @linear
// CHECK-NEXT: hlo.dot_general %x, %w, contracting_dims = [1] x [1], precision = [DEFAULT, HIGHEST]
// CHECK-NEXT: func.return
func.func @linear(%x: tensor<8x16xf32>, %w: tensor<32x16xf32>) -> tensor<8x32xf32> {
  %0 = hlo.transpose %w, dims = [1, 0] : (tensor<32x16xf32>) -> tensor<16x32xf32>
  %1 = hlo.dot_general %x, %0, contracting_dims = [1] x [0], precision = [DEFAULT, HIGHEST] : (tensor<8x16xf32>, tensor<16x32xf32>) -> tensor<8x32xf32>
  return %1 : tensor<8x32xf32>
}

// -----

// Weights that are converted after their transpose are converted as they lie in memory.

// CHECK-LABEL: func.func @narrow_weights
// CHECK-NEXT: %[[W:.*]] = hlo.convert %w : (tensor<32x16xbf16>) -> tensor<32x16xf32>
// CHECK-NEXT: hlo.dot_general %x, %[[W]], contracting_dims = [1] x [1]
// CHECK-NEXT: func.return
func.func @narrow_weights(%x: tensor<8x16xf32>, %w: tensor<32x16xbf16>) -> tensor<8x32xf32> {
  %0 = hlo.transpose %w, dims = [1, 0] : (tensor<32x16xbf16>) -> tensor<16x32xbf16>
  %1 = hlo.convert %0 : (tensor<16x32xbf16>) -> tensor<16x32xf32>
  %2 = hlo.dot_general %x, %1, contracting_dims = [1] x [0] : (tensor<8x16xf32>, tensor<16x32xf32>) -> tensor<8x32xf32>
  return %2 : tensor<8x32xf32>
}

// -----

// A conversion that others read, too, is not made twice.

// CHECK-LABEL: func.func @converted_for_two
// CHECK: hlo.transpose
// CHECK-NEXT: hlo.convert
// CHECK-NEXT: hlo.dot_general %x, %{{.*}}, contracting_dims = [1] x [0]
func.func @converted_for_two(%x: tensor<8x16xf32>, %w: tensor<32x16xbf16>) -> (tensor<8x32xf32>, tensor<16x32xf32>) {
  %0 = hlo.transpose %w, dims = [1, 0] : (tensor<32x16xbf16>) -> tensor<16x32xbf16>
  %1 = hlo.convert %0 : (tensor<16x32xbf16>) -> tensor<16x32xf32>
  %2 = hlo.dot_general %x, %1, contracting_dims = [1] x [0] : (tensor<8x16xf32>, tensor<16x32xf32>) -> tensor<8x32xf32>
  return %2, %1 : tensor<8x32xf32>, tensor<16x32xf32>
}

// -----

// CHECK-LABEL: func.func @batches
// CHECK-NEXT: hlo.dot_general %q, %k, batching_dims = [0, 2] x [0, 2], contracting_dims = [3] x [3]
// CHECK-SAME: (tensor<2x8x4x16xbf16>, tensor<2x9x4x16xbf16>) -> tensor<2x4x8x9xf32>
// CHECK-NEXT: func.return
func.func @batches(%q: tensor<2x8x4x16xbf16>, %k: tensor<2x9x4x16xbf16>) -> tensor<2x4x8x9xf32> {
  %0 = hlo.transpose %q, dims = [0, 2, 1, 3] : (tensor<2x8x4x16xbf16>) -> tensor<2x4x8x16xbf16>
  %1 = hlo.transpose %k, dims = [0, 2, 1, 3] : (tensor<2x9x4x16xbf16>) -> tensor<2x4x9x16xbf16>
  %2 = hlo.transpose %1, dims = [0, 1, 3, 2] : (tensor<2x4x9x16xbf16>) -> tensor<2x4x16x9xbf16>
  %3 = hlo.dot_general %0, %2, batching_dims = [0, 1] x [0, 1], contracting_dims = [3] x [2] : (tensor<2x4x8x16xbf16>, tensor<2x4x16x9xbf16>) -> tensor<2x4x8x9xf32>
  return %3 : tensor<2x4x8x9xf32>
}

// -----

// A transpose that changes the order of the result's dimensions stays.

// CHECK-LABEL: func.func @free_dimensions
// CHECK: hlo.transpose
// CHECK-NEXT: hlo.dot_general
func.func @free_dimensions(%x: tensor<8x4x16xf32>, %w: tensor<16x3xf32>) -> tensor<4x8x3xf32> {
  %0 = hlo.transpose %x, dims = [1, 0, 2] : (tensor<8x4x16xf32>) -> tensor<4x8x16xf32>
  %1 = hlo.dot_general %0, %w, contracting_dims = [2] x [0] : (tensor<4x8x16xf32>, tensor<16x3xf32>) -> tensor<4x8x3xf32>
  return %1 : tensor<4x8x3xf32>
}

// -----

// CHECK-LABEL: func.func @swapped
// CHECK-NEXT: %[[D:.*]] = hlo.dot_general %p, %v, batching_dims = [0, 1] x [0, 2], contracting_dims = [3] x [1], precision = [HIGH, DEFAULT]
// CHECK-SAME: -> tensor<2x4x8x16xf32>
// CHECK-NEXT: hlo.transpose %[[D]], dims = [0, 2, 1, 3] : (tensor<2x4x8x16xf32>) -> tensor<2x8x4x16xf32>
// CHECK-NEXT: func.return
func.func @swapped(%v: tensor<2x9x4x16xf32>, %p: tensor<2x4x8x9xf32>) -> tensor<2x8x4x16xf32> {
  %0 = hlo.dot_general %v, %p, batching_dims = [0, 2] x [0, 1], contracting_dims = [1] x [3], precision = [DEFAULT, HIGH] : (tensor<2x9x4x16xf32>, tensor<2x4x8x9xf32>) -> tensor<2x4x16x8xf32>
  %1 = hlo.transpose %0, dims = [0, 3, 1, 2] : (tensor<2x4x16x8xf32>) -> tensor<2x8x4x16xf32>
  return %1 : tensor<2x8x4x16xf32>
}

// -----

// CHECK-LABEL: func.func @transposed_product
// CHECK-NEXT: hlo.dot_general %b, %a, contracting_dims = [0] x [1] : (tensor<16x3xf32>, tensor<8x16xf32>) -> tensor<3x8xf32>
// CHECK-NEXT: func.return
func.func @transposed_product(%a: tensor<8x16xf32>, %b: tensor<16x3xf32>) -> tensor<3x8xf32> {
  %0 = hlo.dot_general %a, %b, contracting_dims = [1] x [0] : (tensor<8x16xf32>, tensor<16x3xf32>) -> tensor<8x3xf32>
  %1 = hlo.transpose %0, dims = [1, 0] : (tensor<8x3xf32>) -> tensor<3x8xf32>
  return %1 : tensor<3x8xf32>
}
