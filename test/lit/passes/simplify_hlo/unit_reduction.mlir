// RUN: hlo-opt %s --simplify-hlo | filecheck %s
// A reduction over dimensions of one element is its reducer, applied once.

// CHECK-LABEL: func.func @sum
// CHECK-NOT:     hlo.reduce
// CHECK:         hlo.reshape %{{.*}} : (tensor<4x1xf32>) -> tensor<4xf32>
// CHECK:         hlo.add %{{.*}} : tensor<4xf32>
// CHECK-NOT:     hlo.reduce
func.func @sum(%x: tensor<4x1xf32>, %i: tensor<f32>) -> tensor<4xf32> {
  %0 = hlo.reduce(%x init: %i) applies hlo.add across dimensions = [1] : (tensor<4x1xf32>, tensor<f32>) -> tensor<4xf32>
  func.return %0 : tensor<4xf32>
}

// CHECK-LABEL: func.func @largest_and_its_place
// CHECK-NOT:     hlo.reduce
// CHECK:         hlo.compare GE
// CHECK:         hlo.select
// CHECK:         hlo.select
func.func @largest_and_its_place(%x: tensor<1x3xf32>, %y: tensor<1x3xi32>, %i: tensor<f32>, %j: tensor<i32>) -> (tensor<3xf32>, tensor<3xi32>) {
  %0:2 = hlo.reduce(%x init: %i), (%y init: %j) across dimensions = [0] : (tensor<1x3xf32>, tensor<1x3xi32>, tensor<f32>, tensor<i32>) -> (tensor<3xf32>, tensor<3xi32>)
   reducer(%a: tensor<f32>, %c: tensor<f32>) (%b: tensor<i32>, %d: tensor<i32>) {
    %1 = hlo.compare GE, %a, %c, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
    %2 = hlo.select %1, %a, %c : tensor<i1>, tensor<f32>
    %3 = hlo.select %1, %b, %d : tensor<i1>, tensor<i32>
    hlo.return %2, %3 : tensor<f32>, tensor<i32>
  }
  func.return %0#0, %0#1 : tensor<3xf32>, tensor<3xi32>
}

// CHECK-LABEL: func.func @real_reduction
// CHECK:         hlo.reduce
func.func @real_reduction(%x: tensor<4x2xf32>, %i: tensor<f32>) -> tensor<4xf32> {
  %0 = hlo.reduce(%x init: %i) applies hlo.add across dimensions = [1] : (tensor<4x2xf32>, tensor<f32>) -> tensor<4xf32>
  func.return %0 : tensor<4xf32>
}

// The place of the only element is 0, whichever index is selected.
// CHECK-LABEL: func.func @place_of_the_only_element
// CHECK-NEXT:    %[[ZERO:.*]] = hlo.constant dense<0> : tensor<3xi32>
// CHECK-NEXT:    return %[[ZERO]]
func.func @place_of_the_only_element(%x: tensor<1x3xf32>) -> tensor<3xi32> {
  %y = hlo.iota dim = 0 : tensor<1x3xi32>
  %i = hlo.constant dense<0xFF800000> : tensor<f32>
  %j = hlo.constant dense<0> : tensor<i32>
  %0:2 = hlo.reduce(%x init: %i), (%y init: %j) across dimensions = [0] : (tensor<1x3xf32>, tensor<1x3xi32>, tensor<f32>, tensor<i32>) -> (tensor<3xf32>, tensor<3xi32>)
   reducer(%a: tensor<f32>, %c: tensor<f32>) (%b: tensor<i32>, %d: tensor<i32>) {
    %1 = hlo.compare GE, %a, %c, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
    %2 = hlo.select %1, %a, %c : tensor<i1>, tensor<f32>
    %3 = hlo.select %1, %b, %d : tensor<i1>, tensor<i32>
    hlo.return %2, %3 : tensor<f32>, tensor<i32>
  }
  func.return %0#1 : tensor<3xi32>
}
