// RUN: hlo-opt %s --simplify-hlo --split-input-file | filecheck %s

// CHECK-LABEL: func.func @broadcasts
// CHECK-NEXT: hlo.broadcast_in_dim %{{.*}}, dims = [0] : (tensor<4xf32>) -> tensor<4x8xf32>
// CHECK-NEXT: func.return
func.func @broadcasts(%x: tensor<4xf32>) -> tensor<4x8xf32> {
  %0 = hlo.broadcast_in_dim %x, dims = [0] : (tensor<4xf32>) -> tensor<4x1xf32>
  %1 = hlo.broadcast_in_dim %0, dims = [0, 1] : (tensor<4x1xf32>) -> tensor<4x8xf32>
  return %1 : tensor<4x8xf32>
}

// -----

// CHECK-LABEL: func.func @dropped_dimension
// CHECK-NEXT: hlo.broadcast_in_dim %{{.*}}, dims = [0, 1] : (tensor<4x1xf32>) -> tensor<4x8xf32>
// CHECK-NEXT: func.return
func.func @dropped_dimension(%x: tensor<4x1xf32>) -> tensor<4x8xf32> {
  %0 = hlo.reshape %x : (tensor<4x1xf32>) -> tensor<4xf32>
  %1 = hlo.broadcast_in_dim %0, dims = [0] : (tensor<4xf32>) -> tensor<4x8xf32>
  return %1 : tensor<4x8xf32>
}

// -----

// CHECK-LABEL: func.func @reshapes_and_transposes
// CHECK-NEXT: %[[T:.*]] = hlo.transpose %{{.*}}, dims = [1, 2, 0]
// CHECK-NEXT: %[[R:.*]] = hlo.reshape %{{.*}} : (tensor<2x3x4xf32>) -> tensor<24xf32>
// CHECK-NEXT: func.return %[[T]], %[[R]]
func.func @reshapes_and_transposes(%x: tensor<2x3x4xf32>) -> (tensor<3x4x2xf32>, tensor<24xf32>) {
  %0 = hlo.transpose %x, dims = [1, 0, 2] : (tensor<2x3x4xf32>) -> tensor<3x2x4xf32>
  %1 = hlo.transpose %0, dims = [0, 2, 1] : (tensor<3x2x4xf32>) -> tensor<3x4x2xf32>
  %2 = hlo.reshape %x : (tensor<2x3x4xf32>) -> tensor<2x3x1x4xf32>
  %3 = hlo.transpose %2, dims = [0, 2, 1, 3] : (tensor<2x3x1x4xf32>) -> tensor<2x1x3x4xf32>
  %4 = hlo.reshape %3 : (tensor<2x1x3x4xf32>) -> tensor<24xf32>
  return %1, %4 : tensor<3x4x2xf32>, tensor<24xf32>
}

// -----

// CHECK-LABEL: func.func @slices
// CHECK-NEXT: %[[S:.*]] = hlo.slice %{{.*}} [3:8:4]
// CHECK-NEXT: %[[C:.*]] = hlo.slice %{{.*}} [1:3]
// CHECK-NEXT: %[[B:.*]] = hlo.broadcast_in_dim %[[C]], dims = [0] : (tensor<2xf32>) -> tensor<2x5xf32>
// CHECK-NEXT: func.return %[[S]], %[[B]]
func.func @slices(%x: tensor<10xf32>) -> (tensor<2xf32>, tensor<2x5xf32>) {
  %0 = hlo.slice %x [1:10:2] : (tensor<10xf32>) -> tensor<5xf32>
  %1 = hlo.slice %0 [1:5:2] : (tensor<5xf32>) -> tensor<2xf32>
  %2 = hlo.broadcast_in_dim %x, dims = [0] : (tensor<10xf32>) -> tensor<10x6xf32>
  %3 = hlo.slice %2 [1:3, 1:6] : (tensor<10x6xf32>) -> tensor<2x5xf32>
  return %1, %3 : tensor<2xf32>, tensor<2x5xf32>
}

// -----

// Operations after a reduction that kept its dimensions move before the reshape.

