// RUN: hlo-opt %s -p 'convert-chlo-to-hlo{complete=true}' | filecheck %s
// RUN: hlo-opt %s -p 'convert-chlo-to-hlo{complete=true}' | filecheck %s --check-prefix=GONE

// GONE-NOT: chlo.

// CHECK-LABEL: func.func @square_of_reals
// CHECK-SAME: (%[[X:.*]]: tensor<4xf32>)
func.func @square_of_reals(%x: tensor<4xf32>) -> tensor<4xf32> {
  // CHECK-NEXT: %[[Y:.*]] = hlo.multiply %[[X]], %[[X]] : tensor<4xf32>
  // CHECK-NEXT: return %[[Y]]
  %0 = chlo.square %x : tensor<4xf32> -> tensor<4xf32>
  return %0 : tensor<4xf32>
}

// (x - y) (x + y), which does not subtract two infinities.
// CHECK-LABEL: func.func @square
func.func @square(%x: tensor<4xcomplex<f32>>) -> tensor<4xcomplex<f32>> {
  // CHECK: %[[X:.*]] = hlo.real
  // CHECK: %[[Y:.*]] = hlo.imag
  // CHECK: %[[MINUS:.*]] = hlo.subtract %[[X]], %[[Y]]
  // CHECK: %[[PLUS:.*]] = hlo.add %[[X]], %[[Y]]
  // CHECK: hlo.multiply %[[MINUS]], %[[PLUS]]
  // CHECK: hlo.select
  // CHECK: %[[XY:.*]] = hlo.multiply %[[X]], %[[Y]]
  // CHECK: hlo.multiply %[[XY]], %{{.*}}
  %0 = chlo.square %x : tensor<4xcomplex<f32>> -> tensor<4xcomplex<f32>>
  return %0 : tensor<4xcomplex<f32>>
}

// a + a P(a a) up to 1.05, 1 - Q(a - 1)^4 above, with the sign bit of x.
// CHECK-LABEL: func.func @erf
// CHECK-SAME: (%[[X:.*]]: tensor<4xf32>)
func.func @erf(%x: tensor<4xf32>) -> tensor<4xf32> {
  // CHECK-NEXT: %[[A:.*]] = hlo.abs %[[X]]
  // CHECK-NEXT: %[[END:.*]] = hlo.constant dense<3.930000e+00> : tensor<4xf32>
  // CHECK-NEXT: %[[ABOVE:.*]] = hlo.compare GT, %[[A]], %[[END]]
  // CHECK-NEXT: hlo.select %[[ABOVE]], %[[END]], %[[A]]
  // CHECK-NOT: hlo.exponential
  // CHECK-NOT: hlo.divide
  // CHECK: %[[SQUARE:.*]] = hlo.multiply %[[ROOT:.*]], %[[ROOT]] : tensor<4xf32>
  // CHECK-NEXT: %[[MINUS:.*]] = hlo.negate %[[SQUARE]]
  // CHECK-NEXT: %[[FOURTH:.*]] = hlo.multiply %[[SQUARE]], %[[MINUS]] {xhlo.may_fuse}
  // CHECK: %[[FAR:.*]] = hlo.add %[[FOURTH]], %{{.*}} {xhlo.may_fuse}
  // CHECK: %[[IN:.*]] = hlo.compare LT, %[[A]], %{{.*}} : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xi1>
  // CHECK: %[[AA:.*]] = hlo.multiply %[[A]], %[[A]] {xhlo.may_fuse}
  // CHECK: hlo.add %[[AA]], %{{.*}} {xhlo.may_fuse}
  // CHECK: %[[PRODUCT:.*]] = hlo.multiply %[[A]], %{{.*}} {xhlo.may_fuse}
  // CHECK-NEXT: %[[NEAR:.*]] = hlo.add %[[PRODUCT]], %[[A]] {xhlo.may_fuse}
  // CHECK-NEXT: %[[SIZE:.*]] = hlo.select %[[IN]], %[[NEAR]], %[[FAR]]
  // CHECK-NEXT: hlo.bitcast_convert %[[SIZE]] : (tensor<4xf32>) -> tensor<4xi32>
  // CHECK: hlo.bitcast_convert %[[X]] : (tensor<4xf32>) -> tensor<4xi32>
  // CHECK: %[[BITS:.*]] = hlo.or
  // CHECK-NEXT: %[[Y:.*]] = hlo.bitcast_convert %[[BITS]] : (tensor<4xi32>) -> tensor<4xf32>
  // CHECK-NEXT: return %[[Y]]
  %0 = chlo.erf %x : tensor<4xf32> -> tensor<4xf32>
  return %0 : tensor<4xf32>
}

