// RUN: hlo-opt %s --simplify-hlo | filecheck %s
// A reduction along a stack of a few tensors applies its reducer to them, in their order.

// CHECK-LABEL: func.func @sum
// CHECK-NOT:     hlo.concatenate
// CHECK:         %[[A:.*]] = hlo.reshape %x : (tensor<4x1xf32>) -> tensor<4xf32>
// CHECK:         %[[FIRST:.*]] = hlo.add %{{.*}}, %[[A]] : tensor<4xf32>
// CHECK:         %[[B:.*]] = hlo.reshape %y : (tensor<4x1xf32>) -> tensor<4xf32>
// CHECK:         %[[SUM:.*]] = hlo.add %[[FIRST]], %[[B]] : tensor<4xf32>
// CHECK:         func.return %[[SUM]]
func.func @sum(%x: tensor<4x1xf32>, %y: tensor<4x1xf32>, %i: tensor<f32>) -> tensor<4xf32> {
  %0 = hlo.concatenate %x, %y, dim = 1 : (tensor<4x1xf32>, tensor<4x1xf32>) -> tensor<4x2xf32>
  %1 = hlo.reduce(%0 init: %i) applies hlo.add across dimensions = [1] : (tensor<4x2xf32>, tensor<f32>) -> tensor<4xf32>
  func.return %1 : tensor<4xf32>
}

// CHECK-LABEL: func.func @argmax
// CHECK-NOT:     hlo.concatenate
// CHECK-NOT:     hlo.reduce
// CHECK:         hlo.select
// CHECK-NOT:     hlo.reduce
func.func @argmax(%x: tensor<1x4xf32>, %y: tensor<1x4xf32>, %i: tensor<f32>, %j: tensor<i32>) -> tensor<4xi32> {
  %0 = hlo.concatenate %x, %y, dim = 0 : (tensor<1x4xf32>, tensor<1x4xf32>) -> tensor<2x4xf32>
  %1 = hlo.iota dim = 0 : tensor<2x4xi32>
  %2:2 = hlo.reduce(%0 init: %i), (%1 init: %j) across dimensions = [0] : (tensor<2x4xf32>, tensor<2x4xi32>, tensor<f32>, tensor<i32>) -> (tensor<4xf32>, tensor<4xi32>)
   reducer(%a: tensor<f32>, %c: tensor<f32>) (%b: tensor<i32>, %d: tensor<i32>) {
    %3 = hlo.compare GE, %a, %c, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
    %4 = hlo.select %3, %a, %c : tensor<i1>, tensor<f32>
    %5 = hlo.select %3, %b, %d : tensor<i1>, tensor<i32>
    hlo.return %4, %5 : tensor<f32>, tensor<i32>
  }
  func.return %2#1 : tensor<4xi32>
}

// Neither parts of several places, nor a stack that is needed itself.
// CHECK-LABEL: func.func @long_parts
// CHECK:         hlo.reduce
func.func @long_parts(%x: tensor<4x3xi32>, %y: tensor<4x1xi32>, %i: tensor<i32>) -> tensor<4xi32> {
  %0 = hlo.concatenate %x, %y, dim = 1 : (tensor<4x3xi32>, tensor<4x1xi32>) -> tensor<4x4xi32>
  %1 = hlo.reduce(%0 init: %i) applies hlo.add across dimensions = [1] : (tensor<4x4xi32>, tensor<i32>) -> tensor<4xi32>
  func.return %1 : tensor<4xi32>
}

// CHECK-LABEL: func.func @needed
// CHECK:         hlo.reduce
func.func @needed(%x: tensor<4x1xf32>, %y: tensor<4x1xf32>, %i: tensor<f32>) -> (tensor<4xf32>, tensor<4x2xf32>) {
  %0 = hlo.concatenate %x, %y, dim = 1 : (tensor<4x1xf32>, tensor<4x1xf32>) -> tensor<4x2xf32>
  %1 = hlo.reduce(%0 init: %i) applies hlo.add across dimensions = [1] : (tensor<4x2xf32>, tensor<f32>) -> tensor<4xf32>
  func.return %1, %0 : tensor<4xf32>, tensor<4x2xf32>
}

// Sums of short floats are rounded once.
// CHECK-LABEL: func.func @short_floats
// CHECK-NOT:     hlo.add {{.*}}bf16
// CHECK:         hlo.add %{{.*}} : tensor<4xf32>
// CHECK:         %[[TOTAL:.*]] = hlo.add %{{.*}} : tensor<4xf32>
// CHECK:         %[[ROUNDED:.*]] = hlo.convert %[[TOTAL]] : (tensor<4xf32>) -> tensor<4xbf16>
// CHECK:         func.return %[[ROUNDED]]
func.func @short_floats(%x: tensor<4x1xbf16>, %y: tensor<4x1xbf16>, %i: tensor<bf16>) -> tensor<4xbf16> {
  %0 = hlo.concatenate %x, %y, dim = 1 : (tensor<4x1xbf16>, tensor<4x1xbf16>) -> tensor<4x2xbf16>
  %1 = hlo.reduce(%0 init: %i) applies hlo.add across dimensions = [1] : (tensor<4x2xbf16>, tensor<bf16>) -> tensor<4xbf16>
  func.return %1 : tensor<4xbf16>
}

// Nor a reducer that reads a value from around it.
// CHECK-LABEL: func.func @captures
// CHECK:         hlo.reduce
func.func @captures(%x: tensor<4x1xf32>, %y: tensor<4x1xf32>, %i: tensor<f32>) -> tensor<4xf32> {
  %0 = hlo.concatenate %x, %y, dim = 1 : (tensor<4x1xf32>, tensor<4x1xf32>) -> tensor<4x2xf32>
  %1 = hlo.reduce(%0 init: %i) across dimensions = [1] : (tensor<4x2xf32>, tensor<f32>) -> tensor<4xf32>
   reducer(%a: tensor<f32>, %b: tensor<f32>) {
    %2 = hlo.add %a, %i : tensor<f32>
    %3 = hlo.add %2, %b : tensor<f32>
    hlo.return %3 : tensor<f32>
  }
  func.return %1 : tensor<4xf32>
}

// The order of a reducer's arguments stays.
// CHECK-LABEL: func.func @reversed
// CHECK:         %[[FIRST:.*]] = hlo.subtract %[[X:.*]], %i : tensor<bf16>
// CHECK:         hlo.subtract %{{.*}}, %[[FIRST]] : tensor<bf16>
func.func @reversed(%x: tensor<1xbf16>, %y: tensor<1xbf16>, %i: tensor<bf16>) -> tensor<bf16> {
  %0 = hlo.concatenate %x, %y, dim = 0 : (tensor<1xbf16>, tensor<1xbf16>) -> tensor<2xbf16>
  %1 = hlo.reduce(%0 init: %i) across dimensions = [0] : (tensor<2xbf16>, tensor<bf16>) -> tensor<bf16>
   reducer(%a: tensor<bf16>, %b: tensor<bf16>) {
    %2 = hlo.subtract %b, %a : tensor<bf16>
    hlo.return %2 : tensor<bf16>
  }
  func.return %1 : tensor<bf16>
}
