// RUN: hlo-opt %s --convert-hlo-to-linalg | filecheck %s

// Sums of narrow floats accumulate in f32; only the sum itself may be reassociated.
// CHECK-LABEL: @sum
// CHECK:         %[[FILL:.*]] = linalg.fill ins(%{{.*}} : f32)
// CHECK:         linalg.generic {{.*}}iterator_types = ["parallel", "reduction"]} ins(%x : tensor<3x4xbf16>) outs(%[[FILL]] : tensor<3xf32>)
// CHECK:           arith.addf %{{.*}} fastmath<reassoc> : f32
// CHECK:         arith.truncf %{{.*}} : f32 to bf16
func.func private @sum(%x: tensor<3x4xbf16>, %i: tensor<bf16>) -> tensor<3xbf16> attributes {hlo.kernel = "reduce"} {
  %0 = hlo.reduce(%x init: %i) applies hlo.add across dimensions = [1] : (tensor<3x4xbf16>, tensor<bf16>) -> tensor<3xbf16>
  return %0 : tensor<3xbf16>
}

// CHECK-LABEL: @product
// CHECK:         indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d2)>, affine_map<(d0, d1, d2) -> (d2, d1)>, affine_map<(d0, d1, d2) -> (d0, d1)>], iterator_types = ["parallel", "parallel", "reduction"]}
// CHECK-SAME:    {xhlo.contraction}
// CHECK:           %[[P:.*]] = arith.mulf %{{.*}} fastmath<reassoc,contract>
// CHECK-NEXT:      arith.addf %{{.*}}, %[[P]] fastmath<reassoc,contract>
func.func private @product(%x: tensor<2x3xf32>, %y: tensor<3x4xf32>) -> tensor<2x4xf32> attributes {hlo.kernel = "dot"} {
  %0 = hlo.dot_general %x, %y, contracting_dims = [1] x [0] : (tensor<2x3xf32>, tensor<3x4xf32>) -> tensor<2x4xf32>
  return %0 : tensor<2x4xf32>
}

// Elements and the initial value become the accumulator's type.
// CHECK-LABEL: @promoted
// CHECK:         %[[I:[0-9]+]] = arith.extsi %{{.*}} : i8 to i32
// CHECK:         linalg.fill ins(%[[I]] : i32)
// CHECK:           %[[E:[0-9]+]] = arith.extsi %{{.*}} : i8 to i32
// CHECK-NEXT:      arith.addi %{{.*}}, %[[E]] : i32
func.func private @promoted(%x: tensor<4xi8>, %i: tensor<i8>) -> tensor<i32> attributes {hlo.kernel = "reduce"} {
  %s = hlo.reduce(%x init: %i) applies hlo.add across dimensions = [0] : (tensor<4xi8>, tensor<i8>) -> tensor<i32>
  return %s : tensor<i32>
}
