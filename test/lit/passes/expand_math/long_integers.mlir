// RUN: hlo-opt %s -p 'expand-math{vector_bits=256}' | filecheck %s
// RUN: hlo-opt %s -p 'expand-math{vector_bits=128}' | filecheck %s --check-prefix=NARROW

// Integers of 64 bits are divided as floats in long loops of independent iterations, unless one of them has too many bits.
// CHECK-LABEL: @divide_long
// CHECK:         func.call @xhlo_math_remsi_small_i64(
// CHECK:         func.call @xhlo_math_divui_small_i64(
// CHECK:         arith.divsi
// CHECK:       func.func private @xhlo_math_remsi_small_i64(%[[X:.*]]: i64, %[[Y:.*]]: i64)
// CHECK:         %[[QUOTIENT:.*]] = arith.divf
// CHECK:         math.trunc %[[QUOTIENT]]
// CHECK:         arith.mulf
// CHECK:         arith.subf
// CHECK:         %[[LARGE:.*]] = arith.cmpi ne
// CHECK:         scf.if %[[LARGE]]
// CHECK:         func.call @xhlo_math_rare_remsi_i64(%[[X]], %[[Y]])
// CHECK:       func.func public @xhlo_math_rare_remsi_i64(
// CHECK:         arith.remsi
// Vectors with a lane of many bits: their quotients are small if they are those of floats.
// CHECK:       func.func private @xhlo_math_rare_remsi_i64_x4_lanes(%[[XS:.*]]: vector<4xi64>, %[[YS:.*]]: vector<4xi64>, %{{.*}}: vector<4xi1>)
// CHECK:         %[[RATIO:.*]] = arith.divf %{{.*}}, %{{.*}} : vector<4xf64>
// CHECK:         %[[ANY:.*]] = vector.reduction <or>
// CHECK:         %[[LARGE:.*]] = arith.cmpi slt, %[[ANY]]
// CHECK-NEXT:    scf.if %[[LARGE]]
// CHECK-NEXT:      arith.remsi %[[XS]], %[[YS]] : vector<4xi64>
// CHECK:       func.func public @xhlo_math_rare_remsi_i64_x4(
// NARROW-LABEL: @divide_long
// NARROW-NOT:   func.call
func.func @divide_long(%x: memref<64xi64>, %y: memref<64xi64>, %z: memref<64xi64>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  %c64 = arith.constant 64 : index
  scf.for %i = %c0 to %c64 step %c1 {
    %0 = memref.load %x[%i] : memref<64xi64>
    %1 = memref.load %y[%i] : memref<64xi64>
    %2 = arith.remsi %0, %1 : i64
    %3 = arith.divui %2, %1 : i64
    memref.store %3, %z[%i] : memref<64xi64>
  } {xhlo.parallel}
  scf.for %i = %c0 to %c8 step %c1 {
    %0 = memref.load %x[%i] : memref<64xi64>
    %1 = arith.divsi %0, %0 : i64
    memref.store %1, %z[%i] : memref<64xi64>
  } {xhlo.parallel}
  func.return
}
