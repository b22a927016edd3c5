// RUN: hlo-opt %s --convert-hlo-to-linalg | filecheck %s

// Loops over batch, left, right, contracted; integers widen before they are multiplied.
// CHECK-LABEL: @batched
// CHECK:         linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d3)>, affine_map<(d0, d1, d2, d3) -> (d3, d2, d0)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2)>]
// CHECK-SAME:    ["parallel", "parallel", "parallel", "reduction"]
// CHECK-SAME:    {xhlo.contraction}
// CHECK:           %[[A:[0-9]+]] = arith.extsi %{{.*}} : i8 to i32
// CHECK:           %[[B:[0-9]+]] = arith.extsi %{{.*}} : i8 to i32
// CHECK:           arith.muli %[[A]], %[[B]] : i32
func.func private @batched(%x: tensor<3x5x7xi8>, %y: tensor<7x2x3xi8>) -> tensor<3x5x2xi32> attributes {hlo.kernel = "dot"} {
  %0 = hlo.dot_general %x, %y, batching_dims = [0] x [2], contracting_dims = [2] x [0] : (tensor<3x5x7xi8>, tensor<7x2x3xi8>) -> tensor<3x5x2xi32>
  return %0 : tensor<3x5x2xi32>
}

// f16 and bf16 sum in f32, f64 in f64; one rounding at the end.
// CHECK-LABEL: @narrow
// CHECK:         arith.mulf %{{.*}} fastmath<reassoc,contract> : f32
// CHECK:         arith.addf %{{.*}} fastmath<reassoc,contract> : f32
// CHECK:         arith.truncf %{{.*}} : f32 to f16
func.func private @narrow(%x: tensor<5xf16>, %y: tensor<5xf16>) -> tensor<f16> attributes {hlo.kernel = "dot"} {
  %0 = hlo.dot_general %x, %y, contracting_dims = [0] x [0] : (tensor<5xf16>, tensor<5xf16>) -> tensor<f16>
  return %0 : tensor<f16>
}

// CHECK-LABEL: @doubles
// CHECK:         arith.addf %{{.*}} : f64
// CHECK:         arith.truncf %{{.*}} : f64 to f32
func.func private @doubles(%x: tensor<5xf64>, %y: tensor<5xf64>) -> tensor<f32> attributes {hlo.kernel = "dot"} {
  %0 = hlo.dot_general %x, %y, contracting_dims = [0] x [0] : (tensor<5xf64>, tensor<5xf64>) -> tensor<f32>
  return %0 : tensor<f32>
}

// Without contracted dimensions there is no sum: no contraction for the packed kernel.
// CHECK-LABEL: @outer
// CHECK:         linalg.generic {{.*}}["parallel", "parallel"]
// CHECK-NOT:     xhlo.contraction
// CHECK:           arith.andi
// CHECK-NEXT:      arith.ori
func.func private @outer(%x: tensor<2xi1>, %y: tensor<3xi1>) -> tensor<2x3xi1> attributes {hlo.kernel = "dot"} {
  %0 = hlo.dot_general %x, %y, contracting_dims = [] x [] : (tensor<2xi1>, tensor<3xi1>) -> tensor<2x3xi1>
  return %0 : tensor<2x3xi1>
}
