// RUN: hlo-opt %s --verify-roundtrip | filecheck %s

// CHECK-LABEL: func.func @quantized
func.func @quantized(%x: tensor<2x3xf32>) {
  // CHECK: hlo.uniform_quantize %x : (tensor<2x3xf32>) -> tensor<2x3x!quant.uniform<i8:f32, 0.5:-128>>
  %0 = stablehlo.uniform_quantize %x : (tensor<2x3xf32>) -> tensor<2x3x!quant.uniform<i8:f32, 5.0e-01:-128>>
  // CHECK: hlo.uniform_quantize %{{.*}} -> tensor<2x3x!quant.uniform<u8<1:255>:f32:1, {0.5:3,0.25:1,1.25E-5:7}>>
  %1 = stablehlo.uniform_quantize %0 : (tensor<2x3x!quant.uniform<i8:f32, 0.5:-128>>) -> tensor<2x3x!quant.uniform<u8<1:255>:f32:1, {0.5:3, 0.25:1, 1.25E-5:7}>>
  // CHECK: hlo.uniform_dequantize
  %2 = stablehlo.uniform_dequantize %1 : (tensor<2x3x!quant.uniform<u8<1:255>:f32:1, {0.5:3, 0.25:1, 1.25E-5:7}>>) -> tensor<2x3xf32>
  // CHECK: hlo.sine %{{.*}} : (tensor<2x3x!quant.uniform<i8:f32, 0.5:-128>>) -> tensor<2x3x!quant.uniform<i8:f32, 0.25>>
  %3 = stablehlo.sine %0 : (tensor<2x3x!quant.uniform<i8:f32, 0.5:-128>>) -> tensor<2x3x!quant.uniform<i8:f32, 0.25>>
  // CHECK: hlo.transpose %{{.*}}, dims = [1, 0]
  %4 = stablehlo.transpose %0, dims = [1, 0] : (tensor<2x3x!quant.uniform<i8:f32, 0.5:-128>>) -> tensor<3x2x!quant.uniform<i8:f32, 0.5:-128>>
  return
}
