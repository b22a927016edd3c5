// RUN: hlo-opt %s -p 'expand-math{vector-bits=256}' | filecheck %s
// RUN: hlo-opt %s --expand-math | filecheck %s --check-prefix=WIDE

// Each operation of e^x waits for the one before it: a loop computes four vectors at once, unless vectors are long.
// WIDE-NOT:    xhlo.interleave
// CHECK-LABEL: func.func @long
// CHECK:         } {xhlo.parallel, xhlo.interleave = 4 : i64}
func.func @long(%x: memref<1024xf32>, %n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  scf.for %i = %c0 to %n step %c1 {
    %a = memref.load %x[%i] : memref<1024xf32>
    %b = math.exp %a : f32
    memref.store %b, %x[%i] : memref<1024xf32>
  } {xhlo.parallel}
  func.return
}

// A loop that loads five vectors for each one that it computes computes two: with four, the stack takes the ports.
// CHECK-LABEL: func.func @rows_of_columns
// CHECK:         } {xhlo.parallel, xhlo.interleave = 2 : i64}
func.func @rows_of_columns(%x: memref<4x1024xf32>, %y: memref<1024xf32>, %n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c3 = arith.constant 3 : index
  scf.for %i = %c0 to %n step %c1 {
    %0 = memref.load %y[%i] : memref<1024xf32>
    %1 = memref.load %x[%c0, %i] : memref<4x1024xf32>
    %2 = memref.load %x[%c1, %i] : memref<4x1024xf32>
    %3 = memref.load %x[%c2, %i] : memref<4x1024xf32>
    %4 = memref.load %x[%c3, %i] : memref<4x1024xf32>
    %5 = arith.addf %0, %1 : f32
    %6 = arith.addf %5, %2 : f32
    %7 = arith.addf %6, %3 : f32
    %8 = arith.addf %7, %4 : f32
    %9 = math.exp %8 : f32
    memref.store %9, %y[%i] : memref<1024xf32>
  } {xhlo.parallel}
  func.return
}

// As f64, a vector of f32 is two. Four of them pay if many operations wait for each other, as in powers, which are one
// division each; with three of them they wait for the divider.
// CHECK-LABEL: func.func @mixed
// CHECK:         } {xhlo.parallel, xhlo.interleave = 2 : i64}
// CHECK:         } {xhlo.parallel, xhlo.interleave = 4 : i64}
// CHECK:         } {xhlo.parallel, xhlo.interleave = 2 : i64}
func.func @mixed(%x: memref<1024xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %n = arith.constant 1024 : index
  scf.for %i = %c0 to %n step %c1 {
    %a = memref.load %x[%i] : memref<1024xf32>
    %b = math.sin %a : f32
    memref.store %b, %x[%i] : memref<1024xf32>
  } {xhlo.parallel}
  scf.for %i = %c0 to %n step %c1 {
    %a = memref.load %x[%i] : memref<1024xf32>
    %b = math.powf %a, %a : f32
    memref.store %b, %x[%i] : memref<1024xf32>
  } {xhlo.parallel}
  scf.for %i = %c0 to %n step %c1 {
    %a = memref.load %x[%i] : memref<1024xf32>
    %b = math.powf %a, %a : f32
    %c = arith.divf %b, %a : f32
    %d = arith.divf %c, %b : f32
    memref.store %d, %x[%i] : memref<1024xf32>
  } {xhlo.parallel}
  func.return
}

// Two vectors are the whole loop.
// CHECK-LABEL: func.func @short
// CHECK:         } {xhlo.parallel, xhlo.interleave = 2 : i64}
func.func @short(%x: memref<16xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %n = arith.constant 16 : index
  scf.for %i = %c0 to %n step %c1 {
    %a = memref.load %x[%i] : memref<16xf32>
    %b = math.exp %a : f32
    memref.store %b, %x[%i] : memref<16xf32>
  } {xhlo.parallel}
  func.return
}