// CHECK-LABEL: func.func @keepdims
// CHECK: %[[S:.*]] = hlo.reduce
// CHECK-NEXT: %[[N:.*]] = hlo.constant dense<8.0{{.*}}> : tensor<4xf32>
// CHECK-NEXT: %[[Q:.*]] = hlo.divide %[[S]], %[[N]] : tensor<4xf32>
// CHECK-NEXT: hlo.reshape %[[Q]] : (tensor<4xf32>) -> tensor<4x1xf32>
func.func @keepdims(%x: tensor<4x8xf32>) -> tensor<4x1xf32> {
  %zero = hlo.constant dense<0.0> : tensor<f32>
  %0 = hlo.reduce(%x init: %zero) applies hlo.add across dimensions = [1] : (tensor<4x8xf32>, tensor<f32>) -> tensor<4xf32>
  %1 = hlo.reshape %0 : (tensor<4xf32>) -> tensor<4x1xf32>
  %n = hlo.constant dense<8.0> : tensor<4x1xf32>
  %2 = hlo.divide %1, %n : tensor<4x1xf32>
  return %2 : tensor<4x1xf32>
}

// An update of most of a tensor at a known place (clamped) is joined with the rest.
// CHECK-LABEL: @large_update
// CHECK-NEXT:    %[[L:[0-9]+]] = hlo.slice %x [1:7, 0:1]
// CHECK-NEXT:    %[[M:[0-9]+]] = hlo.concatenate %[[L]], %u, dim = 1 :
// CHECK-NEXT:    %[[T:[0-9]+]] = hlo.slice %x [0:1, 0:8]
// CHECK-NEXT:    %[[B:[0-9]+]] = hlo.slice %x [7:8, 0:8]
// CHECK-NEXT:    %[[R:[0-9]+]] = hlo.concatenate %[[T]], %[[M]], %[[B]], dim = 0 :
// CHECK-NEXT:    func.return %[[R]]
func.func @large_update(%x: tensor<8x8xf32>, %u: tensor<6x7xf32>) -> tensor<8x8xf32> {
  %one = hlo.constant dense<1> : tensor<i32>
  %five = hlo.constant dense<5> : tensor<i32>
  %0 = hlo.dynamic_update_slice %x, %u, %one, %five : (tensor<8x8xf32>, tensor<6x7xf32>, tensor<i32>, tensor<i32>) -> tensor<8x8xf32>
  func.return %0 : tensor<8x8xf32>
}

// So is one of a part of an argument that has to be copied, but of a donated one, and of few elements.
// CHECK-LABEL: @update_of_kept
// CHECK:         hlo.concatenate
// CHECK:         hlo.dynamic_update_slice %y
// CHECK:         hlo.dynamic_update_slice %z
func.func @update_of_kept(%x: tensor<8x8xf32>, %y: tensor<8x8xf32> {jax.buffer_donor}, %z: tensor<64x8xf32>, %u: tensor<2x8xf32>)
    -> (tensor<8x8xf32>, tensor<8x8xf32>, tensor<64x8xf32>) {
  %zero = hlo.constant dense<0> : tensor<i32>
  %one = hlo.constant dense<1> : tensor<i32>
  %0 = hlo.dynamic_update_slice %x, %u, %one, %zero : (tensor<8x8xf32>, tensor<2x8xf32>, tensor<i32>, tensor<i32>) -> tensor<8x8xf32>
  %1 = hlo.dynamic_update_slice %y, %u, %one, %zero : (tensor<8x8xf32>, tensor<2x8xf32>, tensor<i32>, tensor<i32>) -> tensor<8x8xf32>
  %2 = hlo.dynamic_update_slice %z, %u, %one, %zero : (tensor<64x8xf32>, tensor<2x8xf32>, tensor<i32>, tensor<i32>) -> tensor<64x8xf32>
  func.return %0, %1, %2 : tensor<8x8xf32>, tensor<8x8xf32>, tensor<64x8xf32>
}

