// RUN: hlo-opt %s --resolve-dynamic-shapes | filecheck %s

// The sizes are computed from the argument's type; every type downstream follows, the function's result too.
// CHECK-LABEL: func.func @main(%x: tensor<6x4xf32>) -> tensor<12x2xf32>
// CHECK:         %[[R:.*]] = hlo.reshape %x : (tensor<6x4xf32>) -> tensor<12x2xf32>
// CHECK:         %[[N:.*]] = hlo.negate %[[R]] : tensor<12x2xf32>
// CHECK:         %[[B:.*]] = hlo.broadcast_in_dim %{{.*}}, dims = [] : (tensor<f32>) -> tensor<12x2xf32>
// CHECK:         %[[I:.*]] = hlo.iota dim = 1 : tensor<12x2xf32>
// CHECK:         hlo.add %[[B]], %[[I]] : tensor<12x2xf32>
func.func @main(%x: tensor<6x4xf32>) -> tensor<?x?xf32> {
  %two = hlo.constant dense<2> : tensor<1xi32>
  %half = hlo.constant dense<0.5> : tensor<f32>
  %n = hlo.get_dimension_size %x, dim = 0 : (tensor<6x4xf32>) -> tensor<i32>
  %0 = hlo.reshape %n : (tensor<i32>) -> tensor<1xi32>
  %1 = hlo.multiply %0, %two : tensor<1xi32>
  %2 = hlo.concatenate %1, %two, dim = 0 : (tensor<1xi32>, tensor<1xi32>) -> tensor<2xi32>
  %3 = hlo.dynamic_reshape %x, %2 : (tensor<6x4xf32>, tensor<2xi32>) -> tensor<?x?xf32>
  %4 = hlo.negate %3 : tensor<?x?xf32>
  %5 = hlo.dynamic_broadcast_in_dim %half, %2, dims = [] : (tensor<f32>, tensor<2xi32>) -> tensor<?x?xf32>
  %6 = hlo.dynamic_iota %2, dim = 1 : (tensor<2xi32>) -> tensor<?x?xf32>
  %7 = hlo.add %5, %6 : tensor<?x?xf32>
  %8 = hlo.add %4, %7 : tensor<?x?xf32>
  return %8 : tensor<?x?xf32>
}

// CHECK-LABEL: func.func @pads_and_slices
// CHECK:         hlo.pad %x, %z, low = [1, 0], high = [0, 2], interior = [0, 1] : (tensor<2x3xf32>, tensor<f32>) -> tensor<3x7xf32>
// CHECK:         hlo.slice %x [0:2, 0:3:2] : (tensor<2x3xf32>) -> tensor<2x2xf32>
// CHECK:         hlo.slice %x [0:1, 0:3] : (tensor<2x3xf32>) -> tensor<1x3xf32>
func.func @pads_and_slices(%x: tensor<2x3xf32>, %z: tensor<f32>) -> (tensor<?x?xf32>, tensor<?x?xf32>, tensor<?x3xf32>) {
  %low = hlo.constant dense<[1, 0]> : tensor<2xi64>
  %high = hlo.constant dense<[0, 2]> : tensor<2xi64>
  %interior = hlo.constant dense<[0, 1]> : tensor<2xi64>
  %zeros = hlo.constant dense<0> : tensor<2xi64>
  %limits = hlo.constant dense<[2, 3]> : tensor<2xi64>
  %strides = hlo.constant dense<[1, 2]> : tensor<2xi64>
  %one = hlo.constant dense<1> : tensor<i32>
  %0 = hlo.dynamic_pad %x, %z, %low, %high, %interior : (tensor<2x3xf32>, tensor<f32>, tensor<2xi64>, tensor<2xi64>, tensor<2xi64>) -> tensor<?x?xf32>
  %1 = hlo.real_dynamic_slice %x, %zeros, %limits, %strides : (tensor<2x3xf32>, tensor<2xi64>, tensor<2xi64>, tensor<2xi64>) -> tensor<?x?xf32>
  %2 = hlo.set_dimension_size %x, %one, dim = 0 : (tensor<2x3xf32>, tensor<i32>) -> tensor<?x3xf32>
  return %0, %1, %2 : tensor<?x?xf32>, tensor<?x?xf32>, tensor<?x3xf32>
}

// A loop whose state keeps its shape becomes static; one whose body would change the shape does not.
// CHECK-LABEL: func.func @loop(%x: tensor<4xf32>, %c: tensor<i1>) -> tensor<4xf32>
// CHECK:         hlo.while(%{{.*}} = %{{.*}}) : tensor<4xf32>
func.func @loop(%x: tensor<4xf32>, %c: tensor<i1>) -> tensor<?xf32> {
  %s = hlo.constant dense<4> : tensor<1xi64>
  %0 = hlo.dynamic_reshape %x, %s : (tensor<4xf32>, tensor<1xi64>) -> tensor<?xf32>
  %1 = hlo.while(%a = %0) : tensor<?xf32>
   cond {
    hlo.return %c : tensor<i1>
  } do {
    %2 = hlo.negate %a : tensor<?xf32>
    hlo.return %2 : tensor<?xf32>
  }
  return %1 : tensor<?xf32>
}

// Shapes that depend on a value stay dynamic.
// CHECK-LABEL: func.func @unknown
// CHECK:         hlo.dynamic_iota %s, dim = 0 : (tensor<1xi64>) -> tensor<?xi32>
func.func @unknown(%s: tensor<1xi64>) -> tensor<?xi32> {
  %0 = hlo.dynamic_iota %s, dim = 0 : (tensor<1xi64>) -> tensor<?xi32>
  return %0 : tensor<?xi32>
}
