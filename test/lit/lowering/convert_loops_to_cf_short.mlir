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
