// RUN: hlo-opt %s --convert-quantized-to-integer | filecheck %s

// The steps of the specification: divide, add the zero point, clamp, round to even, convert.
// CHECK-LABEL: func.func @quantize(%x: tensor<3xf32>) -> tensor<3xi8> {
// CHECK:         %[[SCALE:.*]] = hlo.constant dense<5.000000e-01> : tensor<3xf32>
// CHECK-NEXT:    %[[SCALED:.*]] = hlo.divide %x, %[[SCALE]]
// CHECK:         %[[PLACED:.*]] = hlo.add %[[SCALED]], %{{.*}} : tensor<3xf32>
// CHECK:         %[[INSIDE:.*]] = hlo.clamp %{{.*}}, %[[PLACED]], %{{.*}}
// CHECK-NEXT:    %[[WHOLE:.*]] = hlo.round_nearest_even %[[INSIDE]]
// CHECK-NEXT:    hlo.convert %[[WHOLE]] : (tensor<3xf32>) -> tensor<3xi8>
func.func @quantize(%x: tensor<3xf32>) -> tensor<3x!quant.uniform<i8:f32, 0.5:3>> {
  %0 = hlo.uniform_quantize %x : (tensor<3xf32>) -> tensor<3x!quant.uniform<i8:f32, 0.5:3>>
  return %0 : tensor<3x!quant.uniform<i8:f32, 0.5:3>>
}

// CHECK-LABEL: func.func @dequantize_along_a_dimension(%x: tensor<2x3xui8>) -> tensor<2x3xf32> {
// CHECK:         %[[WIDE:.*]] = hlo.convert %x : (tensor<2x3xui8>) -> tensor<2x3xi32>
// CHECK-NEXT:    %[[ZEROS:.*]] = hlo.constant dense<[3, 0]> : tensor<2xi32>
// CHECK-NEXT:    %[[EACH:.*]] = hlo.broadcast_in_dim %[[ZEROS]], dims = [0]
// CHECK-NEXT:    %[[DIFFERENCE:.*]] = hlo.subtract %[[WIDE]], %[[EACH]]
// CHECK-NEXT:    %[[REAL:.*]] = hlo.convert %[[DIFFERENCE]] : (tensor<2x3xi32>) -> tensor<2x3xf32>
// CHECK:         hlo.multiply %[[REAL]], %{{.*}}
func.func @dequantize_along_a_dimension(%x: tensor<2x3x!quant.uniform<u8:f32:0, {0.5:3, 0.25}>>) -> tensor<2x3xf32> {
  %0 = hlo.uniform_dequantize %x : (tensor<2x3x!quant.uniform<u8:f32:0, {0.5:3, 0.25}>>) -> tensor<2x3xf32>
  return %0 : tensor<2x3xf32>
}

// Products of i8 in i32; the zero point of the left operand takes the column sums of the right one.
// CHECK-LABEL: func.func @dot(%x: tensor<4x8xi8>, %w: tensor<8x2xi8>) -> tensor<4x2xi8> {
// CHECK:         %[[PRODUCTS:.*]] = hlo.dot_general %x, %w, contracting_dims = [1] x [0] : (tensor<4x8xi8>, tensor<8x2xi8>) -> tensor<4x2xi32>
// CHECK:         %[[COLUMNS:.*]] = hlo.reduce(%{{.*}} init: %{{.*}}) applies hlo.add across dimensions = [0] : (tensor<8x2xi32>, tensor<i32>) -> tensor<2xi32>
// CHECK:         %[[TOTAL:.*]] = hlo.subtract %[[PRODUCTS]], %{{.*}} : tensor<4x2xi32>
// CHECK-NEXT:    %[[WIDE:.*]] = hlo.convert %[[TOTAL]] : (tensor<4x2xi32>) -> tensor<4x2xf64>
// CHECK:         hlo.multiply %[[WIDE]], %{{.*}} : tensor<4x2xf64>
func.func @dot(%x: tensor<4x8x!quant.uniform<i8:f32, 0.5:3>>, %w: tensor<8x2x!quant.uniform<i8:f32, 0.25>>) -> tensor<4x2x!quant.uniform<i8:f32, 3.0:1>> {
  %0 = hlo.dot_general %x, %w, contracting_dims = [1] x [0] : (tensor<4x8x!quant.uniform<i8:f32, 0.5:3>>, tensor<8x2x!quant.uniform<i8:f32, 0.25>>) -> tensor<4x2x!quant.uniform<i8:f32, 3.0:1>>
  return %0 : tensor<4x2x!quant.uniform<i8:f32, 3.0:1>>
}

