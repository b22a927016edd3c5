// RUN: hlo-opt --verify-roundtrip %s | filecheck %s

// CHECK: func.func @sizes(%a: tensor<?x4xf32>, %s: !shape.shape)
func.func @sizes(%a: tensor<?x4xf32>, %s: !shape.shape) -> (index, !shape.size) {
  // CHECK: %[[SHAPE:.*]] = shape.shape_of %a : tensor<?x4xf32> -> tensor<2xindex>
  %0 = shape.shape_of %a : tensor<?x4xf32> -> tensor<2xindex>
  // CHECK: shape.num_elements %[[SHAPE]] : tensor<2xindex> -> index
  %1 = shape.num_elements %0 : tensor<2xindex> -> index
  // CHECK: %[[RANK:.*]] = shape.rank %s : !shape.shape -> !shape.size
  %2 = shape.rank %s : !shape.shape -> !shape.size
  // CHECK: shape.size_to_index %[[RANK]] : !shape.size
  %3 = shape.size_to_index %2 : !shape.size
  // CHECK: shape.index_to_size
  %4 = shape.index_to_size %3
  // CHECK: shape.get_extent %[[SHAPE]], %{{.*}} : tensor<2xindex>, index -> index
  %5 = shape.get_extent %0, %3 : tensor<2xindex>, index -> index
  // CHECK: shape.dim %a, %{{.*}} : tensor<?x4xf32>, index -> index
  %6 = shape.dim %a, %5 : tensor<?x4xf32>, index -> index
  // CHECK: shape.mul %{{.*}}, %{{.*}} : index, index -> index
  %7 = shape.mul %6, %1 : index, index -> index
  // CHECK: shape.const_size 12
  %8 = shape.const_size 12
  // CHECK: shape.add %{{.*}}, %{{.*}} : !shape.size, !shape.size -> !shape.size
  %9 = shape.add %8, %4 : !shape.size, !shape.size -> !shape.size
  func.return %7, %9 : index, !shape.size
}

// CHECK: func.func @shapes
func.func @shapes(%a: tensor<2xindex>, %b: tensor<3xindex>, %s: !shape.shape) -> (tensor<3xindex>, !shape.shape) {
  // CHECK: shape.broadcast %a, %b : tensor<2xindex>, tensor<3xindex> -> tensor<3xindex>
  %0 = shape.broadcast %a, %b : tensor<2xindex>, tensor<3xindex> -> tensor<3xindex>
  // CHECK: shape.broadcast %a, %b, %s {error = "no common shape"} : tensor<2xindex>, tensor<3xindex>, !shape.shape -> !shape.shape
  %1 = shape.broadcast %a, %b, %s {error = "no common shape"} : tensor<2xindex>, tensor<3xindex>, !shape.shape -> !shape.shape
  // CHECK: shape.to_extent_tensor %{{.*}} : !shape.shape -> tensor<?xindex>
  %2 = shape.to_extent_tensor %1 : !shape.shape -> tensor<?xindex>
  // CHECK: shape.from_extent_tensor %a : tensor<2xindex>
  %3 = shape.from_extent_tensor %a : tensor<2xindex>
  // CHECK: shape.const_shape [6, 4] : tensor<2xindex>
  %4 = shape.const_shape [6, 4] : tensor<2xindex>
  // CHECK: shape.const_shape [] : !shape.shape
  %5 = shape.const_shape [] : !shape.shape
  // CHECK: shape.concat %{{.*}}, %{{.*}} : !shape.shape, !shape.shape -> !shape.shape
  %6 = shape.concat %3, %5 : !shape.shape, !shape.shape -> !shape.shape
  // CHECK: shape.shape_eq %a, %{{.*}} : tensor<2xindex>, tensor<2xindex>
  %7 = shape.shape_eq %a, %4 : tensor<2xindex>, tensor<2xindex>
  func.return %0, %6 : tensor<3xindex>, !shape.shape
}

// CHECK: func.func @constraints
func.func @constraints(%a: tensor<2xindex>, %b: tensor<2xindex>, %x: tensor<?x2xf32>, %ok: i1) -> tensor<?x4xf32> {
  // CHECK: %[[FIT:.*]] = shape.cstr_broadcastable %a, %b : tensor<2xindex>, tensor<2xindex>
  %0 = shape.cstr_broadcastable %a, %b : tensor<2xindex>, tensor<2xindex>
  // CHECK: shape.cstr_require %ok, "not that one"
  %1 = shape.cstr_require %ok, "not that one"
  // CHECK: shape.const_witness true
  %2 = shape.const_witness true
  // CHECK: %[[ALL:.*]] = shape.assuming_all %[[FIT]], %{{.*}}, %{{.*}}
  %3 = shape.assuming_all %0, %1, %2
  // CHECK: shape.assuming %[[ALL]] -> (tensor<?x4xf32>) {
  %4 = shape.assuming %3 -> (tensor<?x4xf32>) {
    // CHECK: hlo.dynamic_reshape
    %5 = stablehlo.dynamic_reshape %x, %b : (tensor<?x2xf32>, tensor<2xindex>) -> tensor<?x4xf32>
    // CHECK: shape.assuming_yield %{{.*}} : tensor<?x4xf32>
    shape.assuming_yield %5 : tensor<?x4xf32>
  }
  func.return %4 : tensor<?x4xf32>
}
