// RUN: hlo-opt %s --verify-roundtrip | filecheck %s

// CHECK-LABEL: func.func @pooling
func.func @pooling(%x: tensor<4x6xf32>, %c: tensor<f32>) {
  // CHECK:      "hlo.reduce_window"(%{{.*}}, %{{.*}}) <{window_dimensions = array<i64: 2, 3>}> ({
  // CHECK-NEXT: ^bb{{.*}}(%{{.*}}: tensor<f32>, %{{.*}}: tensor<f32>):
  // CHECK:      }) : (tensor<4x6xf32>, tensor<f32>) -> tensor<3x4xf32>
  %0 = "stablehlo.reduce_window"(%x, %c) <{window_dimensions = array<i64: 2, 3>}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %m = stablehlo.maximum %a, %b : tensor<f32>
    stablehlo.return %m : tensor<f32>
  }) : (tensor<4x6xf32>, tensor<f32>) -> tensor<3x4xf32>
  // CHECK:      "hlo.reduce_window"(%{{.*}}) <{
  // CHECK-SAME: base_dilations = array<i64: 2, 1>
  // CHECK-SAME: padding = dense<{{\[\[}}1, 0], [-1, 2]]> : tensor<2x2xi64>
  // CHECK-SAME: window_dilations = array<i64: 1, 2>
  // CHECK-SAME: window_strides = array<i64: 3, 1>
  // CHECK:      -> tensor<3x3xf32>
  %1 = "hlo.reduce_window"(%x, %c) <{base_dilations = array<i64: 2, 1>, padding = dense<[[1, 0], [-1, 2]]> : tensor<2x2xi64>, window_dilations = array<i64: 1, 2>, window_dimensions = array<i64: 2, 3>, window_strides = array<i64: 3, 1>}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %m = hlo.maximum %a, %b : tensor<f32>
    hlo.return %m : tensor<f32>
  }) : (tensor<4x6xf32>, tensor<f32>) -> tensor<3x3xf32>
  return
}

// Several inputs, a wider accumulator, unknown sizes; the older form with dense lists.
// CHECK-LABEL: func.func @variadic
func.func @variadic(%x: tensor<8xf32>, %k: tensor<8xi8>, %c: tensor<f32>, %d: tensor<i8>, %u: tensor<?xf32>) {
  // CHECK:      "hlo.reduce_window"(%{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}) <{window_dimensions = array<i64: 3>}>
  // CHECK:      }) : (tensor<8xf32>, tensor<8xi8>, tensor<f32>, tensor<i8>) -> (tensor<6xf32>, tensor<6xi32>)
  %0:2 = "hlo.reduce_window"(%x, %k, %c, %d) ({
  ^bb0(%a: tensor<f32>, %i: tensor<i32>, %b: tensor<f32>, %j: tensor<i32>):
    %m = hlo.add %a, %b : tensor<f32>
    %n = hlo.add %i, %j : tensor<i32>
    hlo.return %m, %n : tensor<f32>, tensor<i32>
  }) {window_dimensions = dense<3> : tensor<1xi64>} : (tensor<8xf32>, tensor<8xi8>, tensor<f32>, tensor<i8>) -> (tensor<6xf32>, tensor<6xi32>)
  // CHECK:      }) : (tensor<?xf32>, tensor<f32>) -> tensor<?xf32>
  %1 = "hlo.reduce_window"(%u, %c) <{window_dimensions = array<i64: 3>}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %m = hlo.add %a, %b : tensor<f32>
    hlo.return %m : tensor<f32>
  }) : (tensor<?xf32>, tensor<f32>) -> tensor<?xf32>
  return
}

// CHECK-LABEL: func.func @gradient_of_pooling
func.func @gradient_of_pooling(%x: tensor<4x6xf32>, %s: tensor<2x3xf32>, %c: tensor<f32>) -> tensor<4x6xf32> {
  // CHECK:      "hlo.select_and_scatter"(%{{.*}}, %{{.*}}, %{{.*}}) <{window_dimensions = array<i64: 2, 2>, window_strides = array<i64: 2, 2>}> ({
  // CHECK:        hlo.compare GE
  // CHECK:      }, {
  // CHECK:        hlo.add
  // CHECK:      }) : (tensor<4x6xf32>, tensor<2x3xf32>, tensor<f32>) -> tensor<4x6xf32>
  %0 = "stablehlo.select_and_scatter"(%x, %s, %c) <{window_dimensions = array<i64: 2, 2>, window_strides = array<i64: 2, 2>}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %p = stablehlo.compare GE, %a, %b : (tensor<f32>, tensor<f32>) -> tensor<i1>
    stablehlo.return %p : tensor<i1>
  }, {
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %m = stablehlo.add %a, %b : tensor<f32>
    stablehlo.return %m : tensor<f32>
  }) : (tensor<4x6xf32>, tensor<2x3xf32>, tensor<f32>) -> tensor<4x6xf32>
  return %0 : tensor<4x6xf32>
}