// A result whose scale is the product of the operands' scales needs no scaling.
// CHECK-LABEL: func.func @accumulators
// CHECK:         %[[PRODUCTS:.*]] = hlo.dot_general %x, %w
// CHECK-NEXT:    func.return %[[PRODUCTS]] : tensor<4x2xi32>
func.func @accumulators(%x: tensor<4x8x!quant.uniform<i8:f32, 0.5>>, %w: tensor<8x2x!quant.uniform<i8:f32, 0.25>>) -> tensor<4x2x!quant.uniform<i32:f32, 0.125>> {
  %0 = hlo.dot_general %x, %w, contracting_dims = [1] x [0] : (tensor<4x8x!quant.uniform<i8:f32, 0.5>>, tensor<8x2x!quant.uniform<i8:f32, 0.25>>) -> tensor<4x2x!quant.uniform<i32:f32, 0.125>>
  return %0 : tensor<4x2x!quant.uniform<i32:f32, 0.125>>
}

// The padding of a convolution stands for 0, which is stored as the zero point.
// CHECK-LABEL: func.func @convolution
// CHECK:         %[[ZERO:.*]] = hlo.constant dense<3> : tensor<i8>
// CHECK-NEXT:    %[[PADDED:.*]] = hlo.pad %x, %[[ZERO]], low = [0, 1, 0], high = [0, 1, 0]
// CHECK:         hlo.convolution(%[[PADDED]], %w) {{.*}}, window = {} {{.*}} : (tensor<1x10x3xi8>, tensor<3x3x4xi8>) -> tensor<1x8x4xi32>
func.func @convolution(%x: tensor<1x8x3x!quant.uniform<i8:f32, 0.5:3>>, %w: tensor<3x3x4x!quant.uniform<i8:f32, 0.25>>) -> tensor<1x8x4x!quant.uniform<i8:f32, 3.0>> {
  %0 = hlo.convolution(%x, %w) dim_numbers = [b, 0, f]x[0, i, o]->[b, 0, f], window = {pad = [[1, 1]]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<1x8x3x!quant.uniform<i8:f32, 0.5:3>>, tensor<3x3x4x!quant.uniform<i8:f32, 0.25>>) -> tensor<1x8x4x!quant.uniform<i8:f32, 3.0>>
  return %0 : tensor<1x8x4x!quant.uniform<i8:f32, 3.0>>
}

// Weights alone quantized: a product of floats.
// CHECK-LABEL: func.func @hybrid(%x: tensor<4x8xf32>, %w: tensor<8x2xi8>)
// CHECK:         %[[WEIGHTS:.*]] = hlo.multiply
// CHECK-NEXT:    hlo.dot_general %x, %[[WEIGHTS]], contracting_dims = [1] x [0] : (tensor<4x8xf32>, tensor<8x2xf32>) -> tensor<4x2xf32>
func.func @hybrid(%x: tensor<4x8xf32>, %w: tensor<8x2x!quant.uniform<i8:f32, 0.25>>) -> tensor<4x2xf32> {
  %0 = hlo.dot_general %x, %w, contracting_dims = [1] x [0] : (tensor<4x8xf32>, tensor<8x2x!quant.uniform<i8:f32, 0.25>>) -> tensor<4x2xf32>
  return %0 : tensor<4x2xf32>
}

// Equal scales: a sum of integers. Other scales: the sum of the values.
// CHECK-LABEL: func.func @sums
// CHECK-COUNT-2: hlo.convert %{{.*}} : (tensor<3xi8>) -> tensor<3xi32>
// CHECK:         hlo.add %{{.*}}, %{{.*}} : tensor<3xi32>
// CHECK:         hlo.clamp %{{.*}} : (tensor<i32>, tensor<3xi32>, tensor<i32>) -> tensor<3xi32>
// CHECK:         hlo.add %{{.*}}, %{{.*}} : tensor<3xf32>
func.func @sums(%x: tensor<3x!quant.uniform<i8:f32, 0.5>>) -> (tensor<3x!quant.uniform<i8:f32, 0.5>>, tensor<3x!quant.uniform<i8:f32, 0.75>>) {
  %0 = hlo.add %x, %x : tensor<3x!quant.uniform<i8:f32, 0.5>>
  %1 = hlo.add %x, %x : (tensor<3x!quant.uniform<i8:f32, 0.5>>, tensor<3x!quant.uniform<i8:f32, 0.5>>) -> tensor<3x!quant.uniform<i8:f32, 0.75>>
  return %0, %1 : tensor<3x!quant.uniform<i8:f32, 0.5>>, tensor<3x!quant.uniform<i8:f32, 0.75>>
}

// Regions fold the stored integers.
// CHECK-LABEL: func.func @region
// CHECK:         hlo.reduce(%x init: %s) applies hlo.maximum across dimensions = [0] : (tensor<3xi8>, tensor<i8>) -> tensor<i8>
func.func @region(%x: tensor<3x!quant.uniform<i8:f32, 0.5>>, %s: tensor<!quant.uniform<i8:f32, 0.5>>) -> tensor<!quant.uniform<i8:f32, 0.5>> {
  %0 = hlo.reduce(%x init: %s) applies hlo.maximum across dimensions = [0] : (tensor<3x!quant.uniform<i8:f32, 0.5>>, tensor<!quant.uniform<i8:f32, 0.5>>) -> tensor<!quant.uniform<i8:f32, 0.5>>
  return %0 : tensor<!quant.uniform<i8:f32, 0.5>>
}
