// RUN: hlo-opt %s --bufferize | filecheck %s
// Results become parameters that the function writes; nothing is copied.

#id = affine_map<(d0) -> (d0)>

// CHECK-LABEL: func.func private @elementwise
// CHECK-SAME:    (%{{.*}}: memref<8xf32>, %{{.*}}: memref<8xf32>) attributes
// CHECK-NEXT:    linalg.generic {{.*}} ins(%{{.*}} : memref<8xf32>) outs(%{{.*}} : memref<8xf32>)
// CHECK:         func.return
func.func private @elementwise(%x: tensor<8xf32>) -> tensor<8xf32> attributes {hlo.kernel = "loop"} {
  %e = tensor.empty() : tensor<8xf32>
  %r = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel"]} ins(%x : tensor<8xf32>) outs(%e : tensor<8xf32>) {
  ^bb0(%a: f32, %o: f32):
    %s = arith.addf %a, %a : f32
    linalg.yield %s : f32
  } -> tensor<8xf32>
  func.return %r : tensor<8xf32>
}

// Each operand of a concatenation is computed in its slice of the result.
// CHECK-LABEL: func.func private @concatenate
// CHECK-SAME:    (%[[A:.*]]: memref<8xf32>, %[[OUT:.*]]: memref<16xf32>)
// CHECK-DAG:     %[[LOW:.*]] = memref.subview %[[OUT]][0] [8] [1]
// CHECK-DAG:     linalg.generic {{.*}} ins(%[[A]] : memref<8xf32>) outs(%[[LOW]] :
// CHECK:         %[[HIGH:.*]] = memref.subview %[[OUT]][8] [8] [1]
// CHECK-NEXT:    "memref.copy"(%[[A]], %[[HIGH]])
func.func private @concatenate(%x: tensor<8xf32>) -> tensor<16xf32> attributes {hlo.kernel = "concatenate"} {
  %e = tensor.empty() : tensor<8xf32>
  %r = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel"]} ins(%x : tensor<8xf32>) outs(%e : tensor<8xf32>) {
  ^bb0(%a: f32, %o: f32):
    %s = arith.addf %a, %a : f32
    linalg.yield %s : f32
  } -> tensor<8xf32>
  %w = tensor.empty() : tensor<16xf32>
  %i = tensor.insert_slice %r into %w[0] [8] [1] : tensor<8xf32> into tensor<16xf32>
  %j = tensor.insert_slice %x into %i[8] [8] [1] : tensor<8xf32> into tensor<16xf32>
  func.return %j : tensor<16xf32>
}

// An update in place has no parameter for its result.
// CHECK-LABEL: func.func private @update
// CHECK-SAME:    (%[[BASE:.*]]: memref<4x8xf32>, %[[ROW:.*]]: memref<1x8xf32>, %[[I:.*]]: memref<i32>)
// CHECK-NEXT:    %[[LOADED:.*]] = memref.load %[[I]][]
// CHECK-NEXT:    %[[AT:.*]] = arith.index_cast %[[LOADED]]
// CHECK-NEXT:    %[[SLICE:.*]] = memref.subview %[[BASE]][%[[AT]], 0] [1, 8] [1, 1]
// CHECK-NEXT:    "memref.copy"(%[[ROW]], %[[SLICE]])
func.func private @update(%b: tensor<4x8xf32>, %x: tensor<1x8xf32>, %i: tensor<i32>) -> tensor<4x8xf32> attributes {hlo.kernel = "update", hlo.tied = array<i64: 0>} {
  %s = tensor.extract %i[] : tensor<i32>
  %si = arith.index_cast %s : i32 to index
  %r = tensor.insert_slice %x into %b[%si, 0] [1, 8] [1, 1] : tensor<1x8xf32> into tensor<4x8xf32>
  func.return %r : tensor<4x8xf32>
}

// A tensor that is filled before it goes to a computed place has a buffer of its own.
// CHECK-LABEL: func.func private @fill_and_update
// CHECK-SAME:    (%[[BASE:.*]]: memref<4x8xf32>, %{{.*}}: memref<f32>, %{{.*}}: memref<i32>)
// CHECK:         %[[ROW:.*]] = memref.alloc() {{.*}} memref<1x8xf32>
// CHECK:         linalg.generic {{.*}} outs(%[[ROW]] : memref<1x8xf32>)
// CHECK:         %[[SLICE:.*]] = memref.subview %[[BASE]][%{{.*}}, 0] [1, 8] [1, 1]
// CHECK-NEXT:    "memref.copy"(%[[ROW]], %[[SLICE]])
func.func private @fill_and_update(%b: tensor<4x8xf32>, %x: tensor<f32>, %i: tensor<i32>) -> tensor<4x8xf32> attributes {hlo.kernel = "update", hlo.tied = array<i64: 0>} {
  %e = tensor.empty() : tensor<1x8xf32>
  %f = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> ()>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%x : tensor<f32>) outs(%e : tensor<1x8xf32>) {
  ^bb0(%a: f32, %o: f32):
    linalg.yield %a : f32
  } -> tensor<1x8xf32>
  %s = tensor.extract %i[] : tensor<i32>
  %si = arith.index_cast %s : i32 to index
  %r = tensor.insert_slice %f into %b[%si, 0] [1, 8] [1, 1] : tensor<1x8xf32> into tensor<4x8xf32>
  func.return %r : tensor<4x8xf32>
}

// A part that is computed before the whole is filled is copied there afterwards.
// CHECK-LABEL: func.func private @fill_after
// CHECK-SAME:    (%[[X:.*]]: memref<8xf32>, %[[PAD:.*]]: memref<f32>, %[[OUT:.*]]: memref<16xf32>)
// CHECK:         %[[PART:.*]] = memref.alloc() {{.*}} memref<8xf32>
// CHECK:         linalg.generic {{.*}} ins(%[[X]] : memref<8xf32>) outs(%[[PART]] : memref<8xf32>)
// CHECK:         linalg.generic {{.*}} ins(%[[PAD]] : memref<f32>) outs(%[[OUT]] : memref<16xf32>)
// CHECK:         %[[SLICE:.*]] = memref.subview %[[OUT]][1] [8] [2]
// CHECK-NEXT:    "memref.copy"(%[[PART]], %[[SLICE]])
func.func private @fill_after(%x: tensor<8xf32>, %pad: tensor<f32>) -> tensor<16xf32> attributes {hlo.kernel = "loop"} {
  %e = tensor.empty() : tensor<8xf32>
  %r = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel"]} ins(%x : tensor<8xf32>) outs(%e : tensor<8xf32>) {
  ^bb0(%a: f32, %o: f32):
    %s = arith.addf %a, %a : f32
    linalg.yield %s : f32
  } -> tensor<8xf32>
  %w = tensor.empty() : tensor<16xf32>
  %f = linalg.generic {indexing_maps = [affine_map<(d0) -> ()>, #id], iterator_types = ["parallel"]} ins(%pad : tensor<f32>) outs(%w : tensor<16xf32>) {
  ^bb0(%a: f32, %o: f32):
    linalg.yield %a : f32
  } -> tensor<16xf32>
  %i = tensor.insert_slice %r into %f[1] [8] [2] : tensor<8xf32> into tensor<16xf32>
  func.return %i : tensor<16xf32>
}
