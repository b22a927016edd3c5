// RUN: hlo-opt %s | hlo-opt | filecheck %s

// Shapes that agree where both are known are one shape to every verifier.
// CHECK-LABEL: func.func @shapes_that_agree
func.func @shapes_that_agree(%x: tensor<?x4xf32>, %y: tensor<3x?xf32>, %c: tensor<f32>, %p: tensor<3x?xi1>, %i: tensor<i32>) {
  %0 = "hlo.add"(%x, %y) : (tensor<?x4xf32>, tensor<3x?xf32>) -> tensor<?x?xf32>
  %1 = "hlo.compare"(%x, %y) <{comparison_direction = #hlo<comparison_direction LT>}> : (tensor<?x4xf32>, tensor<3x?xf32>) -> tensor<3x4xi1>
  %2 = "hlo.select"(%p, %x, %y) : (tensor<3x?xi1>, tensor<?x4xf32>, tensor<3x?xf32>) -> tensor<3x4xf32>
  %3 = "hlo.clamp"(%c, %x, %y) : (tensor<f32>, tensor<?x4xf32>, tensor<3x?xf32>) -> tensor<3x4xf32>
  %4 = "hlo.convert"(%x) : (tensor<?x4xf32>) -> tensor<3x?xf64>
  %5 = "hlo.bitcast_convert"(%x) : (tensor<?x4xf32>) -> tensor<3x?xi32>
  %6 = "hlo.bitcast_convert"(%x) : (tensor<?x4xf32>) -> tensor<3x?x?xi8>
  %7 = "hlo.complex"(%x, %y) : (tensor<?x4xf32>, tensor<3x?xf32>) -> tensor<3x4xcomplex<f32>>
  %8 = "hlo.real"(%7) : (tensor<3x4xcomplex<f32>>) -> tensor<?x4xf32>
  %9 = "hlo.abs"(%x) : (tensor<?x4xf32>) -> tensor<3x4xf32>
  %10 = "hlo.is_finite"(%x) : (tensor<?x4xf32>) -> tensor<3x4xi1>
  %11 = "hlo.reduce_precision"(%x) <{exponent_bits = 5 : i32, mantissa_bits = 2 : i32}> : (tensor<?x4xf32>) -> tensor<3x4xf32>
  %12 = "hlo.dynamic_slice"(%x, %i, %i) <{slice_sizes = array<i64: 2, 2>}> : (tensor<?x4xf32>, tensor<i32>, tensor<i32>) -> tensor<?x2xf32>
  %13 = "hlo.dynamic_update_slice"(%x, %y, %i, %i) : (tensor<?x4xf32>, tensor<3x?xf32>, tensor<i32>, tensor<i32>) -> tensor<5x?xf32>
  %14 = "hlo.optimization_barrier"(%x) : (tensor<?x4xf32>) -> tensor<3x?xf32>
  %15 = "hlo.tuple"(%x) : (tensor<?x4xf32>) -> tuple<tensor<3x4xf32>>
  %16 = "hlo.get_tuple_element"(%15) <{index = 0 : i32}> : (tuple<tensor<3x4xf32>>) -> tensor<?x4xf32>
  %17 = hlo.reduce(%x init: %c) applies hlo.add across dimensions = [1] : (tensor<?x4xf32>, tensor<f32>) -> tensor<3xf32>
  // CHECK: return
  return
}
