// RUN: hlo-opt %s --expand-math | filecheck %s

// Where nothing overflows, the exponent is not bounded above, and e^x is always computed 2^64 times as large.
// Both factors are chosen: LLVM would put a choice of their product after the product with a constant, which underflows.
// CHECK:      func.func private @xhlo_math_exp_not_above_zero_f32(%{{.*}}: f32) -> f32 attributes {xhlo.inline}
// CHECK-NOT:    arith.cmpi
// CHECK:        [[IS_SOME:%.*]] = arith.cmpf uge, %{{.*}}, %{{.*}} : f32
// CHECK:        arith.select [[IS_SOME]], %{{.*}}, %{{.*}} : f32
// CHECK:        [[POWER:%.*]] = arith.select [[IS_SOME]], %{{.*}}, %{{.*}} : i32
// CHECK:        [[FACTOR:%.*]] = arith.bitcast [[POWER]] : i32 to f32
// CHECK-NEXT:   [[PRODUCT:%.*]] = arith.mulf %{{.*}}, [[FACTOR]] : f32
// CHECK-NEXT:   [[SCALE:%.*]] = arith.constant 5.421011e-20 : f32
// CHECK-NEXT:   [[RESULT:%.*]] = arith.mulf [[PRODUCT]], [[SCALE]] : f32
// CHECK-NEXT:   func.return [[RESULT]] : f32
// CHECK:      func.func private @xhlo_math_exp_not_above_zero_f64(%{{.*}}: f64) -> f64 attributes {xhlo.inline}
func.func @below_a_maximum(%a: f32, %d: f64) -> (f32, f64) {
  %0 = math.exp %a {xhlo.not_above_zero} : f32
  %1 = math.exp %d {xhlo.not_above_zero} : f64
  func.return %0, %1 : f32, f64
}
