// RUN: hlo-opt %s --convert-hlo-to-linalg | filecheck %s

// Rows at clamped indices: the index is an operand, so that its producer can be fused.
// CHECK-LABEL: @gather
// CHECK:         linalg.generic {{.*}} ins(%i : tensor<7x1xi32>)
// CHECK:           %[[WIDE:.*]] = arith.extsi
// CHECK:           %[[LOW:.*]] = arith.maxsi %[[WIDE]],
// CHECK:           %[[START:.*]] = arith.minsi %[[LOW]],
// CHECK:           %[[ROW:.*]] = arith.index_cast %[[START]]
// CHECK:           tensor.extract %x[%[[ROW]], %{{.*}}]
func.func private @gather(%x: tensor<5x3xf32>, %i: tensor<7x1xi32>) -> tensor<7x3xf32> attributes {hlo.kernel = "loop"} {
  %0 = "hlo.gather"(%x, %i) <{dimension_numbers = #hlo.gather<offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>, slice_sizes = array<i64: 1, 3>}> : (tensor<5x3xf32>, tensor<7x1xi32>) -> tensor<7x3xf32>
  return %0 : tensor<7x3xf32>
}

// CHECK-LABEL: @scatter
// CHECK:         linalg_ext.scatter {window = array<i64: 1>, inserted = array<i64: 0>, batching = array<i64>, index_batching = array<i64>, index_map = array<i64: 0>, vector_dim = 1 : i64, is_unsigned = true, is_unique = false} ins(%i, %u : tensor<7x1xi8>, tensor<7x3xf32>) outs(%x : tensor<5x3xf32>) ({
// CHECK:           arith.addf
func.func private @scatter(%x: tensor<5x3xf32>, %i: tensor<7x1xui8>, %u: tensor<7x3xf32>) -> tensor<5x3xf32> attributes {hlo.kernel = "custom"} {
  %0 = "hlo.scatter"(%x, %i, %u) <{scatter_dimension_numbers = #hlo.scatter<update_window_dims = [1], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %m = hlo.add %a, %b : tensor<f32>
    hlo.return %m : tensor<f32>
  }) : (tensor<5x3xf32>, tensor<7x1xui8>, tensor<7x3xf32>) -> tensor<5x3xf32>
  return %0 : tensor<5x3xf32>
}

// One key: an integer with the key's order. A signed key has its sign bit inverted; GT inverts all bits.
// CHECK-LABEL: @by_key
// CHECK:         linalg_ext.sort_by_key {dimension = 0 : i64} outs(%x, %y : tensor<9xi32>, tensor<9xf32>) ({
// CHECK:           %[[SIGN:.*]] = arith.constant -2147483648 : i32
// CHECK:           %[[KEY:.*]] = arith.xori %{{.*}}, %[[SIGN]]
// CHECK:           arith.constant -1 : i32
// CHECK:           arith.xori %[[KEY]],
func.func private @by_key(%x: tensor<9xi32>, %y: tensor<9xf32>) -> (tensor<9xi32>, tensor<9xf32>) attributes {hlo.kernel = "custom"} {
  %0:2 = "hlo.sort"(%x, %y) <{dimension = -1 : i64}> ({
  ^bb0(%a: tensor<i32>, %b: tensor<i32>, %c: tensor<f32>, %d: tensor<f32>):
    %p = hlo.compare GT, %a, %b : (tensor<i32>, tensor<i32>) -> tensor<i1>
    hlo.return %p : tensor<i1>
  }) : (tensor<9xi32>, tensor<9xf32>) -> (tensor<9xi32>, tensor<9xf32>)
  return %0#0, %0#1 : tensor<9xi32>, tensor<9xf32>
}

