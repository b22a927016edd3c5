// RUN: hlo-opt %s -p 'expand-math{vector-bits=256}' | filecheck %s
// RUN: hlo-opt %s --expand-math | filecheck %s --check-prefix=WIDE

// A program's own multiply-adds stay in its order.
// WIDE-NOT:      arith.mulf %x, %x
// CHECK-LABEL:   func.func @fused(
// CHECK-COUNT-7:   math.fma %{{.*}}, %x, %c
// CHECK-NEXT:      func.return
func.func @fused(%x: f32) -> f32 {
  %c0 = arith.constant 1.0 : f32
  %c1 = arith.constant 2.0 : f32
  %c2 = arith.constant 3.0 : f32
  %c3 = arith.constant 4.0 : f32
  %c4 = arith.constant 5.0 : f32
  %c5 = arith.constant 6.0 : f32
  %c6 = arith.constant 7.0 : f32
  %c7 = arith.constant 8.0 : f32
  %7 = math.fma %c7, %x, %c6 : f32
  %6 = math.fma %7, %x, %c5 : f32
  %5 = math.fma %6, %x, %c4 : f32
  %4 = math.fma %5, %x, %c3 : f32
  %3 = math.fma %4, %x, %c2 : f32
  %2 = math.fma %3, %x, %c1 : f32
  %1 = math.fma %2, %x, %c0 : f32
  func.return %1 : f32
}

// Products and sums that may be multiply-adds: the powers are products alone.
// CHECK-LABEL:   func.func @contracted(
// CHECK:           arith.mulf %c3, %x fastmath<contract> : f64
// CHECK:           [[SQUARE:%.*]] = arith.mulf %x, %x : f64
// CHECK:           arith.mulf %{{.*}}, [[SQUARE]] fastmath<contract> : f64
// CHECK:           [[LAST:%.*]] = arith.addf %{{.*}}, %c0 fastmath<contract> : f64
// CHECK-NEXT:      func.return [[LAST]] : f64
func.func @contracted(%x: f64) -> f64 {
  %c0 = arith.constant 1.0 : f64
  %c1 = arith.constant 2.0 : f64
  %c2 = arith.constant 3.0 : f64
  %c3 = arith.constant 4.0 : f64
  %c4 = arith.constant 5.0 : f64
  %c5 = arith.constant 6.0 : f64
  %c6 = arith.constant 7.0 : f64
  %c7 = arith.constant 8.0 : f64
  %p6 = arith.mulf %c7, %x fastmath<contract> : f64
  %s6 = arith.addf %p6, %c6 fastmath<contract> : f64
  %p5 = arith.mulf %s6, %x fastmath<contract> : f64
  %s5 = arith.addf %p5, %c5 fastmath<contract> : f64
  %p4 = arith.mulf %s5, %x fastmath<contract> : f64
  %s4 = arith.addf %p4, %c4 fastmath<contract> : f64
  %p3 = arith.mulf %s4, %x fastmath<contract> : f64
  %s3 = arith.addf %p3, %c3 fastmath<contract> : f64
  %p2 = arith.mulf %s3, %x fastmath<contract> : f64
  %s2 = arith.addf %p2, %c2 fastmath<contract> : f64
  %p1 = arith.mulf %s2, %x fastmath<contract> : f64
  %s1 = arith.addf %p1, %c1 fastmath<contract> : f64
  %p0 = arith.mulf %s1, %x fastmath<contract> : f64
  %s0 = arith.addf %p0, %c0 fastmath<contract> : f64
  func.return %s0 : f64
}

// A program's own polynomial is computed as it says, and one of seven coefficients stays.
// CHECK-LABEL:   func.func @exact(
// CHECK-NOT:       arith.mulf %x, %x
func.func @exact(%x: f64) -> f64 {
  %c0 = arith.constant 1.0 : f64
  %c1 = arith.constant 2.0 : f64
  %c2 = arith.constant 3.0 : f64
  %c3 = arith.constant 4.0 : f64
  %c4 = arith.constant 5.0 : f64
  %c5 = arith.constant 6.0 : f64
  %c6 = arith.constant 7.0 : f64
  %c7 = arith.constant 8.0 : f64
  %p6 = arith.mulf %c7, %x : f64
  %s6 = arith.addf %p6, %c6 : f64
  %p5 = arith.mulf %s6, %x : f64
  %s5 = arith.addf %p5, %c5 : f64
  %p4 = arith.mulf %s5, %x : f64
  %s4 = arith.addf %p4, %c4 : f64
  %p3 = arith.mulf %s4, %x : f64
  %s3 = arith.addf %p3, %c3 : f64
  %p2 = arith.mulf %s3, %x : f64
  %s2 = arith.addf %p2, %c2 : f64
  %p1 = arith.mulf %s2, %x : f64
  %s1 = arith.addf %p1, %c1 : f64
  %p0 = arith.mulf %s1, %x : f64
  %s0 = arith.addf %p0, %c0 : f64
  func.return %s0 : f64
}

