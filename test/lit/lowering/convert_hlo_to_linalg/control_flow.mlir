// RUN: hlo-opt %s --convert-hlo-to-linalg | filecheck %s

// CHECK-LABEL: func.func @main
// CHECK:         %[[R:.*]] = scf.while
// CHECK:           %[[C:.*]] = func.call @go
// CHECK-NEXT:      %[[B:.*]] = tensor.extract %[[C]][] : tensor<i1>
// CHECK-NEXT:      scf.condition(%[[B]])
// CHECK:           scf.yield
// CHECK:         %[[FLAT:.*]] = tensor.collapse_shape %[[R]] {{.*}} into tensor<12xf32>
// CHECK-NEXT:    tensor.expand_shape %[[FLAT]] {{.*}} into tensor<3x4xf32>
func.func @main(%n: tensor<i32>, %x: tensor<2x6xf32>) -> tensor<3x4xf32> {
  %0 = hlo.while(%v = %x) : tensor<2x6xf32>
  cond {
    %c = func.call @go(%v) : (tensor<2x6xf32>) -> tensor<i1>
    hlo.return %c : tensor<i1>
  } do {
    hlo.return %v : tensor<2x6xf32>
  }
  %1 = hlo.reshape %0 : (tensor<2x6xf32>) -> tensor<3x4xf32>
  return %1 : tensor<3x4xf32>
}
func.func private @go(%x: tensor<2x6xf32>) -> tensor<i1> attributes {hlo.kernel = "loop"} {
  %c = hlo.constant dense<false> : tensor<i1>
  return %c : tensor<i1>
}
