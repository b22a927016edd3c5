// RUN: hlo-opt %s --verify-roundtrip | filecheck %s

// CHECK-LABEL: func.func @one_combiner
func.func @one_combiner(%x: tensor<4x6xf32>, %c: tensor<f32>) {
  // CHECK: hlo.reduce(%{{.*}} init: %{{.*}}) applies hlo.add across dimensions = [1] : (tensor<4x6xf32>, tensor<f32>) -> tensor<4xf32>
  %0 = stablehlo.reduce(%x init: %c) applies stablehlo.add across dimensions = [1] : (tensor<4x6xf32>, tensor<f32>) -> tensor<4xf32>
  // CHECK: hlo.reduce(%{{.*}} init: %{{.*}}) applies hlo.maximum across dimensions = [0, 1] : (tensor<4x6xf32>, tensor<f32>) -> tensor<f32>
  %1 = hlo.reduce(%x init: %c) across dimensions = [0, 1] : (tensor<4x6xf32>, tensor<f32>) -> tensor<f32>
   reducer(%a: tensor<f32>, %b: tensor<f32>) {
    %m = hlo.maximum %a, %b : tensor<f32>
    hlo.return %m : tensor<f32>
  }
  return
}

// Regions that do not fit the short form keep their bodies: other operations, an order that matters.
// CHECK-LABEL: func.func @bodies
func.func @bodies(%x: tensor<4x6xf32>, %k: tensor<4x6xi32>, %c: tensor<f32>, %d: tensor<i32>) {
  // CHECK:      hlo.reduce(%{{.*}} init: %{{.*}}) across dimensions = [0] : (tensor<4x6xf32>, tensor<f32>) -> tensor<6xf32>
  // CHECK-NEXT:  reducer(%[[A:.*]]: tensor<f32>, %[[B:.*]]: tensor<f32>) {
  // CHECK-NEXT:   %{{.*}} = hlo.subtract %[[A]], %[[B]] : tensor<f32>
  %0 = hlo.reduce(%x init: %c) across dimensions = [0] : (tensor<4x6xf32>, tensor<f32>) -> tensor<6xf32>
   reducer(%a: tensor<f32>, %b: tensor<f32>) {
    %m = hlo.subtract %a, %b : tensor<f32>
    hlo.return %m : tensor<f32>
  }
  // CHECK:      hlo.reduce(%{{.*}} init: %{{.*}}), (%{{.*}} init: %{{.*}}) across dimensions = [1] : (tensor<4x6xf32>, tensor<4x6xi32>, tensor<f32>, tensor<i32>) -> (tensor<4xf32>, tensor<4xi32>)
  // CHECK-NEXT:  reducer(%[[X:.*]]: tensor<f32>, %[[Y:.*]]: tensor<f32>) (%[[I:.*]]: tensor<i32>, %[[J:.*]]: tensor<i32>) {
  // CHECK-NEXT:   %[[C:.*]] = hlo.compare GE, %[[X]], %[[Y]], FLOAT
  // CHECK-NEXT:   %[[V:.*]] = hlo.select %[[C]], %[[X]], %[[Y]]
  // CHECK-NEXT:   %[[N:.*]] = hlo.select %[[C]], %[[I]], %[[J]]
  // CHECK-NEXT:   hlo.return %[[V]], %[[N]] : tensor<f32>, tensor<i32>
  %1:2 = hlo.reduce(%x init: %c), (%k init: %d) across dimensions = [1] : (tensor<4x6xf32>, tensor<4x6xi32>, tensor<f32>, tensor<i32>) -> (tensor<4xf32>, tensor<4xi32>)
   reducer(%a: tensor<f32>, %b: tensor<f32>) (%i: tensor<i32>, %j: tensor<i32>)  {
    %2 = hlo.compare GE, %a, %b, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
    %3 = hlo.select %2, %a, %b : tensor<i1>, tensor<f32>
    %4 = hlo.select %2, %i, %j : tensor<i1>, tensor<i32>
    hlo.return %3, %4 : tensor<f32>, tensor<i32>
  }
  return
}
