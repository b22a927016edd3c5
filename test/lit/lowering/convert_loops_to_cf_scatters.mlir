// RUN: hlo-opt %s --convert-loops-to-cf='vector-bits=256' | filecheck %s
// RUN: hlo-opt %s --convert-loops-to-cf | filecheck %s --check-prefix=GATHERS
// GATHERS-NOT: xhlo.vectorize

// Elements that are moved to computed places, each under a condition.
// CHECK-LABEL: func.func @scattered
// CHECK:         cf.cond_br %{{.*}} {xhlo.vectorize = false}
func.func @scattered(%x: memref<64xf32>, %at: memref<64xi32>, %y: memref<100xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c64 = arith.constant 64 : index
  %c100 = arith.constant 100 : index
  scf.for %i = %c0 to %c64 step %c1 {
    %place = memref.load %at[%i] : memref<64xi32>
    %k = arith.index_cast %place : i32 to index
    %inside = arith.cmpi ult, %k, %c100 : index
    scf.if %inside {
      %v = memref.load %x[%i] : memref<64xf32>
      memref.store %v, %y[%k] : memref<100xf32>
    }
  }
  func.return
}

// A column whose elements are more than eight apart.
// CHECK-LABEL: func.func @column
// CHECK:         cf.cond_br %{{.*}}xhlo.vectorize = false
func.func @column(%x: memref<64xf32>, %y: memref<64x12xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c64 = arith.constant 64 : index
  scf.for %i = %c0 to %c64 step %c1 {
    %v = memref.load %x[%i] : memref<64xf32>
    memref.store %v, %y[%i, %c1] : memref<64x12xf32>
  }
  func.return
}

// The same through a view that each iteration makes.
// CHECK-LABEL: func.func @view
// CHECK:         cf.cond_br %{{.*}}xhlo.vectorize = false
func.func @view(%x: memref<64xf32>, %y: memref<768xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c12 = arith.constant 12 : index
  %c64 = arith.constant 64 : index
  scf.for %i = %c0 to %c64 step %c1 {
    %begin = arith.muli %i, %c12 : index
    %row = memref.reinterpret_cast %y to offset: [%begin], sizes: [12], strides: [1] : memref<768xf32> to memref<12xf32, strided<[1], offset: ?>>
    %v = memref.load %x[%i] : memref<64xf32>
    memref.store %v, %row[%c1] : memref<12xf32, strided<[1], offset: ?>>
  }
  func.return
}

// Neighbours, elements that are computed, sums, and what is only read from places that are apart.
// CHECK-LABEL: func.func @others
// CHECK-NOT:     xhlo.vectorize
func.func @others(%x: memref<64xf32>, %at: memref<64xi32>, %y: memref<64x12xf32>, %z: memref<64xf32>) -> f32 {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c64 = arith.constant 64 : index
  %zero = arith.constant 0.0 : f32
  scf.for %i = %c0 to %c64 step %c1 {
    %v = memref.load %x[%i] : memref<64xf32>
    %j = arith.subi %c64, %i : index
    %k = arith.addi %j, %c1 : index
    memref.store %v, %z[%k] : memref<64xf32>
  }
  scf.for %i = %c0 to %c64 step %c1 {
    %v = memref.load %x[%i] : memref<64xf32>
    %w = arith.mulf %v, %v : f32
    memref.store %w, %y[%i, %c0] : memref<64x12xf32>
  }
  scf.for %i = %c0 to %c64 step %c1 {
    %place = memref.load %at[%i] : memref<64xi32>
    %k = arith.index_cast %place : i32 to index
    %v = memref.load %x[%k] : memref<64xf32>
    memref.store %v, %z[%i] : memref<64xf32>
  }
  %sum = scf.for %i = %c0 to %c64 step %c1 iter_args(%a = %zero) -> (f32) {
    %v = memref.load %x[%i] : memref<64xf32>
    memref.store %v, %y[%i, %c0] : memref<64x12xf32>
    %b = arith.addf %a, %v : f32
    scf.yield %b : f32
  }
  func.return %sum : f32
}
