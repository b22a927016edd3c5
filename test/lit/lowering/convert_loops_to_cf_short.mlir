// RUN: hlo-opt %s --convert-loops-to-cf='vector-bits=256' | filecheck %s
// RUN: hlo-opt %s --convert-loops-to-cf | filecheck %s --check-prefix=MASKS

// Eleven iterations are a vector of eight and three alone, which are not vectorized; AVX-512 masks the rest.

// CHECK-LABEL: func.func @eleven
// CHECK-DAG: arith.constant 8 : index
// CHECK: cf.cond_br {{.*}} {xhlo.parallel}
// CHECK: arith.constant 8 : index
// CHECK: arith.constant 11 : index
// CHECK: cf.cond_br {{.*}} {xhlo.parallel, xhlo.vectorize = false, xhlo.unroll = 0 : i64}
// MASKS-LABEL: func.func @eleven
// MASKS-COUNT-1: cf.cond_br
// MASKS-NOT: cf.cond_br
func.func @eleven(%x: memref<11xf32>, %y: memref<11xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c11 = arith.constant 11 : index
  scf.for %i = %c0 to %c11 step %c1 {
    %a = memref.load %x[%i] : memref<11xf32>
    %b0 = arith.mulf %a, %a : f32
    %b1 = arith.mulf %b0, %a : f32
    %b2 = arith.addf %b1, %a : f32
    %b3 = arith.mulf %b2, %a : f32
    %b4 = arith.addf %b3, %a : f32
    %b5 = arith.mulf %b4, %a : f32
    %b6 = arith.addf %b5, %a : f32
    %b7 = arith.mulf %b6, %a : f32
    %b8 = arith.addf %b7, %a : f32
    %b9 = arith.mulf %b8, %a : f32
    %b10 = arith.addf %b9, %a : f32
    memref.store %b10, %y[%i] : memref<11xf32>
  } {xhlo.parallel}
  func.return
}

// An elementary function takes as long for one element as for a vector: two pieces beside the vector pay, not three.

func.func private @exp(%x: f32) -> f32

// CHECK-LABEL: func.func @functions
// CHECK-DAG: arith.constant 8 : index
// CHECK: cf.cond_br {{.*}} {xhlo.parallel}
// CHECK: arith.constant 8 : index
// CHECK: arith.constant 10 : index
// CHECK: cf.cond_br {{.*}} {xhlo.parallel, xhlo.vectorize = false, xhlo.unroll = 0 : i64}
// CHECK: cf.cond_br {{.*}} {xhlo.parallel}
// CHECK-NOT: cf.cond_br
// MASKS-LABEL: func.func @functions
// MASKS-COUNT-2: cf.cond_br
// MASKS-NOT: cf.cond_br
func.func @functions(%x: memref<11xf32>, %y: memref<11xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c10 = arith.constant 10 : index
  %c11 = arith.constant 11 : index
  scf.for %i = %c0 to %c10 step %c1 {
    %a = memref.load %x[%i] : memref<11xf32>
    %b = func.call @exp(%a) : (f32) -> f32
    memref.store %b, %y[%i] : memref<11xf32>
  } {xhlo.parallel}
  scf.for %i = %c0 to %c11 step %c1 {
    %a = memref.load %x[%i] : memref<11xf32>
    %b = func.call @exp(%a) : (f32) -> f32
    memref.store %b, %y[%i] : memref<11xf32>
  } {xhlo.parallel}
  func.return
}

// A row of twelve is unrolled with its place computed once; AVX-512 makes one vector of it.

