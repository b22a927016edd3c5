// RUN: hlo-opt %s --convert-hlo-to-linalg | filecheck %s

// The total order of floats is that of their bits as integers, all but the sign flipped in negative ones.
// CHECK-LABEL: @orders
// CHECK:         %[[BITS:[0-9]+]] = arith.bitcast %{{.*}} : f32 to i32
// CHECK:         %[[SIGN:[0-9]+]] = arith.shrsi %[[BITS]], %{{.*}} : i32
// CHECK:         %[[FLIP:[0-9]+]] = arith.andi %[[SIGN]], %{{.*}} : i32
// CHECK:         %[[KEY:[0-9]+]] = arith.xori %[[BITS]], %[[FLIP]] : i32
// CHECK:         arith.cmpi slt, %[[KEY]], %{{.*}} : i32
func.func private @orders(%x: tensor<4xf32>, %y: tensor<4xf32>) -> tensor<4xi1> attributes {hlo.kernel = "loop"} {
  %0 = hlo.compare LT, %x, %y, TOTALORDER : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xi1>
  return %0 : tensor<4xi1>
}

// NE is the one direction that holds for NaN.
// CHECK-LABEL: @nan
// CHECK:         arith.cmpf une
// CHECK:         arith.cmpf oeq
func.func private @nan(%x: tensor<4xf32>) -> (tensor<4xi1>, tensor<4xi1>) attributes {hlo.kernel = "loop"} {
  %0 = hlo.compare NE, %x, %x : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xi1>
  %1 = hlo.compare EQ, %x, %x : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xi1>
  return %0, %1 : tensor<4xi1>, tensor<4xi1>
}

// The predicate keeps the signedness that the types lose.
// CHECK-LABEL: @unsigned
// CHECK-SAME:    tensor<4xi8>
// CHECK:         arith.cmpi uge, %{{.*}} : i8
func.func private @unsigned(%x: tensor<4xui8>, %y: tensor<4xui8>) -> tensor<4xi1> attributes {hlo.kernel = "loop"} {
  %0 = hlo.compare GE, %x, %y : (tensor<4xui8>, tensor<4xui8>) -> tensor<4xi1>
  return %0 : tensor<4xi1>
}

// Operands of rank 0 are broadcast by their index maps.
// CHECK-LABEL: @one_predicate
// CHECK:         indexing_maps = [affine_map<(d0) -> ()>, affine_map<(d0) -> (d0)>,
// CHECK:         arith.select
func.func private @one_predicate(%p: tensor<i1>, %x: tensor<4xf32>, %y: tensor<4xf32>) -> tensor<4xf32> attributes {hlo.kernel = "loop"} {
  %0 = hlo.select %p, %x, %y : tensor<i1>, tensor<4xf32>
  return %0 : tensor<4xf32>
}

// CHECK-LABEL: @clamp
// CHECK:         ^bb0(%[[L:[0-9]+]]: f32, %[[X:[0-9]+]]: f32, %[[H:[0-9]+]]: f32,
// CHECK-NEXT:      %[[M:[0-9]+]] = arith.maximumf %[[X]], %[[L]] : f32
// CHECK-NEXT:      arith.minimumf %[[M]], %[[H]] : f32
func.func private @clamp(%l: tensor<f32>, %x: tensor<4xf32>, %h: tensor<f32>) -> tensor<4xf32> attributes {hlo.kernel = "loop"} {
  %0 = hlo.clamp %l, %x, %h : (tensor<f32>, tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}