// A slice of one part, if nothing else needs the whole, with the strides of the slice.
// CHECK-LABEL: @slice_of_part
// CHECK-NEXT:    %[[S:[0-9]+]] = hlo.slice %y [1:6:2, 0:3]
// CHECK-NEXT:    func.return %[[S]]
func.func @slice_of_part(%x: tensor<2x4xf32>, %y: tensor<6x4xf32>) -> tensor<3x3xf32> {
  %0 = hlo.concatenate %x, %y, dim = 0 : (tensor<2x4xf32>, tensor<6x4xf32>) -> tensor<8x4xf32>
  %1 = hlo.slice %0 [3:8:2, 0:3] : (tensor<8x4xf32>) -> tensor<3x3xf32>
  func.return %1 : tensor<3x3xf32>
}

// Slices of one part each leave nothing that needs the whole, however large they are.
// CHECK-LABEL: @slices_of_parts
// CHECK-NEXT:    %[[S:[0-9]+]] = hlo.slice %y [0:4:3, 0:4]
// CHECK-NEXT:    func.return %x, %[[S]], %y
func.func @slices_of_parts(%x: tensor<2x4xf32>, %y: tensor<6x4xf32>) -> (tensor<2x4xf32>, tensor<2x4xf32>, tensor<6x4xf32>) {
  %0 = hlo.concatenate %x, %y, dim = 0 : (tensor<2x4xf32>, tensor<6x4xf32>) -> tensor<8x4xf32>
  %1 = hlo.slice %0 [0:2, 0:4] : (tensor<8x4xf32>) -> tensor<2x4xf32>
  %2 = hlo.slice %0 [2:8:3, 0:4] : (tensor<8x4xf32>) -> tensor<2x4xf32>
  %3 = hlo.slice %0 [2:8, 0:4] : (tensor<8x4xf32>) -> tensor<6x4xf32>
  func.return %1, %2, %3 : tensor<2x4xf32>, tensor<2x4xf32>, tensor<6x4xf32>
}

// One slice across parts, with strides, needs the whole; so the others read that.
// CHECK-LABEL: @whole_for_one
// CHECK:         %[[C:[0-9]+]] = hlo.concatenate
// CHECK-DAG:     hlo.slice %[[C]] [2:8, 0:4]
// CHECK-DAG:     hlo.slice %[[C]] [0:8:3, 0:4]
func.func @whole_for_one(%x: tensor<2x4xf32>, %y: tensor<6x4xf32>) -> (tensor<6x4xf32>, tensor<3x4xf32>) {
  %0 = hlo.concatenate %x, %y, dim = 0 : (tensor<2x4xf32>, tensor<6x4xf32>) -> tensor<8x4xf32>
  %1 = hlo.slice %0 [2:8, 0:4] : (tensor<8x4xf32>) -> tensor<6x4xf32>
  %2 = hlo.slice %0 [0:8:3, 0:4] : (tensor<8x4xf32>) -> tensor<3x4xf32>
  func.return %1, %2 : tensor<6x4xf32>, tensor<3x4xf32>
}

// A small slice across parts.
// CHECK-LABEL: @small_slice
// CHECK-DAG:     %[[A:[0-9]+]] = hlo.slice %x [1:2, 15:16]
// CHECK-DAG:     %[[B:[0-9]+]] = hlo.slice %y [0:6, 15:16]
// CHECK:         hlo.concatenate %[[A]], %[[B]], dim = 0 : (tensor<1x1xf32>, tensor<6x1xf32>) -> tensor<7x1xf32>
func.func @small_slice(%x: tensor<2x16xf32>, %y: tensor<6x16xf32>) -> (tensor<8x16xf32>, tensor<7x1xf32>) {
  %0 = hlo.concatenate %x, %y, dim = 0 : (tensor<2x16xf32>, tensor<6x16xf32>) -> tensor<8x16xf32>
  %1 = hlo.slice %0 [1:8, 15:16] : (tensor<8x16xf32>) -> tensor<7x1xf32>
  func.return %0, %1 : tensor<8x16xf32>, tensor<7x1xf32>
}

