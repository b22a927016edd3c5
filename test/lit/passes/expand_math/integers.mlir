// RUN: hlo-opt %s -p 'expand-math{vector_bits=512}' | filecheck %s
// RUN: hlo-opt %s -p 'expand-math{vector_bits=128}' | filecheck %s --check-prefix=NARROW

// Integers of up to 32 bits are divided as floats, which have vectors for that; by a constant LLVM multiplies.
// CHECK-LABEL: @divide
// CHECK:         func.call @xhlo_math_divsi_i32(%x, %y)
// CHECK:         func.call @xhlo_math_remui_i16(%s, %t)
// CHECK:         arith.divsi %x, %c
// CHECK:         arith.divsi %l, %l
// CHECK:       func.func private @xhlo_math_divsi_i32(
// CHECK:         arith.sitofp %{{.*}} : i32 to f64
// CHECK:         arith.divf %{{.*}} : f64
// CHECK:         arith.fptosi %{{.*}} : f64 to i32
// CHECK:       func.func private @xhlo_math_remui_i16(
// CHECK:         arith.divf %{{.*}} : f32
// CHECK:         arith.fptoui %{{.*}} : f32 to i16
// CHECK:         arith.muli
// CHECK:         arith.subi
// NARROW-LABEL: @divide
// NARROW-NOT:   func.call
func.func @divide(%x: i32, %y: i32, %s: i16, %t: i16, %l: i64) -> (i32, i16, i32, i64) {
  %c = arith.constant 7 : i32
  %0 = arith.divsi %x, %y : i32
  %1 = arith.remui %s, %t : i16
  %2 = arith.divsi %x, %c : i32
  %3 = arith.divsi %l, %l : i64
  func.return %0, %1, %2, %3 : i32, i16, i32, i64
}
