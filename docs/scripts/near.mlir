func.func @main(%points: tensor<32x16xf32>, %centre: tensor<16xf32>) -> tensor<32xf32> {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %0 = stablehlo.broadcast_in_dim %centre, dims = [1] : (tensor<16xf32>) -> tensor<32x16xf32>
  %1 = stablehlo.subtract %points, %0 : tensor<32x16xf32>
  %2 = stablehlo.multiply %1, %1 : tensor<32x16xf32>
  %3 = stablehlo.reduce(%2 init: %zero) applies stablehlo.add across dimensions = [1] : (tensor<32x16xf32>, tensor<f32>) -> tensor<32xf32>
  %4 = stablehlo.negate %3 : tensor<32xf32>
  %5 = stablehlo.exponential %4 : tensor<32xf32>
  %6 = stablehlo.reduce(%5 init: %zero) applies stablehlo.add across dimensions = [0] : (tensor<32xf32>, tensor<f32>) -> tensor<f32>
  %7 = stablehlo.broadcast_in_dim %6, dims = [] : (tensor<f32>) -> tensor<32xf32>
  %8 = stablehlo.divide %5, %7 : tensor<32xf32>
  return %8 : tensor<32xf32>
}