// Two keys are one of 64 bits, the first one above.
// CHECK-LABEL: @by_two_keys
// CHECK:         linalg_ext.sort_by_key {dimension = 0 : i64} outs(%x, %y : tensor<9xi32>, tensor<9xi16>) ({
// CHECK:           %[[FIRST:.*]] = arith.extui %{{.*}} : i32 to i64
// CHECK:           %[[SECOND:.*]] = arith.extui %{{.*}} : i16 to i64
// CHECK:           %[[WIDTH:.*]] = arith.constant 16 : i64
// CHECK:           %[[ABOVE:.*]] = arith.shli %[[FIRST]], %[[WIDTH]]
// CHECK:           arith.ori %[[ABOVE]], %[[SECOND]]
func.func private @by_two_keys(%x: tensor<9xi32>, %y: tensor<9xi16>) -> (tensor<9xi32>, tensor<9xi16>) attributes {hlo.kernel = "custom"} {
  %0:2 = "hlo.sort"(%x, %y) <{dimension = 0 : i64}> ({
  ^bb0(%a: tensor<i32>, %b: tensor<i32>, %c: tensor<i16>, %d: tensor<i16>):
    %less = hlo.compare LT, %a, %b : (tensor<i32>, tensor<i32>) -> tensor<i1>
    %same = hlo.compare EQ, %a, %b : (tensor<i32>, tensor<i32>) -> tensor<i1>
    %next = hlo.compare LT, %c, %d : (tensor<i16>, tensor<i16>) -> tensor<i1>
    %both = hlo.and %same, %next : tensor<i1>
    %p = hlo.or %less, %both : tensor<i1>
    hlo.return %p : tensor<i1>
  }) : (tensor<9xi32>, tensor<9xi16>) -> (tensor<9xi32>, tensor<9xi16>)
  return %0#0, %0#1 : tensor<9xi32>, tensor<9xi16>
}

// The key of one array's elements gives the element back, but for -0: it is sorted as +0.
// CHECK-LABEL: @by_own_key
// CHECK:         linalg_ext.sort_by_key {dimension = 0 : i64} outs(%x : tensor<9xf32>) ({
// CHECK:         }, {
// CHECK-NEXT:    ^{{.*}}(%[[KEY:.*]]: i32):
// CHECK:           %[[BITS:.*]] = arith.xori %[[KEY]], %{{.*}} : i32
// CHECK-NEXT:      %[[X:.*]] = arith.bitcast %[[BITS]] : i32 to f32
// CHECK-NEXT:      linalg_ext.yield %[[X]] : f32
func.func private @by_own_key(%x: tensor<9xf32>) -> tensor<9xf32> attributes {hlo.kernel = "custom"} {
  %0 = "hlo.sort"(%x) <{dimension = 0 : i64}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %p = hlo.compare LT, %a, %b : (tensor<f32>, tensor<f32>) -> tensor<i1>
    hlo.return %p : tensor<i1>
  }) : (tensor<9xf32>) -> tensor<9xf32>
  return %0 : tensor<9xf32>
}

// The absolute value does not.
// CHECK-LABEL: @by_another_key
// CHECK:         linalg_ext.sort_by_key
// CHECK-NOT:     bitcast %{{.*}} : i32 to f32
func.func private @by_another_key(%x: tensor<9xf32>) -> tensor<9xf32> attributes {hlo.kernel = "custom"} {
  %0 = "hlo.sort"(%x) <{dimension = 0 : i64}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %c = hlo.abs %a : tensor<f32>
    %d = hlo.abs %b : tensor<f32>
    %p = hlo.compare LT, %c, %d : (tensor<f32>, tensor<f32>) -> tensor<i1>
    hlo.return %p : tensor<i1>
  }) : (tensor<9xf32>) -> tensor<9xf32>
  return %0 : tensor<9xf32>
}

// CHECK-LABEL: @by_comparator
// CHECK:         linalg_ext.sort {dimension = 0 : i64} outs(%x : tensor<9xf32>) ({
// CHECK:           arith.cmpf ole
func.func private @by_comparator(%x: tensor<9xf32>) -> tensor<9xf32> attributes {hlo.kernel = "custom"} {
  %0 = "hlo.sort"(%x) <{dimension = 0 : i64}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %p = hlo.compare LE, %a, %b : (tensor<f32>, tensor<f32>) -> tensor<i1>
    hlo.return %p : tensor<i1>
  }) : (tensor<9xf32>) -> tensor<9xf32>
  return %0 : tensor<9xf32>
}
