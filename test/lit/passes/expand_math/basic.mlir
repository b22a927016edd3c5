// RUN: hlo-opt %s --expand-math | filecheck %s

// One function for each operation and type, however often it is called.
// CHECK-LABEL: @calls
// CHECK-NEXT:    func.call @xhlo_math_exp_f32(%a)
// CHECK-NEXT:    func.call @xhlo_math_exp_f32(%b)
// CHECK-NEXT:    func.call @xhlo_math_exp_f64(%d)
func.func @calls(%a: f32, %b: f32, %d: f64) -> (f32, f32, f64) {
  %0 = math.exp %a : f32
  %1 = math.exp %b : f32
  %2 = math.exp %d : f64
  func.return %0, %1, %2 : f32, f32, f64
}

// An instruction stays.
// CHECK-LABEL: @left
// CHECK-NEXT:    math.sqrt %a : f32
func.func @left(%a: f32) -> f32 {
  %0 = math.sqrt %a : f32
  func.return %0 : f32
}

// Rounding to bfloat16 is integer arithmetic, from f64 through f32 rounded to odd; f16 has an instruction.
// CHECK-LABEL: @narrow
// CHECK-NEXT:    func.call @xhlo_math_truncf_f32_bf16(%a)
// CHECK-NEXT:    func.call @xhlo_math_truncf_f64_bf16(%d)
// CHECK-NEXT:    arith.truncf %a : f32 to f16
func.func @narrow(%a: f32, %d: f64) -> (bf16, bf16, f16) {
  %0 = arith.truncf %a : f32 to bf16
  %1 = arith.truncf %d : f64 to bf16
  %2 = arith.truncf %a : f32 to f16
  func.return %0, %1, %2 : bf16, bf16, f16
}

// The angle of a point next to 1 is an arctangent, in f32.
// CHECK-LABEL: @angles
// CHECK:         func.call @xhlo_math_atan_f32(%a) : (f32) -> f32
// CHECK-NEXT:    func.call @xhlo_math_atan2_f32(%a, %b)
func.func @angles(%a: f32, %b: f32) -> (f32, f32) {
  %one = arith.constant 1.0 : f32
  %0 = math.atan2 %a, %one : f32
  %1 = math.atan2 %a, %b : f32
  func.return %0, %1 : f32, f32
}

// The last product alone is denormal or infinite: before it e^x is 2^64 times as large where x is negative, and as small
// where it is not, and where it is 0, nothing underflows on the way.
// CHECK:      func.func private @xhlo_math_exp_f32(%{{.*}}: f32) -> f32 attributes {xhlo.inline}
// CHECK:        [[NEGATIVE:%.*]] = arith.cmpi slt, %{{.*}}, %{{.*}} : i32
// CHECK:        [[SCALE:%.*]] = arith.select [[NEGATIVE]], %{{.*}}, %{{.*}} : f32
// CHECK:        [[PRODUCT:%.*]] = arith.mulf
// CHECK-NEXT:   [[LEAST:%.*]] = arith.constant -1.045000e+02 : f32
// CHECK-NEXT:   [[IS_SOME:%.*]] = arith.cmpf uge, %{{.*}}, [[LEAST]] : f32
// CHECK:        [[CHOSEN:%.*]] = arith.select [[IS_SOME]], [[PRODUCT]], %{{.*}} : f32
// CHECK-NEXT:   arith.mulf [[CHOSEN]], [[SCALE]] : f32
// CHECK-NOT:    math.exp
// CHECK:      func.func private @xhlo_math_exp_f64(
// CHECK:      func.func private @xhlo_math_truncf_f32_bf16(
// CHECK:        arith.constant 32767 : i32
// CHECK:        %[[Q:[0-9]+]] = arith.ori %{{.*}} : i32
// CHECK:        arith.select %{{[0-9]+}}, %[[Q]],
// CHECK:        arith.bitcast %{{.*}} : i16 to bf16
// CHECK:      func.func private @xhlo_math_truncf_f64_bf16(
// CHECK:      func.func private @xhlo_math_atan_f32(%{{.*}}: f32) -> f32 attributes {xhlo.inline}
// CHECK-NOT:    f64
// CHECK:      func.func private @xhlo_math_atan2_f32(
// CHECK-NOT:  func.func private @xhlo_math_exp_f32(