// Elements that are three apart are loaded as whole vectors that end past the last one, so that LLVM leaves the last
// iteration to single elements: it has to be one of several.
// CHECK-LABEL: func.func @apart
// CHECK:         } {xhlo.parallel}
// CHECK:         } {xhlo.parallel, xhlo.interleave = 4 : i64}
func.func @apart(%x: memref<128x3xf32>, %y: memref<128xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %few = arith.constant 32 : index
  %n = arith.constant 128 : index
  scf.for %i = %c0 to %few step %c1 {
    %a = memref.load %x[%i, %c1] : memref<128x3xf32>
    %b = math.exp %a : f32
    memref.store %b, %y[%i] : memref<128xf32>
  } {xhlo.parallel}
  scf.for %i = %c0 to %n step %c1 {
    %a = memref.load %x[%i, %c1] : memref<128x3xf32>
    %b = math.exp %a : f32
    memref.store %b, %y[%i] : memref<128xf32>
  } {xhlo.parallel}
  func.return
}

// Left as they are: a loop that leaves a rest of a few vectors, one of few operations, one that carries a value and is
// not much longer, and one whose iterations are not known to be independent.
// CHECK-LABEL: func.func @others
// CHECK-NOT:     xhlo.interleave
// CHECK:         func.return
func.func @others(%x: memref<1024xf32>) -> f32 {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %few = arith.constant 56 : index
  %n = arith.constant 1024 : index
  %zero = arith.constant 0.0 : f32
  scf.for %i = %c0 to %few step %c1 {
    %a = memref.load %x[%i] : memref<1024xf32>
    %b = math.exp %a : f32
    memref.store %b, %x[%i] : memref<1024xf32>
  } {xhlo.parallel}
  scf.for %i = %c0 to %n step %c1 {
    %a = memref.load %x[%i] : memref<1024xf32>
    %b = arith.mulf %a, %a : f32
    memref.store %b, %x[%i] : memref<1024xf32>
  } {xhlo.parallel}
  %sum = scf.for %i = %c0 to %n step %c1 iter_args(%s = %zero) -> (f32) {
    %a = memref.load %x[%i] : memref<1024xf32>
    %b = math.exp %a : f32
    %t = arith.addf %s, %b fastmath<reassoc> : f32
    scf.yield %t : f32
  } {xhlo.parallel}
  scf.for %i = %c0 to %n step %c1 {
    %a = memref.load %x[%i] : memref<1024xf32>
    %b = math.exp %a : f32
    memref.store %b, %x[%i] : memref<1024xf32>
  }
  func.return %sum : f32
}

// A body of several chains beside each other, whose gathers load each lane by itself, has enough to do in one vector.
// With one chain there is not enough, and places that follow from the iteration are no gathers.
// CHECK-LABEL: func.func @gathers
// CHECK-NOT:     xhlo.interleave
// CHECK:         } {xhlo.parallel}
// CHECK:         } {xhlo.parallel, xhlo.interleave = 4 : i64}
// CHECK:         } {xhlo.parallel, xhlo.interleave = 4 : i64}
func.func @gathers(%x: memref<1024xf32>, %y: memref<1024xi32>, %n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  scf.for %i = %c0 to %n step %c1 {
    %at = memref.load %y[%i] : memref<1024xi32>
    %j = arith.index_cast %at : i32 to index
    %a = memref.load %x[%j] : memref<1024xf32>
    %b = math.exp %a : f32
    %c = arith.negf %a : f32
    %d = math.exp %c : f32
    %e = arith.addf %a, %a : f32
    %f = math.exp %e : f32
    %g = arith.addf %b, %d : f32
    %h = arith.addf %g, %f : f32
    memref.store %h, %x[%i] : memref<1024xf32>
  } {xhlo.parallel}
  scf.for %i = %c0 to %n step %c1 {
    %at = memref.load %y[%i] : memref<1024xi32>
    %j = arith.index_cast %at : i32 to index
    %a = memref.load %x[%j] : memref<1024xf32>
    %b = math.exp %a : f32
    memref.store %b, %x[%i] : memref<1024xf32>
  } {xhlo.parallel}
  scf.for %i = %c0 to %n step %c1 {
    %j = arith.addi %i, %c1 : index
    %a = memref.load %x[%j] : memref<1024xf32>
    %b = math.exp %a : f32
    %c = arith.negf %a : f32
    %d = math.exp %c : f32
    %e = arith.addf %a, %a : f32
    %f = math.exp %e : f32
    %g = arith.addf %b, %d : f32
    %h = arith.addf %g, %f : f32
    memref.store %h, %x[%i] : memref<1024xf32>
  } {xhlo.parallel}
  func.return
}

