// RUN: hlo-opt %s --expand-math=vector_bits=512 | filecheck %s
// RUN: hlo-opt %s --expand-math=vector_bits=256 | filecheck %s --check-prefix=HALF
// RUN: hlo-opt %s --expand-math=vector_bits=128 | filecheck %s --check-prefix=NONE

// Half vectors leave the divider enough time, unless the loop that adds up the row can look at it.
// HALF-NOT:   func.call @xhlo_math_divf
// HALF-LABEL: @softmax
// HALF:         func.call @xhlo_math_divf_usual_f32(
// HALF-NOT:   func.call @xhlo_math_divf
// NONE-NOT:   xhlo_math_divf

// A row is looked at before it is divided: the least size, less one, and the greatest one.
// CHECK-LABEL: @divide
// CHECK:         scf.for
// CHECK:           arith.minui
// CHECK:           arith.maxui
// CHECK:         } {xhlo.parallel}
// CHECK:         scf.if
// CHECK:           func.call @xhlo_math_divf_usual_f32(
// CHECK:         } {xhlo.parallel, xhlo.cached}
// CHECK:         } else {
// CHECK:           arith.divf
func.func @divide(%x: memref<1024xf32>, %y: f32, %to: memref<1024xf32>) {
  %0 = arith.constant 0 : index
  %1 = arith.constant 1 : index
  %2 = arith.constant 1024 : index
  scf.for %i = %0 to %2 step %1 {
    %3 = memref.load %x[%i] : memref<1024xf32>
    %4 = arith.divf %3, %y : f32
    memref.store %4, %to[%i] : memref<1024xf32>
  } {xhlo.parallel, xhlo.cached}
  func.return
}

// Dividends that would be computed twice are looked at in each vector.
// CHECK-LABEL: @computed
// CHECK-NOT:     arith.minui
// CHECK:         func.call @xhlo_math_divf_f32(
func.func @computed(%x: memref<1024xf32>, %y: f32, %to: memref<1024xf32>) {
  %0 = arith.constant 0 : index
  %1 = arith.constant 1 : index
  %2 = arith.constant 1024 : index
  scf.for %i = %0 to %2 step %1 {
    %3 = memref.load %x[%i] : memref<1024xf32>
    %4 = arith.mulf %3, %3 : f32
    %5 = arith.divf %4, %y : f32
    memref.store %5, %to[%i] : memref<1024xf32>
  } {xhlo.parallel, xhlo.cached}
  func.return
}

// So is what an iteration loads after it stored something, here the element itself.
// CHECK-LABEL: @stored
// CHECK-NOT:     arith.minui
// CHECK:         func.call @xhlo_math_divf_f32(
func.func @stored(%x: memref<1024xf32>, %y: f32) {
  %0 = arith.constant 0 : index
  %1 = arith.constant 1 : index
  %2 = arith.constant 1024 : index
  scf.for %i = %0 to %2 step %1 {
    memref.store %y, %x[%i] : memref<1024xf32>
    %3 = memref.load %x[%i] : memref<1024xf32>
    %4 = arith.divf %3, %y : f32
    memref.store %4, %x[%i] : memref<1024xf32>
  } {xhlo.parallel, xhlo.cached}
  func.return
}

