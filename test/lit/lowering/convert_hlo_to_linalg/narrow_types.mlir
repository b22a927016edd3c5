// RUN: hlo-opt %s --convert-hlo-to-linalg --split-input-file --verify-diagnostics | filecheck %s

// A narrow float is the i8 of its bits: here with two bits of mantissa and the bias 15. Its subnormal numbers are
// differences, without subnormal numbers of f32.

// CHECK-LABEL: func.func private @decode
// CHECK-SAME:    (%{{.*}}: tensor<4xi8>) -> tensor<4xf32>
// CHECK:       ^{{.*}}(%[[X:.*]]: i8, %{{.*}}: f32):
// CHECK-NEXT:    %[[B:.*]] = arith.extui %[[X]] : i8 to i32
// CHECK:         arith.andi %[[B]], %{{.*}} : i32
// CHECK:         arith.shli
// CHECK:         arith.subf %{{.*}} : f32
// CHECK:         arith.select
// CHECK:         arith.ori
// CHECK:         linalg.yield
func.func private @decode(%x: tensor<4xf8E5M2>) -> tensor<4xf32> attributes {hlo.kernel = "loop"} {
  %0 = hlo.convert %x : (tensor<4xf8E5M2>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}

// -----

// CHECK-LABEL: func.func private @encode
// CHECK-SAME:    (%{{.*}}: tensor<4xf32>) -> tensor<4xi8>
// CHECK:         arith.bitcast %{{.*}} : f32 to i32
// CHECK:         arith.trunci %{{.*}} : i32 to i8
func.func private @encode(%x: tensor<4xf32>) -> tensor<4xf4E2M1FN> attributes {hlo.kernel = "loop"} {
  %0 = hlo.convert %x : (tensor<4xf32>) -> tensor<4xf4E2M1FN>
  return %0 : tensor<4xf4E2M1FN>
}

// -----

// The parts of an element by shifts; the least significant first.

// CHECK-LABEL: func.func private @take_apart
// CHECK:         linalg.index 1
// CHECK:         arith.shrui %{{.*}} : i32
// CHECK:         arith.trunci %{{.*}} : i32 to i4
func.func private @take_apart(%x: tensor<4xf32>) -> tensor<4x8xui4> attributes {hlo.kernel = "custom"} {
  %0 = hlo.bitcast_convert %x : (tensor<4xf32>) -> tensor<4x8xui4>
  return %0 : tensor<4x8xui4>
}

// -----

// CHECK-LABEL: func.func private @join
// CHECK:         affine_map<(d0) -> (d0, 0)>, affine_map<(d0) -> (d0, 1)>
// CHECK:         arith.shli %{{.*}} : i32
// CHECK:         arith.ori %{{.*}} : i32
// CHECK:         arith.bitcast %{{.*}} : i32 to f32
func.func private @join(%x: tensor<4x2xbf16>) -> tensor<4xf32> attributes {hlo.kernel = "custom"} {
  %0 = hlo.bitcast_convert %x : (tensor<4x2xbf16>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}

// -----

func.func private @arithmetic(%x: tensor<4xf8E5M2>) -> tensor<4xf8E5M2> attributes {hlo.kernel = "loop"} {
  // expected-error@+1 {{'hlo.add' op computes on floats of 8 bits or less: run --normalize-narrow-floats before}}
  %0 = hlo.add %x, %x : tensor<4xf8E5M2>
  return %0 : tensor<4xf8E5M2>
}
