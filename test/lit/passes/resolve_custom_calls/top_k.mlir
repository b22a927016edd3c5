// RUN: hlo-opt %s --resolve-custom-calls | filecheck %s

// A stable sort by the called computation, and the first elements; a sink of values vanishes. The computation is
// private, and stays as long as something names it.

// CHECK-LABEL: func.func private @greater
// CHECK-LABEL: func.func @main
// CHECK-NOT:   dce_sink
// CHECK:       "hlo.sort"(%x, %i) <{dimension = 1 : i64, is_stable = true}>
// CHECK:         hlo.compare GT
// CHECK:         hlo.return
// CHECK:       hlo.slice {{.*}} [0:2, 0:3] : (tensor<2x9xf32>) -> tensor<2x3xf32>
// CHECK:       hlo.slice {{.*}} [0:2, 0:3] : (tensor<2x9xi32>) -> tensor<2x3xi32>
func.func private @greater(%a: tensor<f32>, %b: tensor<f32>, %i: tensor<i32>, %j: tensor<i32>) -> tensor<i1> {
  %0 = hlo.compare GT, %a, %b : (tensor<f32>, tensor<f32>) -> tensor<i1>
  return %0 : tensor<i1>
}

func.func @main(%x: tensor<2x9xf32>, %i: tensor<2x9xi32>) -> (tensor<2x3xf32>, tensor<2x3xi32>) {
  %lowest = hlo.constant dense<0xFF800000> : tensor<f32>
  %none = hlo.constant dense<-1> : tensor<i32>
  hlo.custom_call @dce_sink(%x) {has_side_effect = true} : (tensor<2x9xf32>) -> ()
  %0:2 = hlo.custom_call @ApproxTopK(%x, %i, %lowest, %none) {called_computations = [@greater], mhlo.backend_config = {reduction_dim = 1 : i64}} : (tensor<2x9xf32>, tensor<2x9xi32>, tensor<f32>, tensor<i32>) -> (tensor<2x3xf32>, tensor<2x3xi32>)
  return %0#0, %0#1 : tensor<2x3xf32>, tensor<2x3xi32>
}