// Exponentials that are divided by their sum: the loop that adds them up finds the least, and no other looks at them.
// CHECK-LABEL: @softmax
// CHECK:         func.call @xhlo_math_exp_f32(
// CHECK:         [[FOUND:%.*]]:2 = scf.for
// CHECK:           arith.addf
// CHECK:           arith.minui
// CHECK:         } {xhlo.parallel}
// CHECK-NOT:     scf.for
// CHECK:         arith.cmpi uge, [[FOUND]]#1,
// CHECK:         scf.if
// CHECK:           func.call @xhlo_math_divf_usual_f32(
func.func @softmax(%x: memref<1024xf32>, %to: memref<1024xf32>) {
  %0 = arith.constant 0 : index
  %1 = arith.constant 1 : index
  %2 = arith.constant 1024 : index
  %zero = arith.constant 0.0 : f32
  %row = memref.alloca() : memref<1024xf32>
  %sum = memref.alloca() : memref<f32>
  scf.for %i = %0 to %2 step %1 {
    %3 = memref.load %x[%i] : memref<1024xf32>
    %4 = math.exp %3 : f32
    memref.store %4, %row[%i] : memref<1024xf32>
  } {xhlo.parallel}
  %5 = scf.for %i = %0 to %2 step %1 iter_args(%s = %zero) -> (f32) {
    %6 = memref.load %row[%i] : memref<1024xf32>
    %7 = arith.addf %s, %6 fastmath<reassoc> : f32
    scf.yield %7 : f32
  } {xhlo.parallel}
  memref.store %5, %sum[] : memref<f32>
  %8 = memref.load %sum[] : memref<f32>
  scf.for %i = %0 to %2 step %1 {
    %9 = memref.load %row[%i] : memref<1024xf32>
    %10 = arith.divf %9, %8 : f32
    memref.store %10, %to[%i] : memref<1024xf32>
  } {xhlo.parallel, xhlo.cached}
  func.return
}

// For numbers that may be negative, the greatest size has to be found too.
// CHECK-LABEL: @normalized
// CHECK:           arith.minui
// CHECK:           arith.maxui
func.func @normalized(%x: memref<1024xf32>, %to: memref<1024xf32>) {
  %0 = arith.constant 0 : index
  %1 = arith.constant 1 : index
  %2 = arith.constant 1024 : index
  %zero = arith.constant 0.0 : f32
  %row = memref.alloca() : memref<1024xf32>
  scf.for %i = %0 to %2 step %1 {
    %3 = memref.load %x[%i] : memref<1024xf32>
    %4 = math.exp %3 : f32
    %5 = arith.subf %4, %3 : f32
    memref.store %5, %row[%i] : memref<1024xf32>
  } {xhlo.parallel}
  %6 = scf.for %i = %0 to %2 step %1 iter_args(%s = %zero) -> (f32) {
    %7 = memref.load %row[%i] : memref<1024xf32>
    %8 = arith.addf %s, %7 fastmath<reassoc> : f32
    scf.yield %8 : f32
  } {xhlo.parallel}
  scf.for %i = %0 to %2 step %1 {
    %9 = memref.load %row[%i] : memref<1024xf32>
    %10 = arith.divf %9, %6 : f32
    memref.store %10, %to[%i] : memref<1024xf32>
  } {xhlo.parallel, xhlo.cached}
  func.return
}

// Nor does a sum of some of the exponentials bound the others.
// CHECK-LABEL: @part
// CHECK:           arith.minui
// CHECK:           arith.maxui
// CHECK-LABEL: @xhlo_math_divf_usual_f32
func.func @part(%x: memref<1024xf32>, %to: memref<1024xf32>) {
  %0 = arith.constant 0 : index
  %1 = arith.constant 1 : index
  %2 = arith.constant 1024 : index
  %half = arith.constant 512 : index
  %zero = arith.constant 0.0 : f32
  %row = memref.alloca() : memref<1024xf32>
  scf.for %i = %0 to %2 step %1 {
    %3 = memref.load %x[%i] : memref<1024xf32>
    %4 = math.exp %3 : f32
    memref.store %4, %row[%i] : memref<1024xf32>
  } {xhlo.parallel}
  %5 = scf.for %i = %0 to %half step %1 iter_args(%s = %zero) -> (f32) {
    %6 = memref.load %row[%i] : memref<1024xf32>
    %7 = arith.addf %s, %6 fastmath<reassoc> : f32
    scf.yield %7 : f32
  } {xhlo.parallel}
  scf.for %i = %0 to %2 step %1 {
    %8 = memref.load %row[%i] : memref<1024xf32>
    %9 = arith.divf %8, %5 : f32
    memref.store %9, %to[%i] : memref<1024xf32>
  } {xhlo.parallel, xhlo.cached}
  func.return
}