// A large slice of a value that is needed anyway reads that.
// CHECK-LABEL: @large_slice
// CHECK:         %[[C:[0-9]+]] = hlo.concatenate
// CHECK-NEXT:    hlo.slice %[[C]]
func.func @large_slice(%x: tensor<2x16xf32>, %y: tensor<6x16xf32>) -> (tensor<8x16xf32>, tensor<6x16xf32>) {
  %0 = hlo.concatenate %x, %y, dim = 0 : (tensor<2x16xf32>, tensor<6x16xf32>) -> tensor<8x16xf32>
  %1 = hlo.slice %0 [2:8, 0:16] : (tensor<8x16xf32>) -> tensor<6x16xf32>
  func.return %0, %1 : tensor<8x16xf32>, tensor<6x16xf32>
}

// Slices that take each element once and are joined, as by rolling along two dimensions, leave nothing that needs the whole.
// CHECK-LABEL: @slices_joined
// CHECK-DAG:     %[[A:[0-9]+]] = hlo.slice %x [0:2, 1:4]
// CHECK-DAG:     %[[B:[0-9]+]] = hlo.slice %y [0:6, 1:4]
// CHECK-DAG:     %[[L:[0-9]+]] = hlo.concatenate %[[A]], %[[B]], dim = 0 : (tensor<2x3xf32>, tensor<6x3xf32>) -> tensor<8x3xf32>
// CHECK-DAG:     %[[C:[0-9]+]] = hlo.slice %x [0:2, 0:1]
// CHECK-DAG:     %[[D:[0-9]+]] = hlo.slice %y [0:6, 0:1]
// CHECK-DAG:     %[[R:[0-9]+]] = hlo.concatenate %[[C]], %[[D]], dim = 0 : (tensor<2x1xf32>, tensor<6x1xf32>) -> tensor<8x1xf32>
// CHECK:         hlo.concatenate %[[L]], %[[R]], dim = 1
func.func @slices_joined(%x: tensor<2x4xf32>, %y: tensor<6x4xf32>) -> tensor<8x4xf32> {
  %0 = hlo.concatenate %x, %y, dim = 0 : (tensor<2x4xf32>, tensor<6x4xf32>) -> tensor<8x4xf32>
  %1 = hlo.slice %0 [0:8, 1:4] : (tensor<8x4xf32>) -> tensor<8x3xf32>
  %2 = hlo.slice %0 [0:8, 0:1] : (tensor<8x4xf32>) -> tensor<8x1xf32>
  %3 = hlo.concatenate %1, %2, dim = 1 : (tensor<8x3xf32>, tensor<8x1xf32>) -> tensor<8x4xf32>
  func.return %3 : tensor<8x4xf32>
}

// Others would each be a kernel.
// CHECK-LABEL: @slices_apart
// CHECK:         %[[C:[0-9]+]] = hlo.concatenate
// CHECK-DAG:     hlo.slice %[[C]] [0:8, 1:4]
// CHECK-DAG:     hlo.slice %[[C]] [0:8, 0:1]
func.func @slices_apart(%x: tensor<2x4xf32>, %y: tensor<6x4xf32>) -> (tensor<8x3xf32>, tensor<8x1xf32>) {
  %0 = hlo.concatenate %x, %y, dim = 0 : (tensor<2x4xf32>, tensor<6x4xf32>) -> tensor<8x4xf32>
  %1 = hlo.slice %0 [0:8, 1:4] : (tensor<8x4xf32>) -> tensor<8x3xf32>
  %2 = hlo.slice %0 [0:8, 0:1] : (tensor<8x4xf32>) -> tensor<8x1xf32>
  func.return %1, %2 : tensor<8x3xf32>, tensor<8x1xf32>
}

