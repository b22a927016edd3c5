// RUN: hlo-opt %s --simplify-hlo --split-input-file | filecheck %s

// A chain of operations on indices, a broadcast and an argument, whose values are used several times: only the slice
// is computed.

// CHECK-LABEL: func.func @static
// CHECK-SAME: (%[[X:.*]]: tensor<100x8xui32>, %[[K:.*]]: tensor<8xui32>)
// CHECK: %[[I:.*]] = hlo.iota dim = 0 : tensor<5x3xui32>
// CHECK: hlo.multiply %[[I]]
// CHECK: %[[P:.*]] = hlo.slice %[[X]] [10:20:2, 1:4]
// CHECK: %[[S:.*]] = hlo.slice %[[K]] [1:4]
// CHECK: hlo.broadcast_in_dim %[[S]], dims = [1] : {{.*}} -> tensor<5x3xui32>
// CHECK-NOT: tensor<100x8xui32> {{.*}}->
// CHECK: func.return %{{.*}} : tensor<5x3xui32>
func.func @static(%x: tensor<100x8xui32>, %k: tensor<8xui32>) -> tensor<5x3xui32> {
  %i = hlo.iota dim = 0 : tensor<100x8xui32>
  %b = hlo.broadcast_in_dim %k, dims = [1] : (tensor<8xui32>) -> tensor<100x8xui32>
  %1 = hlo.add %i, %x : tensor<100x8xui32>
  %2 = hlo.xor %1, %b : tensor<100x8xui32>
  %3 = hlo.multiply %2, %1 : tensor<100x8xui32>
  %4 = hlo.slice %3 [10:20:2, 1:4] : (tensor<100x8xui32>) -> tensor<5x3xui32>
  return %4 : tensor<5x3xui32>
}

// -----

// The first place is clamped for indices as the slice clamps it.

// CHECK-LABEL: func.func @dynamic
// CHECK-SAME: (%[[X:.*]]: tensor<100xf32>, %[[AT:.*]]: tensor<i32>)
// CHECK-DAG: hlo.iota dim = 0 : tensor<4xi32>
// CHECK-DAG: %[[LOW:.*]] = hlo.maximum %[[AT]]
// CHECK-DAG: hlo.minimum %[[LOW]]
// CHECK-DAG: hlo.dynamic_slice %[[X]], %[[AT]], sizes = [4]
// CHECK: hlo.sine %{{.*}} : tensor<4xf32>
func.func @dynamic(%x: tensor<100xf32>, %at: tensor<i32>) -> tensor<4xf32> {
  %i = hlo.iota dim = 0 : tensor<100xi64>
  %1 = hlo.convert %i : (tensor<100xi64>) -> tensor<100xf32>
  %2 = hlo.multiply %x, %1 : tensor<100xf32>
  %3 = hlo.sine %2 : tensor<100xf32>
  %4 = hlo.dynamic_slice %3, %at, sizes = [4] : (tensor<100xf32>, tensor<i32>) -> tensor<4xf32>
  return %4 : tensor<4xf32>
}

// -----

// Rows at places that are known at the run.

