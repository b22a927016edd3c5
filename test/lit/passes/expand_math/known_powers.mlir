// RUN: hlo-opt %s --expand-math | filecheck %s

// A known exponent of whole halves: one function for each, as is the exponent that was widened. Others, and exponents
// that are not known, take the function of both operands.
// CHECK-LABEL: @powers
// CHECK:         func.call @xhlo_math_powf_minus_3_halves_f32(%x
// CHECK:         func.call @xhlo_math_powf_1_halves_f32(%x
// CHECK:         func.call @xhlo_math_powf_3_halves_f64(%d
// CHECK:         func.call @xhlo_math_powf_6_halves_f32(%x
// CHECK:         func.call @xhlo_math_powf_f32(%x
// CHECK:         func.call @xhlo_math_powf_f32(%x, %x)
// CHECK:         func.call @xhlo_math_powf_f64(%d
func.func @powers(%x: f32, %d: f64) -> (f32, f32, f64, f32, f32, f32, f64) {
  %a = arith.constant -1.5 : f32
  %b = arith.constant 0.5 : f32
  %c = arith.constant 1.5 : f64
  %narrow = arith.constant 3.0 : bf16
  %e = arith.extf %narrow : bf16 to f32
  %f = arith.constant 2.2 : f32
  %g = arith.constant 5.0 : f64
  %0 = math.powf %x, %a : f32
  %1 = math.powf %x, %b : f32
  %2 = math.powf %d, %c : f64
  %3 = math.powf %x, %e : f32
  %4 = math.powf %x, %f : f32
  %5 = math.powf %x, %x : f32
  %6 = math.powf %d, %g : f64
  func.return %0, %1, %2, %3, %4, %5, %6 : f32, f32, f64, f32, f32, f32, f64
}

// The product with the root is in f64, and its reciprocal rounded once; -inf counts as inf.
// CHECK:      func.func private @xhlo_math_powf_minus_3_halves_f32(%{{.*}}: f32, %{{.*}}: f32) -> f32
// CHECK:        arith.cmpf oeq
// CHECK-NEXT:   arith.constant 0x7F800000
// CHECK-NEXT:   arith.select
// CHECK:        math.sqrt %{{.*}} : f64
// CHECK:        arith.mulf %{{.*}} : f64
// CHECK:        arith.divf %{{.*}} : f64
// CHECK:        math.absf %{{.*}} : f32

// A root is rounded once by itself.
// CHECK:      func.func private @xhlo_math_powf_1_halves_f32(
// CHECK-NOT:    f64
// CHECK:        math.sqrt %{{.*}} : f32
// CHECK:        math.absf
