// RUN: hlo-opt %s --expand-math | filecheck %s
// RUN: hlo-opt %s --expand-math | filecheck %s --check-prefix=ONCE

// A special function is defined once for each type, with the number of its operations on the calls of it.
// ONCE-COUNT-1: func.func private @xhlo_math_erf_inv_f32(
// ONCE-NOT:     func.func private @xhlo_math_erf_inv_f32(

// CHECK-LABEL: func.func @whole
// CHECK-SAME: (%[[X:.*]]: f32, %[[H:.*]]: f16)
func.func @whole(%x: f32, %h: f16) -> (f32, f16) {
  // CHECK-NEXT: %[[Y:.*]] = func.call @xhlo_math_erf_inv_f32(%[[X]]) {xhlo.operations = {{[0-9]+}} : i64} : (f32) -> f32
  // CHECK-NEXT: func.call @xhlo_math_erf_inv_f32(%[[Y]])
  // CHECK-NEXT: func.call @xhlo_math_erf_inv_f16(%[[H]])
  %0 = math_ext.erf_inv %x : f32
  %1 = math_ext.erf_inv %0 : f32
  %2 = math_ext.erf_inv %h : f16
  func.return %1, %2 : f32, f16
}

// A known order is inside the function: no power, and only digamma's tangent or the powers' product are left.
// CHECK-LABEL: func.func @known
func.func @known(%n: f64, %x: f64) -> (f64, f64) {
  // CHECK: func.call @"xhlo_math_polygamma_0_0x1.0000000000000p+0_f64"(%{{.*}}) {xhlo.operations = {{[0-9]+}} : i64} : (f64) -> f64
  // CHECK: func.call @xhlo_math_polygamma_f64(
  %one = arith.constant 1.0 : f64
  %0 = math_ext.polygamma %one, %x : f64
  %1 = math_ext.polygamma %n, %x : f64
  func.return %0, %1 : f64, f64
}

// In f16 it is computed in f64 and rounded once; sums of products may become multiply-adds.
// CHECK:     func.func private @xhlo_math_erf_inv_f16(%[[A:.*]]: f16) -> f16 attributes {xhlo.inline}
// CHECK-NEXT:  %[[WIDE:.*]] = arith.extf %[[A]] : f16 to f64
// CHECK:       arith.addf %{{.*}}, %{{.*}} fastmath<contract> : f64
// CHECK:       arith.truncf %{{.*}} : f64 to f16
// CHECK-NEXT:  func.return

// CHECK:     func.func private @"xhlo_math_polygamma_0_0x1.0000000000000p+0_f64"(%{{.*}}: f64)
// CHECK-NOT:   @xhlo_math_powf
// CHECK-NOT:   @xhlo_math_tan
// CHECK:     func.func private @xhlo_math_polygamma_f64(
// CHECK:       func.call @xhlo_math_powf_f64(
// CHECK:       func.call @xhlo_math_tan_f64(
