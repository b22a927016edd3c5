// RUN: hlo-opt %s -p 'expand-math{scalings=true}' | filecheck %s

// One instruction multiplies by a power of two, also where the product is subnormal or infinite; where it would be zero,
// as for masked attention scores, nothing underflows. Of vectors both choices are masks of instructions.
// CHECK:      func.func private @xhlo_math_exp_f32(%{{.*}}: f32) -> f32 attributes {xhlo.inline}
// CHECK:        [[SOME:%.*]] = arith.cmpf uge, %{{.*}}, %{{.*}} : f32
// CHECK:        arith.select [[SOME]], %{{.*}}, %{{.*}} : f32
// CHECK:        [[RESULT:%.*]] = cpu.scale %{{.*}}, %{{.*}} : f32
// CHECK:        [[CHOSEN:%.*]] = arith.select [[SOME]], [[RESULT]], %{{.*}} : f32
// CHECK-NEXT:   func.return [[CHOSEN]] : f32
// CHECK:      func.func private @xhlo_math_exp_f64(%{{.*}}: f64) -> f64 attributes {xhlo.inline}
// CHECK:        [[SOME:%.*]] = arith.cmpf uge, %{{.*}}, %{{.*}} : f64
// CHECK:        arith.select [[SOME]], %{{.*}}, %{{.*}} : f64
// CHECK:        [[N:%.*]] = arith.trunci %{{.*}} : i64 to i32
// CHECK-NEXT:   [[RESULT:%.*]] = cpu.scale %{{.*}}, [[N]] : f64
// CHECK:        [[CHOSEN:%.*]] = arith.select [[SOME]], [[RESULT]], %{{.*}} : f64
// CHECK-NEXT:   func.return [[CHOSEN]] : f64
func.func @calls(%a: f32, %d: f64) -> (f32, f64) {
  %0 = math.exp %a : f32
  %1 = math.exp %d : f64
  func.return %0, %1 : f32, f64
}

// Where nothing overflows, the exponent is not bounded above: only n is chosen, so that what becomes zero does not
// underflow.
// CHECK:      func.func private @xhlo_math_exp_not_above_zero_f32(%{{.*}}: f32) -> f32 attributes {xhlo.inline}
// CHECK:        [[SOME:%.*]] = arith.cmpf uge, %{{.*}}, %{{.*}} : f32
// CHECK-NOT:    arith.cmpf
// CHECK:        [[N:%.*]] = arith.select [[SOME]], %{{.*}}, %{{.*}} : i32
// CHECK:        [[RESULT:%.*]] = cpu.scale %{{.*}}, [[N]] : f32
// CHECK:        arith.select [[SOME]], [[RESULT]], %{{.*}} : f32
func.func @below_a_maximum(%a: f32) -> f32 {
  %0 = math.exp %a {xhlo.not_above_zero} : f32
  func.return %0 : f32
}