// The tail of erfc is computed in f32: the upper half of the argument's bits has an exact square, the exponential is
// written out, and the result is the last product.
// CHECK-LABEL: func.func @erfc_f32
func.func @erfc_f32(%x: tensor<4xf32>) -> tensor<4xf32> {
  // CHECK-NOT: f64
  // CHECK: %[[BITS:.*]] = hlo.and %{{.*}}, %{{.*}} : tensor<4xi32>
  // CHECK-NEXT: %[[HALF:.*]] = hlo.bitcast_convert %[[BITS]] : (tensor<4xi32>) -> tensor<4xf32>
  // CHECK: hlo.multiply %[[HALF]], %[[HALF]] : tensor<4xf32>
  // CHECK-NOT: hlo.exponential
  // CHECK: %[[N:.*]] = hlo.shift_left %{{.*}}, %{{.*}} : tensor<4xi32>
  // CHECK-NEXT: %[[FACTOR:.*]] = hlo.bitcast_convert %[[N]] : (tensor<4xi32>) -> tensor<4xf32>
  // CHECK: %[[POWER:.*]] = hlo.select %{{.*}}, %[[FACTOR]], %{{.*}} : tensor<4xi1>, tensor<4xf32>
  // CHECK-COUNT-2: hlo.divide
  // CHECK-NOT: hlo.divide
  // CHECK: %[[LARGE:.*]] = hlo.multiply %{{.*}}, %[[POWER]] : tensor<4xf32>
  // CHECK-NEXT: %[[SCALE:.*]] = hlo.constant dense<5.421011e-20> : tensor<4xf32>
  // CHECK-NEXT: hlo.multiply %[[LARGE]], %[[SCALE]] : tensor<4xf32>
  // CHECK-NOT: f64
  %0 = chlo.erfc %x : tensor<4xf32> -> tensor<4xf32>
  return %0 : tensor<4xf32>
}

// In f64 the argument is split by its bits.
// CHECK-LABEL: func.func @erfc_f64
func.func @erfc_f64(%x: tensor<f64>) -> tensor<f64> {
  // CHECK: hlo.bitcast_convert %{{.*}} : (tensor<f64>) -> tensor<i64>
  // CHECK: hlo.and
  // CHECK: hlo.bitcast_convert %{{.*}} : (tensor<i64>) -> tensor<f64>
  // CHECK: hlo.exponential %{{.*}} : tensor<f64>
  %0 = chlo.erfc %x : tensor<f64> -> tensor<f64>
  return %0 : tensor<f64>
}

// Narrow floats are computed in f32.
// CHECK-LABEL: func.func @erf_bf16
// CHECK-SAME: (%[[X:.*]]: tensor<4xbf16>)
func.func @erf_bf16(%x: tensor<4xbf16>) -> tensor<4xbf16> {
  // CHECK-NEXT: hlo.convert %[[X]] : (tensor<4xbf16>) -> tensor<4xf32>
  // CHECK: %[[Y:.*]] = hlo.convert %{{.*}} : (tensor<4xf32>) -> tensor<4xbf16>
  // CHECK-NEXT: return %[[Y]]
  %0 = chlo.erf %x : tensor<4xbf16> -> tensor<4xbf16>
  return %0 : tensor<4xbf16>
}

// The logarithm has no more digits than f32 needs, and is NaN for |x| > 1.
// CHECK-LABEL: func.func @erf_inv_f32
func.func @erf_inv_f32(%x: tensor<4xf32>) -> tensor<4xf32> {
  // CHECK-NOT: hlo.log
  // CHECK: hlo.shift_right_logical %{{.*}}, %{{.*}} : tensor<4xi64>
  // CHECK-NOT: hlo.log
  // CHECK: %[[NAN:.*]] = hlo.constant dense<0x7FF8000000000000> : tensor<4xf64>
  // CHECK: hlo.select %{{.*}}, %[[NAN]], %{{.*}}
  // CHECK: hlo.convert %{{.*}} : (tensor<4xf64>) -> tensor<4xf32>
  %0 = chlo.erf_inv %x : tensor<4xf32> -> tensor<4xf32>
  return %0 : tensor<4xf32>
}