func.func @short(%x: f64) -> f64 {
  %c0 = arith.constant 1.0 : f64
  %c1 = arith.constant 2.0 : f64
  %c2 = arith.constant 3.0 : f64
  %c3 = arith.constant 4.0 : f64
  %c4 = arith.constant 5.0 : f64
  %c5 = arith.constant 6.0 : f64
  %c6 = arith.constant 7.0 : f64
  %p5 = arith.mulf %c6, %x fastmath<contract> : f64
  %s5 = arith.addf %p5, %c5 fastmath<contract> : f64
  %p4 = arith.mulf %s5, %x fastmath<contract> : f64
  %s4 = arith.addf %p4, %c4 fastmath<contract> : f64
  %p3 = arith.mulf %s4, %x fastmath<contract> : f64
  %s3 = arith.addf %p3, %c3 fastmath<contract> : f64
  %p2 = arith.mulf %s3, %x fastmath<contract> : f64
  %s2 = arith.addf %p2, %c2 fastmath<contract> : f64
  %p1 = arith.mulf %s2, %x fastmath<contract> : f64
  %s1 = arith.addf %p1, %c1 fastmath<contract> : f64
  %p0 = arith.mulf %s1, %x fastmath<contract> : f64
  %s0 = arith.addf %p0, %c0 fastmath<contract> : f64
  func.return %s0 : f64
}

// A polynomial of a polynomial reads the new result of that.
// CHECK-LABEL:   func.func @nested(
// CHECK:           [[INNER:%[a-z0-9]+]] = arith.addf %{{[0-9]+}}, %c7 fastmath<contract> : f32
// CHECK-NEXT:      arith.mulf %c4, [[INNER]] fastmath<contract> : f32
// CHECK:           arith.mulf [[INNER]], [[INNER]] : f32
func.func @nested(%x: f32) -> f32 {
  %c0 = arith.constant 1.5 : f32
  %c1 = arith.constant 2.5 : f32
  %c2 = arith.constant 3.5 : f32
  %c3 = arith.constant 4.5 : f32
  %c4 = arith.constant 5.5 : f32
  %c5 = arith.constant 6.5 : f32
  %c6 = arith.constant 7.5 : f32
  %c7 = arith.constant 8.5 : f32
  %am1 = arith.mulf %c0, %x fastmath<contract> : f32
  %a1 = arith.addf %am1, %c1 fastmath<contract> : f32
  %am2 = arith.mulf %a1, %x fastmath<contract> : f32
  %a2 = arith.addf %am2, %c2 fastmath<contract> : f32
  %am3 = arith.mulf %a2, %x fastmath<contract> : f32
  %a3 = arith.addf %am3, %c3 fastmath<contract> : f32
  %am4 = arith.mulf %a3, %x fastmath<contract> : f32
  %a4 = arith.addf %am4, %c4 fastmath<contract> : f32
  %am5 = arith.mulf %a4, %x fastmath<contract> : f32
  %a5 = arith.addf %am5, %c5 fastmath<contract> : f32
  %am6 = arith.mulf %a5, %x fastmath<contract> : f32
  %a6 = arith.addf %am6, %c6 fastmath<contract> : f32
  %am7 = arith.mulf %a6, %x fastmath<contract> : f32
  %a7 = arith.addf %am7, %c7 fastmath<contract> : f32
  %bm1 = arith.mulf %c0, %a7 fastmath<contract> : f32
  %b1 = arith.addf %bm1, %c1 fastmath<contract> : f32
  %bm2 = arith.mulf %b1, %a7 fastmath<contract> : f32
  %b2 = arith.addf %bm2, %c2 fastmath<contract> : f32
  %bm3 = arith.mulf %b2, %a7 fastmath<contract> : f32
  %b3 = arith.addf %bm3, %c3 fastmath<contract> : f32
  %bm4 = arith.mulf %b3, %a7 fastmath<contract> : f32
  %b4 = arith.addf %bm4, %c4 fastmath<contract> : f32
  %bm5 = arith.mulf %b4, %a7 fastmath<contract> : f32
  %b5 = arith.addf %bm5, %c5 fastmath<contract> : f32
  %bm6 = arith.mulf %b5, %a7 fastmath<contract> : f32
  %b6 = arith.addf %bm6, %c6 fastmath<contract> : f32
  %bm7 = arith.mulf %b6, %a7 fastmath<contract> : f32
  %b7 = arith.addf %bm7, %c7 fastmath<contract> : f32
  func.return %b7 : f32
}

// Ten coefficients of a function that the pass defines: the upper eight in pairs of terms, the lower two by Horner's
// rule. Where vectors are long, that rule is for all.
// CHECK-LABEL:   func.func private @xhlo_math_exp_f64(
// CHECK:           [[SQUARE:%.*]] = arith.mulf [[R:%[0-9]+]], {{%[0-9]+}} : f64
// CHECK:           [[FOURTH:%.*]] = arith.mulf [[SQUARE]], [[SQUARE]] : f64
// CHECK:           [[EIGHTH:%.*]] = arith.mulf [[FOURTH]], [[FOURTH]] : f64
// CHECK:           [[UPPER:%.*]] = math.fma %{{.*}}, [[EIGHTH]], %{{.*}} : f64
// CHECK-NEXT:      [[LOWER:%.*]] = math.fma [[UPPER]], [[R]], %{{.*}} : f64
// CHECK-NEXT:      math.fma [[LOWER]], [[R]], %{{.*}} : f64
// WIDE-LABEL:    func.func private @xhlo_math_exp_f64(
// WIDE-NOT:        arith.mulf [[R:%.*]], [[R]] : f64
// WIDE:            func.return
func.func @expanded(%x: f64) -> f64 {
  %0 = math.exp %x : f64
  func.return %0 : f64
}
