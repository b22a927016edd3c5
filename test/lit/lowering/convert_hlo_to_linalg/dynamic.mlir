// RUN: hlo-opt %s --convert-hlo-to-linalg | filecheck %s

// Clamped to [0, 7 - 3] once, outside of the loop.
// CHECK-LABEL: @signed
// CHECK:         %[[I:[0-9]+]] = arith.extsi %{{.*}} : i32 to i64
// CHECK:         %[[MAX:[0-9]+]] = arith.maxsi %[[I]], %{{.*}} : i64
// CHECK:         arith.constant 4 : i64
// CHECK:         %[[MIN:[0-9]+]] = arith.minsi %[[MAX]], %{{.*}} : i64
// CHECK:         %[[START:[0-9]+]] = arith.index_cast %[[MIN]] : i64 to index
// CHECK:         linalg.generic
// CHECK:           %[[PLACE:[0-9]+]] = arith.addi %{{.*}}, %[[START]] : index
// CHECK:           tensor.extract %x[%[[PLACE]]{{\]}}
func.func private @signed(%x: tensor<7xf32>, %i: tensor<i32>) -> tensor<3xf32> attributes {hlo.kernel = "loop"} {
  %0 = hlo.dynamic_slice %x, %i, sizes = [3] : (tensor<7xf32>, tensor<i32>) -> tensor<3xf32>
  return %0 : tensor<3xf32>
}

// An unsigned start never looks negative; the update goes into the argument that the result is tied to.
// CHECK-LABEL: @update
// CHECK:         %[[I:[0-9]+]] = arith.extui %{{.*}} : i8 to i64
// CHECK:         arith.minui %[[I]], %{{.*}} : i64
// CHECK:         %[[START:[0-9]+]] = arith.index_cast
// CHECK-NEXT:    tensor.insert_slice %u into %x[%[[START]]{{\]}} [3] [1] :
func.func private @update(%x: tensor<7xf32>, %u: tensor<3xf32>, %i: tensor<ui8>) -> tensor<7xf32> attributes {hlo.kernel = "update", hlo.tied = array<i64: 0>} {
  %0 = hlo.dynamic_update_slice %x, %u, %i : (tensor<7xf32>, tensor<3xf32>, tensor<ui8>) -> tensor<7xf32>
  return %0 : tensor<7xf32>
}

// Inside of the operand by what is known of the start: not clamped.
// CHECK-LABEL: @in_bounds
// CHECK-NOT:     arith.maxsi
// CHECK-NOT:     arith.minsi
// CHECK:         %[[I:[0-9]+]] = arith.extsi %{{.*}} : i32 to i64
// CHECK-NEXT:    arith.index_cast %[[I]] : i64 to index
func.func private @in_bounds(%x: tensor<7xf32>, %i: tensor<i32>) -> tensor<3xf32> attributes {hlo.kernel = "loop"} {
  %0 = hlo.dynamic_slice %x, %i, sizes = [3] {xhlo.in_bounds} : (tensor<7xf32>, tensor<i32>) -> tensor<3xf32>
  return %0 : tensor<3xf32>
}