// Slices that take elements twice read the whole.
// CHECK-LABEL: @slices_overlap
// CHECK:         %[[C:[0-9]+]] = hlo.concatenate
// CHECK-DAG:     hlo.slice %[[C]] [0:8, 1:4]
// CHECK-DAG:     hlo.slice %[[C]] [0:8, 0:3]
func.func @slices_overlap(%x: tensor<2x4xf32>, %y: tensor<6x4xf32>) -> tensor<8x6xf32> {
  %0 = hlo.concatenate %x, %y, dim = 0 : (tensor<2x4xf32>, tensor<6x4xf32>) -> tensor<8x4xf32>
  %1 = hlo.slice %0 [0:8, 1:4] : (tensor<8x4xf32>) -> tensor<8x3xf32>
  %2 = hlo.slice %0 [0:8, 0:3] : (tensor<8x4xf32>) -> tensor<8x3xf32>
  %3 = hlo.concatenate %1, %2, dim = 1 : (tensor<8x3xf32>, tensor<8x3xf32>) -> tensor<8x6xf32>
  func.return %3 : tensor<8x6xf32>
}

// A slice with strides that reaches into several parts stays.
// CHECK-LABEL: @strides_across_parts
// CHECK:         %[[C:[0-9]+]] = hlo.concatenate
// CHECK-NEXT:    hlo.slice %[[C]] [0:8:3, 0:4]
func.func @strides_across_parts(%x: tensor<2x4xf32>, %y: tensor<6x4xf32>) -> tensor<3x4xf32> {
  %0 = hlo.concatenate %x, %y, dim = 0 : (tensor<2x4xf32>, tensor<6x4xf32>) -> tensor<8x4xf32>
  %1 = hlo.slice %0 [0:8:3, 0:4] : (tensor<8x4xf32>) -> tensor<3x4xf32>
  func.return %1 : tensor<3x4xf32>
}

// A slice of a reversed tensor is reversed itself; the operand alone is sliced.
// CHECK-LABEL: @slice_of_reversed
// CHECK-NEXT:    %[[S:[0-9]+]] = hlo.slice %x [1:6:2, 2:3, 0:4]
// CHECK-NEXT:    %[[R:[0-9]+]] = hlo.reverse %[[S]], dims = [0]
// CHECK-NEXT:    return %[[R]]
func.func @slice_of_reversed(%x: tensor<8x3x4xf32>) -> tensor<3x1x4xf32> {
  %0 = hlo.reverse %x, dims = [0, 1] : tensor<8x3x4xf32>
  %1 = hlo.slice %0 [2:8:2, 0:1, 0:4] : (tensor<8x3x4xf32>) -> tensor<3x1x4xf32>
  return %1 : tensor<3x1x4xf32>
}

// Transposes whose dimensions are merged are concatenated before that.
// CHECK-LABEL: @merged_parts
// CHECK-NEXT:    %[[P:[0-9]+]] = hlo.transpose %x
// CHECK-NEXT:    %[[Q:[0-9]+]] = hlo.transpose %y
// CHECK-NEXT:    %[[C:[0-9]+]] = hlo.concatenate %[[P]], %[[Q]], dim = 1 : (tensor<6x4x8xf32>, tensor<6x2x8xf32>) -> tensor<6x6x8xf32>
// CHECK-NEXT:    hlo.reshape %[[C]] : (tensor<6x6x8xf32>) -> tensor<2x3x48xf32>
func.func @merged_parts(%x: tensor<4x6x8xf32>, %y: tensor<2x6x8xf32>) -> tensor<2x3x48xf32> {
  %0 = hlo.transpose %x, dims = [1, 0, 2] : (tensor<4x6x8xf32>) -> tensor<6x4x8xf32>
  %1 = hlo.reshape %0 : (tensor<6x4x8xf32>) -> tensor<2x3x32xf32>
  %2 = hlo.transpose %y, dims = [1, 0, 2] : (tensor<2x6x8xf32>) -> tensor<6x2x8xf32>
  %3 = hlo.reshape %2 : (tensor<6x2x8xf32>) -> tensor<2x3x16xf32>
  %4 = hlo.concatenate %1, %3, dim = 2 : (tensor<2x3x32xf32>, tensor<2x3x16xf32>) -> tensor<2x3x48xf32>
  return %4 : tensor<2x3x48xf32>
}

