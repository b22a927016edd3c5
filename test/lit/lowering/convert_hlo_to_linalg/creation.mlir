// RUN: hlo-opt %s --convert-hlo-to-linalg | filecheck %s

// In a body, a splat is its element: no memory is read.
// CHECK-LABEL: @splat
// CHECK:         linalg.generic {{.*}} outs(%{{.*}} : tensor<4xi8>)
// CHECK:           %[[C:[0-9]+]] = arith.constant -56 : i8
// CHECK-NEXT:      linalg.yield %[[C]]
func.func private @splat() -> tensor<4xui8> attributes {hlo.kernel = "loop"} {
  %0 = hlo.constant dense<200> : tensor<4xui8>
  return %0 : tensor<4xui8>
}

// A constant without elements, as a fusion of zeros is printed, is a splat too.
// CHECK-LABEL: @no_elements
// CHECK:         linalg.generic {{.*}} outs(%{{.*}} : tensor<0x3xf32>)
// CHECK:           arith.constant 0.000000e+00 : f32
func.func private @no_elements() -> tensor<0x3xf32> attributes {hlo.kernel = "loop"} {
  %0 = hlo.constant dense<> : tensor<0x3xf32>
  return %0 : tensor<0x3xf32>
}

// CHECK-LABEL: @count
// CHECK:         linalg.index 1 : index
// CHECK:         arith.truncf %{{.*}} : f64 to f16
func.func private @count() -> tensor<3x4xf16> attributes {hlo.kernel = "loop"} {
  %0 = hlo.iota dim = 1 : tensor<3x4xf16>
  return %0 : tensor<3x4xf16>
}

// On the host a constant stays one, without its signedness.
// CHECK-LABEL: @main
// CHECK:         arith.constant dense<[1, -1]> : tensor<2xi8>
func.func @main() -> tensor<2xui8> {
  %0 = hlo.constant dense<[1, 255]> : tensor<2xui8>
  return %0 : tensor<2xui8>
}
