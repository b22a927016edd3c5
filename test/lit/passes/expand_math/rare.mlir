// RUN: hlo-opt %s --expand-math | filecheck %s

// The C library computes rare arguments, in a function without effects.
// CHECK-LABEL: @rare
// CHECK-NEXT:    func.call @xhlo_math_sin_f64(%d)
func.func @rare(%d: f64) -> f64 {
  %0 = math.sin %d : f64
  func.return %0 : f64
}

// CHECK:      func.func private @xhlo_math_sin_f64(%{{.*}}: f64) -> f64 attributes {xhlo.inline}
// CHECK:        scf.if
// CHECK-NEXT:     func.call @xhlo_math_rare_sin_f64(
// CHECK:      func.func public @xhlo_math_rare_sin_f64(%[[X:.*]]: f64) -> f64 attributes {xhlo.pure, xhlo.variants = array<i64: 8, 16>}
// CHECK-NEXT:   math.sin %[[X]] : f64

// A variant for vectors looks at the lanes only if one of them is rare.
// CHECK:      func.func private @xhlo_math_rare_sin_f64_x8_lanes(%{{.*}}: vector<8xf64>, %{{.*}}: vector<8xi1>) -> vector<8xf64> attributes {xhlo.pure, xhlo.shared, xhlo.brief}
// CHECK:        scf.for
// CHECK:          math.sin
// CHECK:      func.func public @xhlo_math_rare_sin_f64_x8(%{{.*}}: vector<8xf64>, %[[MASK:.*]]: vector<8xi1>) -> vector<8xf64> attributes {xhlo.inline}
// CHECK-NEXT:   %[[ANY:.*]] = vector.reduction <or>, %[[MASK]] : vector<8xi1> into i1
// CHECK-NEXT:   scf.if %[[ANY]]
