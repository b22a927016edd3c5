// RUN: hlo-opt %s --convert-hlo-to-linalg | filecheck %s
// Each elementwise operation is a generic; types lose their signedness, and the body's operations express it.

// A zero divisor never reaches the division; x / 0 has all bits set.
// CHECK-LABEL: @unsigned_division(%{{.*}}: tensor<4xi8>, %{{.*}}: tensor<4xi8>) -> tensor<4xi8>
// CHECK:       ^bb0(%[[X:.*]]: i8, %[[Y:.*]]: i8, %{{.*}}: i8):
// CHECK:         %[[ZERO:.*]] = arith.cmpi eq, %[[Y]],
// CHECK:         %[[SAFE:.*]] = arith.select %[[ZERO]], %{{.*}}, %[[Y]] : i8
// CHECK:         %[[Q:.*]] = arith.divui %[[X]], %[[SAFE]] : i8
// CHECK:         %[[ONES:.*]] = arith.constant -1 : i8
// CHECK:         arith.select %[[ZERO]], %[[ONES]], %[[Q]] : i8
func.func private @unsigned_division(%x: tensor<4xui8>, %y: tensor<4xui8>) -> tensor<4xui8> attributes {hlo.kernel = "loop"} {
  %0 = hlo.divide %x, %y : tensor<4xui8>
  return %0 : tensor<4xui8>
}

// One operation rounds once.
// CHECK-LABEL: @bf16
// CHECK-COUNT-2: arith.extf %{{.*}} : bf16 to f32
// CHECK-NEXT:    %[[SUM:.*]] = arith.addf %{{.*}} : f32
// CHECK-NEXT:    arith.truncf %[[SUM]] : f32 to bf16
func.func private @bf16(%x: tensor<4xbf16>) -> tensor<4xbf16> attributes {hlo.kernel = "loop"} {
  %0 = hlo.add %x, %x : tensor<4xbf16>
  return %0 : tensor<4xbf16>
}

// Nothing out of range reaches the conversion: NaN becomes 0, other values the nearest bound.
// CHECK-LABEL: @saturating
// CHECK:         %[[HIGH:.*]] = arith.cmpf oge
// CHECK:         %[[LOW:.*]] = arith.cmpf olt
// CHECK:         arith.cmpf uno
// CHECK:         %[[SAFE:.*]] = arith.select
// CHECK:         arith.fptosi %[[SAFE]] : f32 to i8
// CHECK:         arith.select %[[LOW]]
// CHECK:         arith.select %[[HIGH]]
func.func private @saturating(%x: tensor<4xf32>) -> tensor<4xi8> attributes {hlo.kernel = "loop"} {
  %0 = hlo.convert %x : (tensor<4xf32>) -> tensor<4xi8>
  return %0 : tensor<4xi8>
}
