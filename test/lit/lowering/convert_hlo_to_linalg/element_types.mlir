// RUN: hlo-opt %s --convert-hlo-to-linalg | filecheck %s

// CHECK-LABEL: @to_bool
// CHECK:         %[[W:[0-9]+]] = arith.extf %{{.*}} : bf16 to f32
// CHECK:         arith.cmpf une, %[[W]],
func.func private @to_bool(%x: tensor<4xbf16>) -> tensor<4xi1> attributes {hlo.kernel = "loop"} {
  %0 = hlo.convert %x : (tensor<4xbf16>) -> tensor<4xi1>
  return %0 : tensor<4xi1>
}

// CHECK-LABEL: @extended
// CHECK:         arith.extui %{{.*}} : i8 to i32
// CHECK:         arith.extsi %{{.*}} : i8 to i32
func.func private @extended(%x: tensor<4xui8>, %y: tensor<4xi8>) -> (tensor<4xi32>, tensor<4xui32>) attributes {hlo.kernel = "loop"} {
  %0 = hlo.convert %x : (tensor<4xui8>) -> tensor<4xi32>
  %1 = hlo.convert %y : (tensor<4xi8>) -> tensor<4xui32>
  return %0, %1 : tensor<4xi32>, tensor<4xui32>
}

// Through f64, which holds every i32: rounded once.
// CHECK-LABEL: @rounded_once
// CHECK:         %[[D:[0-9]+]] = arith.sitofp %{{.*}} : i32 to f64
// CHECK-NEXT:    arith.truncf %[[D]] : f64 to f16
func.func private @rounded_once(%x: tensor<4xi32>) -> tensor<4xf16> attributes {hlo.kernel = "loop"} {
  %0 = hlo.convert %x : (tensor<4xi32>) -> tensor<4xf16>
  return %0 : tensor<4xf16>
}

// CHECK-LABEL: @bits
// CHECK:         arith.bitcast %{{.*}} : f32 to i32
func.func private @bits(%x: tensor<4xf32>) -> tensor<4xui32> attributes {hlo.kernel = "loop"} {
  %0 = hlo.bitcast_convert %x : (tensor<4xf32>) -> tensor<4xui32>
  return %0 : tensor<4xui32>
}

// To nearest even in the upper 16 bits, in integers; NaN stays as it is.
// CHECK-LABEL: @fewer_bits
// CHECK:         arith.constant 16 : i32
// CHECK:         arith.constant 32767 : i32
// CHECK:         arith.constant -65536 : i32
// CHECK:         %[[NAN:[0-9]+]] = arith.cmpf uno, %[[X:[0-9]+]], %[[X]] : f32
// CHECK:         arith.select %[[NAN]], %[[X]],
func.func private @fewer_bits(%x: tensor<4xf32>) -> tensor<4xf32> attributes {hlo.kernel = "loop"} {
  %0 = hlo.reduce_precision %x, format = e8m7 : tensor<4xf32>
  return %0 : tensor<4xf32>
}

// CHECK-LABEL: @parts
// CHECK:         ^bb0(%[[X:[0-9]+]]: f32,
// CHECK-NEXT:      linalg.yield %[[X]]
// CHECK:           %[[ZERO:[0-9]+]] = arith.constant 0.000000e+00 : f32
// CHECK-NEXT:      linalg.yield %[[ZERO]]
func.func private @parts(%x: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) attributes {hlo.kernel = "loop"} {
  %0 = hlo.real %x : tensor<4xf32>
  %1 = hlo.imag %x : tensor<4xf32>
  return %0, %1 : tensor<4xf32>, tensor<4xf32>
}