// CHECK-LABEL: func.func @rows
// CHECK-DAG: hlo.iota dim = 1 : tensor<3x8xi32>
// CHECK-DAG: hlo.broadcast_in_dim %{{.*}}, dims = [0] : (tensor<3xi32>) -> tensor<3x8xi32>
// CHECK-DAG: "hlo.gather"(%x, %at)
// CHECK-NOT: tensor<100x8xf32>{{$}}
func.func @rows(%x: tensor<100x8xf32>, %at: tensor<3x1xi32>) -> tensor<3x8xf32> {
  %i = hlo.iota dim = 0 : tensor<100x8xi32>
  %j = hlo.iota dim = 1 : tensor<100x8xi32>
  %0 = hlo.multiply %i, %j : tensor<100x8xi32>
  %1 = hlo.convert %0 : (tensor<100x8xi32>) -> tensor<100x8xf32>
  %2 = hlo.add %x, %1 : tensor<100x8xf32>
  %3 = hlo.multiply %2, %2 : tensor<100x8xf32>
  %4 = "hlo.gather"(%3, %at) <{dimension_numbers = #hlo.gather<offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>, indices_are_sorted = false, slice_sizes = array<i64: 1, 8>}> : (tensor<100x8xf32>, tensor<3x1xi32>) -> tensor<3x8xf32>
  return %4 : tensor<3x8xf32>
}

// -----

// Long rows, as many as there are: all but those that are asked for would be written. Rows of rows are gathered at once,
// also those of which something is computed in between; not more than there were before.

// CHECK-LABEL: func.func @long_rows
// CHECK: "hlo.gather"(%x, %at)
// CHECK: hlo.exponential %{{.*}} : tensor<100x16xf32>
// CHECK: %[[PLACES:.*]] = "hlo.gather"(%{{.*}}, %few) {{.*}} : (tensor<100xi32>, tensor<3x1xi32>) -> tensor<3xi32>
// CHECK: "hlo.gather"(%x, %[[PLACES]]) <{dimension_numbers = #hlo.gather<offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>, slice_sizes = array<i64: 1, 16>}> : (tensor<100x16xf32>, tensor<3xi32>) -> tensor<3x16xf32>
// CHECK: "hlo.gather"(%{{.*}}, %at) {{.*}} : (tensor<3x16xf32>, tensor<100x1xi32>) -> tensor<100x16xf32>
func.func @long_rows(%x: tensor<100x16xf32>, %at: tensor<100x1xi32>, %few: tensor<3x1xi32>) -> (tensor<100x16xf32>, tensor<3x16xf32>, tensor<100x16xf32>) {
  %0 = hlo.exponential %x : tensor<100x16xf32>
  %1 = "hlo.gather"(%0, %at) <{dimension_numbers = #hlo.gather<offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>, slice_sizes = array<i64: 1, 16>}> : (tensor<100x16xf32>, tensor<100x1xi32>) -> tensor<100x16xf32>
  %2 = "hlo.gather"(%x, %at) <{dimension_numbers = #hlo.gather<offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>, slice_sizes = array<i64: 1, 16>}> : (tensor<100x16xf32>, tensor<100x1xi32>) -> tensor<100x16xf32>
  %3 = hlo.negate %2 : tensor<100x16xf32>
  %4 = "hlo.gather"(%3, %few) <{dimension_numbers = #hlo.gather<offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>, slice_sizes = array<i64: 1, 16>}> : (tensor<100x16xf32>, tensor<3x1xi32>) -> tensor<3x16xf32>
  %5 = "hlo.gather"(%x, %few) <{dimension_numbers = #hlo.gather<offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>, slice_sizes = array<i64: 1, 16>}> : (tensor<100x16xf32>, tensor<3x1xi32>) -> tensor<3x16xf32>
  %6 = "hlo.gather"(%5, %at) <{dimension_numbers = #hlo.gather<offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>, slice_sizes = array<i64: 1, 16>}> : (tensor<3x16xf32>, tensor<100x1xi32>) -> tensor<100x16xf32>
  return %1, %4, %6 : tensor<100x16xf32>, tensor<3x16xf32>, tensor<100x16xf32>
}

// -----

// More than half, or used as a whole too: nothing is gained. A value that others share is computed for them.

// CHECK-LABEL: func.func @stay
// CHECK-COUNT-3: hlo.sine %{{.*}} : tensor<100xf32>
func.func @stay(%x: tensor<100xf32>) -> (tensor<51xf32>, tensor<4xf32>, tensor<100xf32>, tensor<4xf32>, tensor<f32>) {
  %zero = hlo.constant dense<0.0> : tensor<f32>
  %0 = hlo.negate %x : tensor<100xf32>
  %1 = hlo.sine %0 : tensor<100xf32>
  %2 = hlo.slice %1 [0:51] : (tensor<100xf32>) -> tensor<51xf32>
  %3 = hlo.cosine %x : tensor<100xf32>
  %4 = hlo.sine %3 : tensor<100xf32>
  %5 = hlo.slice %4 [0:4] : (tensor<100xf32>) -> tensor<4xf32>
  %6 = hlo.tanh %x : tensor<100xf32>
  %7 = hlo.sine %6 : tensor<100xf32>
  %8 = hlo.slice %7 [0:4] : (tensor<100xf32>) -> tensor<4xf32>
  %9 = hlo.reduce(%6 init: %zero) applies hlo.add across dimensions = [0] : (tensor<100xf32>, tensor<f32>) -> tensor<f32>
  return %2, %5, %4, %8, %9 : tensor<51xf32>, tensor<4xf32>, tensor<100xf32>, tensor<4xf32>, tensor<f32>
}

// -----

// A stride beyond the tensor, which is no number of its type.

// CHECK-LABEL: func.func @far
// CHECK-NEXT: %[[C:.*]] = hlo.constant dense<15> : tensor<1xui8>
// CHECK-NEXT: return %[[C]]
func.func @far() -> tensor<1xui8> {
  %three = hlo.constant dense<3> : tensor<100xui8>
  %0 = hlo.iota dim = 0 : tensor<100xui8>
  %1 = hlo.multiply %0, %three : tensor<100xui8>
  %2 = hlo.slice %1 [5:100:300] : (tensor<100xui8>) -> tensor<1xui8>
  return %2 : tensor<1xui8>
}

// -----

// A sharding names the dimensions of its own result: the parts have none. Other attributes stay.

// CHECK-LABEL: func.func @sharded
// CHECK: %[[P:.*]] = hlo.slice %{{.*}} [0:1, 0:4]
// CHECK-NEXT: hlo.sine %[[P]] {kept} : tensor<1x4xf32>
func.func @sharded(%x: tensor<8x4xf32>) -> tensor<1x4xf32> {
  %0 = hlo.sine %x {mhlo.sharding = "{devices=[8,1]<=[8]}", kept} : tensor<8x4xf32>
  %1 = hlo.slice %0 [0:1, 0:4] : (tensor<8x4xf32>) -> tensor<1x4xf32>
  return %1 : tensor<1x4xf32>
}
