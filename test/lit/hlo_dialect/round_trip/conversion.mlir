// RUN: hlo-opt %s --verify-roundtrip | filecheck %s

// CHECK-LABEL: func.func @convert
func.func @convert(%x: tensor<4xf32>, %b: tensor<4x4xi8>, %d: tensor<?xf32>) {
  // CHECK: hlo.convert %{{.*}} : (tensor<4xf32>) -> tensor<4xi32>
  %0 = stablehlo.convert %x : (tensor<4xf32>) -> tensor<4xi32>
  // CHECK: hlo.convert %{{.*}} : tensor<4xf32>
  %1 = hlo.convert %x : tensor<4xf32>
  // CHECK: hlo.convert %{{.*}} : (tensor<?xf32>) -> tensor<4xbf16>
  %2 = hlo.convert %d : (tensor<?xf32>) -> tensor<4xbf16>
  // CHECK: hlo.bitcast_convert %{{.*}} : (tensor<4xf32>) -> tensor<4xui32>
  %3 = stablehlo.bitcast_convert %x : (tensor<4xf32>) -> tensor<4xui32>
  // CHECK: hlo.bitcast_convert %{{.*}} : (tensor<4xf32>) -> tensor<4x4xi8>
  %4 = hlo.bitcast_convert %x : (tensor<4xf32>) -> tensor<4x4xi8>
  // CHECK: hlo.bitcast_convert %{{.*}} : (tensor<4x4xi8>) -> tensor<4xf32>
  %5 = hlo.bitcast_convert %b : (tensor<4x4xi8>) -> tensor<4xf32>
  // CHECK: hlo.reduce_precision %{{.*}}, format = e5m10 : tensor<4xf32>
  %6 = stablehlo.reduce_precision %x, format = e5m10 : tensor<4xf32>
  // CHECK: hlo.reduce_precision %{{.*}}, format = e8m0 {mine} : tensor<4xf32>
  %7 = "hlo.reduce_precision"(%x) {exponent_bits = 8 : i32, mantissa_bits = 0 : i32, mine} : (tensor<4xf32>) -> tensor<4xf32>
  return
}

// CHECK-LABEL: func.func @parts
func.func @parts(%x: tensor<4xf64>) {
  // CHECK: hlo.complex %{{.*}}, %{{.*}} : tensor<4xcomplex<f64>>
  %0 = stablehlo.complex %x, %x : tensor<4xcomplex<f64>>
  // CHECK: hlo.real %{{.*}} : (tensor<4xcomplex<f64>>) -> tensor<4xf64>
  %1 = stablehlo.real %0 : (tensor<4xcomplex<f64>>) -> tensor<4xf64>
  // CHECK: hlo.imag %{{.*}} : tensor<4xf64>
  %2 = hlo.imag %x : tensor<4xf64>
  return
}
