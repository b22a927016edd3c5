// RUN: hlo-opt %s --split-input-file -p simplify-hlo,cse | filecheck %s

// Rows of a slice are rows of the argument: indices are clamped to the slice and moved to its begin.
// CHECK-LABEL: @rows
// CHECK-NOT:   hlo.slice
// CHECK:       %[[I:.*]] = hlo.minimum
// CHECK:       %[[AT:.*]] = hlo.add %[[I]]
// CHECK:       "hlo.gather"(%x, %[[AT]])
// CHECK-SAME:  (tensor<1000x64xf32>, tensor<9xi32>) -> tensor<9x64xf32>
func.func @rows(%x: tensor<1000x64xf32>, %i: tensor<9xi32>) -> tensor<9x64xf32> {
  %0 = hlo.slice %x [100:300, 0:64] : (tensor<1000x64xf32>) -> tensor<200x64xf32>
  %1 = "hlo.gather"(%0, %i) <{dimension_numbers = #hlo.gather<offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>, slice_sizes = array<i64: 1, 64>}> : (tensor<200x64xf32>, tensor<9xi32>) -> tensor<9x64xf32>
  return %1 : tensor<9x64xf32>
}

// -----

// One table of several is rows of all of them.
// CHECK-LABEL: @table
// CHECK:       %[[ALL:.*]] = hlo.reshape %x : (tensor<8x50x4xf32>) -> tensor<400x4xf32>
// CHECK:       "hlo.gather"(%[[ALL]],
func.func @table(%x: tensor<8x50x4xf32>, %i: tensor<9xi32>) -> tensor<9x4xf32> {
  %0 = hlo.slice %x [3:4, 0:50, 0:4] : (tensor<8x50x4xf32>) -> tensor<1x50x4xf32>
  %1 = hlo.reshape %0 : (tensor<1x50x4xf32>) -> tensor<50x4xf32>
  %2 = "hlo.gather"(%1, %i) <{dimension_numbers = #hlo.gather<offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>, slice_sizes = array<i64: 1, 4>}> : (tensor<50x4xf32>, tensor<9xi32>) -> tensor<9x4xf32>
  return %2 : tensor<9x4xf32>
}

// -----

// The type of indices holds those of the slice, but not those of the argument.
// CHECK-LABEL: @narrow
// CHECK:       hlo.slice
func.func @narrow(%x: tensor<300x4xf32>, %i: tensor<9xui8>) -> tensor<9x4xf32> {
  %0 = hlo.slice %x [200:300, 0:4] : (tensor<300x4xf32>) -> tensor<100x4xf32>
  %1 = "hlo.gather"(%0, %i) <{dimension_numbers = #hlo.gather<offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>, slice_sizes = array<i64: 1, 4>}> : (tensor<100x4xf32>, tensor<9xui8>) -> tensor<9x4xf32>
  return %1 : tensor<9x4xf32>
}

// -----

// Only a part of a computed value is computed.
// CHECK-LABEL: @computed
// CHECK:       hlo.slice
func.func @computed(%x: tensor<1000x64xf32>, %i: tensor<900xi32>) -> tensor<900x64xf32> {
  %e = hlo.exponential %x : tensor<1000x64xf32>
  %0 = hlo.slice %e [100:300, 0:64] : (tensor<1000x64xf32>) -> tensor<200x64xf32>
  %1 = "hlo.gather"(%0, %i) <{dimension_numbers = #hlo.gather<offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>, slice_sizes = array<i64: 1, 64>}> : (tensor<200x64xf32>, tensor<900xi32>) -> tensor<900x64xf32>
  return %1 : tensor<900x64xf32>
}

// -----

// Crops of an image with its channels: two indices, and rows of 24 pixels with three channels.
// CHECK-LABEL: @crops
// CHECK-DAG:   hlo.slice %i [0:16, 0:2] : (tensor<16x3xi32>) -> tensor<16x2xi32>
// CHECK-DAG:   %[[X:.*]] = hlo.reshape %x : (tensor<256x256x3xf32>) -> tensor<256x768xf32>
// CHECK:       "hlo.gather"(%[[X]], %{{.*}}) <{dimension_numbers = #hlo.gather<offset_dims = [1, 2], start_index_map = [0, 1], index_vector_dim = 1>, slice_sizes = array<i64: 24, 72>}>
func.func @crops(%x: tensor<256x256x3xf32>, %i: tensor<16x3xi32>) -> tensor<16x24x24x3xf32> {
  %0 = "hlo.gather"(%x, %i) <{dimension_numbers = #hlo.gather<offset_dims = [1, 2, 3], start_index_map = [0, 1, 2], index_vector_dim = 1>, slice_sizes = array<i64: 24, 24, 3>}> : (tensor<256x256x3xf32>, tensor<16x3xi32>) -> tensor<16x24x24x3xf32>
  return %0 : tensor<16x24x24x3xf32>
}

// -----

// The state of a loop may be updated in place before it is read.
// CHECK-LABEL: @carried
// CHECK:       hlo.slice
func.func @carried(%x: tensor<1000x64xf32>, %i: tensor<9xi32>) -> tensor<1000x64xf32> {
  %zero = hlo.constant dense<0> : tensor<i32>
  %r:2 = "hlo.while"(%zero, %x) ({
  ^bb0(%n: tensor<i32>, %a: tensor<1000x64xf32>):
    %end = hlo.constant dense<10> : tensor<i32>
    %0 = hlo.compare LT, %n, %end : (tensor<i32>, tensor<i32>) -> tensor<i1>
    "hlo.return"(%0) : (tensor<i1>) -> ()
  }, {
  ^bb0(%n: tensor<i32>, %a: tensor<1000x64xf32>):
    %one = hlo.constant dense<1> : tensor<i32>
    %next = hlo.add %n, %one : tensor<i32>
    %0 = hlo.slice %a [100:300, 0:64] : (tensor<1000x64xf32>) -> tensor<200x64xf32>
    %1 = "hlo.gather"(%0, %i) <{dimension_numbers = #hlo.gather<offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>, slice_sizes = array<i64: 1, 64>}> : (tensor<200x64xf32>, tensor<9xi32>) -> tensor<9x64xf32>
    %2 = hlo.dynamic_update_slice %a, %1, %n, %n : (tensor<1000x64xf32>, tensor<9x64xf32>, tensor<i32>, tensor<i32>) -> tensor<1000x64xf32>
    "hlo.return"(%next, %2) : (tensor<i32>, tensor<1000x64xf32>) -> ()
  }) : (tensor<i32>, tensor<1000x64xf32>) -> (tensor<i32>, tensor<1000x64xf32>)
  return %r#1 : tensor<1000x64xf32>
}

// -----

// A diagonal is taken of a tensor as it is in memory, and not of the whole one transposed; the result is transposed.
// CHECK-LABEL: @diagonal
// CHECK-NOT:   hlo.transpose
// CHECK:       "hlo.gather"(%x, %i) <{dimension_numbers = #hlo.gather<offset_dims = [0, 1], collapsed_slice_dims = [0, 3], start_index_map = [0, 3], index_vector_dim = 1>, slice_sizes = array<i64: 1, 11, 256, 1>}>
func.func @diagonal(%x: tensor<50x11x256x40xi16>, %i: tensor<40x2xi32>) -> tensor<11x256x40xi16> {
  %0 = hlo.transpose %x, dims = [1, 2, 0, 3] : (tensor<50x11x256x40xi16>) -> tensor<11x256x50x40xi16>
  %1 = "hlo.gather"(%0, %i) <{dimension_numbers = #hlo.gather<offset_dims = [0, 1], collapsed_slice_dims = [2, 3], start_index_map = [2, 3], index_vector_dim = 1>, slice_sizes = array<i64: 11, 256, 1, 1>}> : (tensor<11x256x50x40xi16>, tensor<40x2xi32>) -> tensor<11x256x40xi16>
  return %1 : tensor<11x256x40xi16>
}

// CHECK-LABEL: @exchanged
// CHECK:       %[[X:.*]] = "hlo.gather"(%x, %i) <{dimension_numbers = #hlo.gather<offset_dims = [0, 2], collapsed_slice_dims = [1], start_index_map = [1], index_vector_dim = 1>, slice_sizes = array<i64: 6, 1, 8>}>
// CHECK:       hlo.transpose %[[X]], dims = [2, 1, 0] : (tensor<6x9x8xf32>) -> tensor<8x9x6xf32>
func.func @exchanged(%x: tensor<6x20x8xf32>, %i: tensor<9xi32>) -> tensor<8x9x6xf32> {
  %0 = hlo.transpose %x, dims = [2, 1, 0] : (tensor<6x20x8xf32>) -> tensor<8x20x6xf32>
  %1 = "hlo.gather"(%0, %i) <{dimension_numbers = #hlo.gather<offset_dims = [0, 2], collapsed_slice_dims = [1], start_index_map = [1], index_vector_dim = 1>, slice_sizes = array<i64: 8, 1, 6>}> : (tensor<8x20x6xf32>, tensor<9xi32>) -> tensor<8x9x6xf32>
  return %1 : tensor<8x9x6xf32>
}

// Many single elements of lines would each read a line of the caches.
// CHECK-LABEL: @columns
// CHECK:       hlo.transpose %x
func.func @columns(%x: tensor<64x1000xf32>, %i: tensor<400xi32>) -> tensor<400x64xf32> {
  %0 = hlo.transpose %x, dims = [1, 0] : (tensor<64x1000xf32>) -> tensor<1000x64xf32>
  %1 = "hlo.gather"(%0, %i) <{dimension_numbers = #hlo.gather<offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>, slice_sizes = array<i64: 1, 64>}> : (tensor<1000x64xf32>, tensor<400xi32>) -> tensor<400x64xf32>
  return %1 : tensor<400x64xf32>
}