// Two logarithms, of the reflection and of a quotient or large x itself; no sine.
// CHECK-LABEL: func.func @lgamma_f32
func.func @lgamma_f32(%x: tensor<4xf32>) -> tensor<4xf32> {
  // CHECK-NOT: hlo.{{log|sine}}
  // CHECK: hlo.shift_right_logical
  // CHECK-NOT: hlo.{{log|sine}}
  // CHECK: hlo.shift_right_logical
  // CHECK-NOT: hlo.{{log|sine|shift_right_logical}}
  // CHECK: return
  %0 = chlo.lgamma %x : tensor<4xf32> -> tensor<4xf32>
  return %0 : tensor<4xf32>
}

// CHECK-LABEL: func.func @erf_inv_f64
func.func @erf_inv_f64(%x: tensor<f64>) -> tensor<f64> {
  // CHECK: hlo.log %{{.*}} : tensor<f64>
  %0 = chlo.erf_inv %x : tensor<f64> -> tensor<f64>
  return %0 : tensor<f64>
}

// CHECK-LABEL: func.func @asin
// CHECK-SAME: (%[[X:.*]]: tensor<4xbf16>)
func.func @asin(%x: tensor<4xbf16>) -> tensor<4xbf16> {
  // CHECK: %[[WIDE:.*]] = hlo.convert %[[X]] : (tensor<4xbf16>) -> tensor<4xf32>
  // CHECK: %[[ROOT:.*]] = hlo.sqrt
  // CHECK-NEXT: %[[CHOSEN:.*]] = hlo.select %[[NEAR:.*]], %{{.*}}, %[[ROOT]]
  // CHECK-NOT: hlo.atan2
  // CHECK: hlo.select %[[NEAR]], %{{.*}}, %{{.*}} : tensor<4xi1>, tensor<4xf32>
  // CHECK: %[[Y:.*]] = hlo.convert %{{.*}} : (tensor<4xf32>) -> tensor<4xbf16>
  // CHECK-NEXT: return %[[Y]]
  %0 = chlo.asin %x : tensor<4xbf16> -> tensor<4xbf16>
  return %0 : tensor<4xbf16>
}

// CHECK-LABEL: func.func @asin_of_doubles
// CHECK-SAME: (%[[X:.*]]: tensor<4xf64>)
func.func @asin_of_doubles(%x: tensor<4xf64>) -> tensor<4xf64> {
  // CHECK: %[[ROOT:.*]] = hlo.sqrt
  // CHECK-NEXT: %[[ANGLE:.*]] = hlo.atan2 %[[X]], %[[ROOT]] : tensor<4xf64>
  // CHECK-NEXT: return %[[ANGLE]]
  %0 = chlo.asin %x : tensor<4xf64> -> tensor<4xf64>
  return %0 : tensor<4xf64>
}

// CHECK-LABEL: func.func @broadcast_add
// CHECK-SAME: (%[[X:.*]]: tensor<2x3xf32>, %[[Y:.*]]: tensor<2xf32>)
func.func @broadcast_add(%x: tensor<2x3xf32>, %y: tensor<2xf32>) -> tensor<2x3xf32> {
  // CHECK-NEXT: %[[B:.*]] = hlo.broadcast_in_dim %[[Y]], dims = [0] : (tensor<2xf32>) -> tensor<2x3xf32>
  // CHECK-NEXT: %[[Z:.*]] = hlo.add %[[X]], %[[B]] : tensor<2x3xf32>
  // CHECK-NEXT: return %[[Z]]
  %0 = chlo.broadcast_add %x, %y {broadcast_dimensions = array<i64: 0>} : (tensor<2x3xf32>, tensor<2xf32>) -> tensor<2x3xf32>
  return %0 : tensor<2x3xf32>
}

// CHECK-LABEL: func.func @top_k
// CHECK-SAME: (%[[X:.*]]: tensor<2x3xf32>)
func.func @top_k(%x: tensor<2x3xf32>) -> (tensor<2x2xf32>, tensor<2x2xi32>) {
  // CHECK-NEXT: %[[I:.*]] = hlo.iota dim = 1 : tensor<2x3xi32>
  // CHECK-NEXT: "hlo.sort"(%[[X]], %[[I]]) <{dimension = 1 : i64, is_stable = true}>
  // CHECK: hlo.compare GT, %{{.*}}, %{{.*}}, TOTALORDER
  // CHECK: hlo.slice %{{.*}} [0:2, 0:2]
  // CHECK: hlo.slice %{{.*}} [0:2, 0:2]
  %0:2 = chlo.top_k(%x, k = 2) : tensor<2x3xf32> -> (tensor<2x2xf32>, tensor<2x2xi32>)
  return %0#0, %0#1 : tensor<2x2xf32>, tensor<2x2xi32>
}