// CHECK-LABEL: func.func @gathered_row
// CHECK: cf.cond_br {{.*}} {xhlo.parallel, xhlo.unroll = 0 : i64}
// MASKS-LABEL: func.func @gathered_row
// MASKS: cf.cond_br {{.*}} {xhlo.parallel}
func.func @gathered_row(%x: memref<64x12xf32>, %y: memref<12xf32>, %place: i32) -> f32 {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c12 = arith.constant 12 : index
  %none = arith.constant 0 : i32
  %last = arith.constant 63 : i32
  %start = arith.constant 0x7F800000 : f32
  %least = scf.for %i = %c0 to %c12 step %c1 iter_args(%z = %start) -> (f32) {
    %p0 = arith.xori %place, %last : i32
    %p1 = arith.shli %p0, %place : i32
    %p2 = arith.addi %p1, %place : i32
    %p3 = arith.subi %p2, %last : i32
    %p4 = arith.maxsi %p3, %none : i32
    %p5 = arith.minsi %p4, %last : i32
    %p6 = arith.muli %p5, %p5 : i32
    %p7 = arith.minsi %p6, %last : i32
    %row = arith.index_cast %p7 : i32 to index
    %a = memref.load %x[%row, %i] : memref<64x12xf32>
    %b = memref.load %y[%i] : memref<12xf32>
    %c = arith.addf %a, %b : f32
    %d = arith.minimumf %z, %c : f32
    scf.yield %d : f32
  } {xhlo.parallel}
  func.return %least : f32
}

// So are long elements, which LLVM computes one after the other; not those of a sum of whole vectors and a few more, nor
// those of a loop of which each iteration waits for the one before.

// CHECK-LABEL: func.func @long_elements
// CHECK: cf.cond_br {{.*}} {xhlo.parallel, xhlo.unroll = 0 : i64}
// CHECK: cf.cond_br {{.*}} {xhlo.parallel}
// CHECK: cf.cond_br
// CHECK-NOT: xhlo
// CHECK: return
func.func @long_elements(%x: memref<64x28xf32>, %place: i32) -> (f32, f32, f32) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c12 = arith.constant 12 : index
  %c28 = arith.constant 28 : index
  %last = arith.constant 63 : i32
  %zero = arith.constant 0.0 : f32
  %first = arith.index_cast %place : i32 to index
  %least = scf.for %i = %c0 to %c12 step %c1 iter_args(%z = %zero) -> (f32) {
    %a = memref.load %x[%first, %i] : memref<64x28xf32>
    %b0 = arith.mulf %a, %a : f32
    %b1 = arith.mulf %b0, %a : f32
    %b2 = arith.addf %b1, %a : f32
    %b3 = arith.mulf %b2, %a : f32
    %b4 = arith.addf %b3, %a : f32
    %b5 = arith.mulf %b4, %a : f32
    %b6 = arith.addf %b5, %a : f32
    %b7 = arith.mulf %b6, %a : f32
    %b8 = arith.addf %b7, %a : f32
    %b9 = arith.mulf %b8, %a : f32
    %d = arith.minimumf %z, %b9 : f32
    scf.yield %d : f32
  } {xhlo.parallel}
  %sum = scf.for %i = %c0 to %c28 step %c1 iter_args(%z = %zero) -> (f32) {
    %p0 = arith.xori %place, %last : i32
    %p1 = arith.shli %p0, %place : i32
    %p2 = arith.addi %p1, %place : i32
    %p3 = arith.andi %p2, %last : i32
    %row = arith.index_cast %p3 : i32 to index
    %a = memref.load %x[%row, %i] : memref<64x28xf32>
    %d = arith.addf %z, %a fastmath<reassoc> : f32
    scf.yield %d : f32
  } {xhlo.parallel}
  %power = scf.for %i = %c0 to %c12 step %c1 iter_args(%z = %zero) -> (f32) {
    %a = memref.load %x[%first, %i] : memref<64x28xf32>
    %b0 = arith.mulf %z, %a : f32
    %b1 = arith.mulf %b0, %a : f32
    %b2 = arith.addf %b1, %a : f32
    %b3 = arith.mulf %b2, %a : f32
    %b4 = arith.addf %b3, %a : f32
    %b5 = arith.mulf %b4, %a : f32
    %b6 = arith.addf %b5, %a : f32
    %b7 = arith.mulf %b6, %a : f32
    %b8 = arith.addf %b7, %a : f32
    %b9 = arith.mulf %b8, %a : f32
    scf.yield %b9 : f32
  }
  func.return %least, %sum, %power : f32, f32, f32
}
