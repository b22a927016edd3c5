// Structured operations with several results, which are printed as MLIR prints them, read back.
// RUN: hlo-opt %s | hlo-opt | filecheck %s

#map = affine_map<(d0) -> (d0)>

// CHECK: %[[PAIR:.*]]:2 = linalg.generic
// CHECK: } -> (tensor<4xf32>, tensor<4xi1>)
// CHECK: func.return %[[PAIR]]#0, %[[PAIR]]#1 : tensor<4xf32>, tensor<4xi1>
func.func @main(%x: tensor<4xf32>, %a: tensor<4xf32>, %b: tensor<4xi1>) -> (tensor<4xf32>, tensor<4xi1>) {
  %0:2 = linalg.generic {indexing_maps = [#map, #map, #map], iterator_types = ["parallel"]} ins(%x : tensor<4xf32>) outs(%a, %b : tensor<4xf32>, tensor<4xi1>) {
  ^bb0(%1: f32, %2: f32, %3: i1):
    linalg.yield %1, %3 : f32, i1
  } -> (tensor<4xf32>, tensor<4xi1>)
  func.return %0#0, %0#1 : tensor<4xf32>, tensor<4xi1>
}