// Many divisions would wait for each other.
// CHECK-LABEL: func.func @divisions
// CHECK:         } {xhlo.parallel, xhlo.interleave = 2 : i64}
func.func @divisions(%x: memref<1024xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %n = arith.constant 1024 : index
  scf.for %i = %c0 to %n step %c1 {
    %a = memref.load %x[%i] : memref<1024xf32>
    %b = arith.divf %a, %a : f32
    %c = arith.divf %b, %a : f32
    %d = arith.divf %c, %a : f32
    %e = arith.divf %d, %a : f32
    memref.store %e, %x[%i] : memref<1024xf32>
  } {xhlo.parallel}
  func.return
}

// A sum is several sums if what is added takes long.
// CHECK-LABEL: func.func @sum
// CHECK:         } {xhlo.parallel, xhlo.interleave = 4 : i64}
func.func @sum(%x: memref<1024xf32>) -> f32 {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %n = arith.constant 1024 : index
  %zero = arith.constant 0.0 : f32
  %sum = scf.for %i = %c0 to %n step %c1 iter_args(%s = %zero) -> (f32) {
    %a = memref.load %x[%i] : memref<1024xf32>
    %b = math.exp %a : f32
    %c = math.log1p %b : f32
    %t = arith.addf %s, %c fastmath<reassoc> : f32
    scf.yield %t : f32
  } {xhlo.parallel}
  func.return %sum : f32
}

// Few iterations in one run of the program do not make up for LLVM's time.
// CHECK-LABEL: func.func @brief
// CHECK-NOT:     xhlo.interleave
// CHECK:         func.return
func.func @brief(%x: memref<1024xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %rows = arith.constant 8 : index
  %n = arith.constant 1024 : index
  scf.for %row = %c0 to %rows step %c1 {
    scf.for %i = %c0 to %n step %c1 {
      %a = memref.load %x[%i] : memref<1024xf32>
      %b = math.exp %a : f32
      memref.store %b, %x[%i] : memref<1024xf32>
    } {xhlo.parallel}
  }
  func.return
}

// More rows do.
// CHECK-LABEL: func.func @rows
// CHECK:         } {xhlo.parallel, xhlo.interleave = 4 : i64}
func.func @rows(%x: memref<1024xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %rows = arith.constant 16 : index
  %n = arith.constant 1024 : index
  scf.for %row = %c0 to %rows step %c1 {
    scf.for %i = %c0 to %n step %c1 {
      %a = memref.load %x[%i] : memref<1024xf32>
      %b = math.exp %a : f32
      memref.store %b, %x[%i] : memref<1024xf32>
    } {xhlo.parallel}
  }
  func.return
}

// The functions above are called again and again, one by another function.
func.func @step(%x: memref<1024xf32>, %y: memref<16xf32>) {
  func.call @mixed(%x) : (memref<1024xf32>) -> ()
  func.call @short(%y) : (memref<16xf32>) -> ()
  func.return
}

func.func @main(%x: memref<1024xf32>, %y: memref<16xf32>, %z: memref<128x3xf32>, %t: memref<128xf32>, %n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  scf.for %i = %c0 to %n step %c1 {
    func.call @step(%x, %y) : (memref<1024xf32>, memref<16xf32>) -> ()
    func.call @divisions(%x) : (memref<1024xf32>) -> ()
    func.call @apart(%z, %t) : (memref<128x3xf32>, memref<128xf32>) -> ()
    %others = func.call @others(%x) : (memref<1024xf32>) -> f32
    %sum = func.call @sum(%x) : (memref<1024xf32>) -> f32
  }
  func.call @brief(%x) : (memref<1024xf32>) -> ()
  func.call @rows(%x) : (memref<1024xf32>) -> ()
  func.return
}
