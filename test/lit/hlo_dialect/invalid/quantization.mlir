// RUN: hlo-opt %s --split-input-file --verify-diagnostics

!q = !quant.uniform<i8:f32, 0.5>
func.func @quantize(%i: tensor<2xi32>, %x: tensor<2xf32>, %y: tensor<2xbf16>) {
  // expected-error@+1 {{uniform_quantize_i1: operand has element type i32, expected float or a quantized type}}
  %0 = hlo.uniform_quantize %i : (tensor<2xi32>) -> tensor<2x!q>
  // expected-error@+1 {{uniform_quantize_o1: result has element type f32, expected a quantized type}}
  %1 = "hlo.uniform_quantize"(%y) : (tensor<2xbf16>) -> tensor<2xf32>
  // expected-error@+1 {{uniform_quantize_c1: operand and result have different shapes}}
  %2 = hlo.uniform_quantize %x : (tensor<2xf32>) -> tensor<3x!q>
  // expected-error@+1 {{uniform_quantize_c2: operand stands for bf16, the result for f32}}
  %3 = hlo.uniform_quantize %y : (tensor<2xbf16>) -> tensor<2x!q>
  return
}

// -----

!q = !quant.uniform<i8:f32, 0.5>
func.func @dequantize(%x: tensor<2xf32>, %q: tensor<2x!q>) {
  // expected-error@+1 {{uniform_dequantize_i1: operand has element type f32, expected a quantized type}}
  %0 = hlo.uniform_dequantize %x : (tensor<2xf32>) -> tensor<2xf32>
  // expected-error@+1 {{uniform_dequantize_c1: operand and result have different shapes}}
  %1 = hlo.uniform_dequantize %q : (tensor<2x!q>) -> tensor<3xf32>
  // expected-error@+1 {{uniform_dequantize_c2: result has element type f64, expected f32}}
  %2 = hlo.uniform_dequantize %q : (tensor<2x!q>) -> tensor<2xf64>
  return
}

// -----

func.func @moves(%q: tensor<2x3x!quant.uniform<i8:f32, 0.5>>) {
  // expected-error@+1 {{reshape_c1: operand and result have different element types}}
  %0 = hlo.reshape %q : (tensor<2x3x!quant.uniform<i8:f32, 0.5>>) -> tensor<6x!quant.uniform<i8:f32, 0.25>>
  // expected-error@+1 {{uniform_quantize_o1: tensor<2x3x!quant.uniform<i8:f32:1, {0.5,0.25}>> has no index in dimension 1 for each of 2 scales}}
  %1 = hlo.uniform_quantize %q : (tensor<2x3x!quant.uniform<i8:f32, 0.5>>) -> tensor<2x3x!quant.uniform<i8:f32:1, {0.5,0.25}>>
  return
}

// -----

// expected-error@+1 {{the scales of a quantized type are finite and greater than 0}}
func.func @scale(%q: tensor<2x!quant.uniform<i8:f32, 0.0>>)

// -----

// expected-error@+1 {{the storage range -200:100 does not lie in -128:127}}
func.func @range(%q: tensor<2x!quant.uniform<i8<-200:100>:f32, 0.5>>)

// -----

// expected-error@+1 {{a quantized type stands for bf16, f16, f32 or f64, not for i32}}
func.func @expressed(%q: tensor<2x!quant.uniform<i8:i32, 0.5>>)

// -----

// expected-error@+1 {{scales for blocks of dimensions are not supported, only along one dimension}}
func.func private @blocks(tensor<4x8x!quant.uniform<i8:f32:{0:2, 1:4}, {{1.0, 2.0}, {3.0, 4.0}}>>)

// -----

func.func @functions(%q: tensor<4x!quant.uniform<i8:f32, 0.5>>) {
  // expected-error@+1 {{erf_i1: tensor<4x!quant.uniform<i8:f32, 0.5>> is quantized; uniform_dequantize it before}}
  %0 = chlo.erf %q : tensor<4x!quant.uniform<i8:f32, 0.5>> -> tensor<4x!quant.uniform<i8:f32, 0.5>>
  // expected-error@+1 {{broadcast_zeta_i1: tensor<4x!quant.uniform<i8:f32, 0.5>> is quantized}}
  %1 = chlo.broadcast_zeta %q, %q : (tensor<4x!quant.uniform<i8:f32, 0.5>>, tensor<4x!quant.uniform<i8:f32, 0.5>>) -> tensor<4x!quant.uniform<i8:f32, 0.5>>
  %2 = chlo.broadcast_add %q, %q : (tensor<4x!quant.uniform<i8:f32, 0.5>>, tensor<4x!quant.uniform<i8:f32, 0.5>>) -> tensor<4x!quant.uniform<i8:f32, 0.5>>
  return
}