// Not where the concatenated dimension is not the outermost of those that are merged.
// CHECK-LABEL: @interleaved_parts
// CHECK:         hlo.reshape
// CHECK-NEXT:    hlo.transpose
// CHECK-NEXT:    hlo.reshape
// CHECK-NEXT:    hlo.concatenate
func.func @interleaved_parts(%x: tensor<4x6x8xf32>, %y: tensor<4x6x8xf32>) -> tensor<48x8xf32> {
  %0 = hlo.transpose %x, dims = [1, 0, 2] : (tensor<4x6x8xf32>) -> tensor<6x4x8xf32>
  %1 = hlo.reshape %0 : (tensor<6x4x8xf32>) -> tensor<48x4xf32>
  %2 = hlo.transpose %y, dims = [1, 0, 2] : (tensor<4x6x8xf32>) -> tensor<6x4x8xf32>
  %3 = hlo.reshape %2 : (tensor<6x4x8xf32>) -> tensor<48x4xf32>
  %4 = hlo.concatenate %1, %3, dim = 1 : (tensor<48x4xf32>, tensor<48x4xf32>) -> tensor<48x8xf32>
  return %4 : tensor<48x8xf32>
}

// Broadcasts around a reshape that joins dimensions are one: pixels that are repeated along both sides of an image.

// CHECK-LABEL: func.func @repeated_twice(
// CHECK-NEXT:    %[[B:.*]] = hlo.broadcast_in_dim %x, dims = [0, 2, 4] : (tensor<8x6x3xf32>) -> tensor<8x2x6x2x3xf32>
// CHECK-NEXT:    hlo.reshape %[[B]] : (tensor<8x2x6x2x3xf32>) -> tensor<16x12x3xf32>
func.func @repeated_twice(%x: tensor<8x6x3xf32>) -> tensor<16x12x3xf32> {
  %0 = hlo.broadcast_in_dim %x, dims = [0, 2, 3] : (tensor<8x6x3xf32>) -> tensor<8x2x6x3xf32>
  %1 = hlo.reshape %0 : (tensor<8x2x6x3xf32>) -> tensor<16x6x3xf32>
  %2 = hlo.broadcast_in_dim %1, dims = [0, 1, 3] : (tensor<16x6x3xf32>) -> tensor<16x6x2x3xf32>
  %3 = hlo.reshape %2 : (tensor<16x6x2x3xf32>) -> tensor<16x12x3xf32>
  return %3 : tensor<16x12x3xf32>
}

// A stack of the components of vectors is made where the transpose would put it; longer parts would be transposed.
// CHECK-LABEL: @vectors
// CHECK-DAG:     %[[X:.*]] = hlo.reshape %x : (tensor<1x8xf32>) -> tensor<8x1xf32>
// CHECK-DAG:     %[[Y:.*]] = hlo.reshape %y : (tensor<1x8xf32>) -> tensor<8x1xf32>
// CHECK:         hlo.concatenate %[[X]], %[[Y]], dim = 1 : (tensor<8x1xf32>, tensor<8x1xf32>) -> tensor<8x2xf32>
// CHECK:         hlo.concatenate %z, %z, dim = 0
// CHECK-NEXT:    hlo.transpose
func.func @vectors(%x: tensor<1x8xf32>, %y: tensor<1x8xf32>, %z: tensor<2x8xf32>) -> (tensor<8x2xf32>, tensor<8x4xf32>) {
  %0 = hlo.concatenate %x, %y, dim = 0 : (tensor<1x8xf32>, tensor<1x8xf32>) -> tensor<2x8xf32>
  %1 = hlo.transpose %0, dims = [1, 0] : (tensor<2x8xf32>) -> tensor<8x2xf32>
  %2 = hlo.concatenate %z, %z, dim = 0 : (tensor<2x8xf32>, tensor<2x8xf32>) -> tensor<4x8xf32>
  %3 = hlo.transpose %2, dims = [1, 0] : (tensor<4x8xf32>) -> tensor<8x4xf32>
  func.return %1, %3 : tensor<8x2xf32>, tensor<8x4xf32>
}
