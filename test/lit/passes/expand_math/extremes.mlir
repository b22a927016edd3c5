// RUN: hlo-opt %s --expand-math | filecheck %s

// The maximum of what is no NaN, and whether all is NaN: the quick loop takes the least finite number for a NaN, and if
// that is the maximum, or the maximum is a zero, the loop as it was follows.
// CHECK-LABEL: @masked
// CHECK-DAG:     %[[OUTSIDE:.*]] = arith.constant 0xFF800000 : f32
// CHECK:         %[[QUICK:.*]]:3 = scf.for %{{.*}} iter_args(%[[TOP:.*]] = %[[OUTSIDE]], %[[ALL:.*]] = %{{.*}}, %{{.*}} = %{{.*}}) -> (f32, i1, i32)
// CHECK:           %[[X:.*]] = memref.load
// CHECK:           %[[NAN:.*]] = arith.cmpf une, %[[X]], %[[X]] : f32
// CHECK:           %[[LEAST:.*]] = arith.constant -3.4028235e+38 : f32
// CHECK:           %[[SOME:.*]] = arith.select %[[NAN]], %[[LEAST]], %[[X]] : f32
// CHECK:           arith.maxnumf %[[TOP]], %[[SOME]] fastmath<nnan,nsz> : f32
// CHECK:           arith.andi %[[ALL]], %[[NAN]] : i1
// CHECK:         arith.cmpf oeq, %[[QUICK]]#0, %{{.*}} : f32
// CHECK:         scf.if
// CHECK-NEXT:      scf.for
// CHECK:             arith.maximumf
func.func private @masked(%a: memref<4096xf32>, %low: f32) -> (f32, i1) attributes {hlo.kernel = "reduce"} {
  %zero = arith.constant 0 : index
  %one = arith.constant 1 : index
  %end = arith.constant 4096 : index
  %true = arith.constant true
  %least = arith.constant 0xFF800000 : f32
  %r:2 = scf.for %i = %zero to %end step %one iter_args(%y = %least, %every = %true) -> (f32, i1) {
    %x = memref.load %a[%i] : memref<4096xf32>
    %nan = arith.cmpf une, %x, %x : f32
    %some = arith.select %nan, %least, %x : f32
    %m = arith.maximumf %y, %some : f32
    %all = arith.andi %every, %nan : i1
    scf.yield %m, %all : f32, i1
  } {xhlo.parallel}
  func.return %r#0, %r#1 : f32, i1
}

// More operations than are cheap to run twice, but some elements do not count: LLVM would not vectorize it.
// CHECK-LABEL: @many_operations(
// CHECK:         arith.minnumf
// CHECK:         scf.if
func.func private @many_operations(%a: memref<64xf32>, %b: memref<64xi32>) -> f32 attributes {hlo.kernel = "reduce"} {
  %zero = arith.constant 0 : index
  %one = arith.constant 1 : index
  %end = arith.constant 64 : index
  %c1 = arith.constant 1 : i32
  %c9 = arith.constant 9 : i32
  %inf = arith.constant 0x7F800000 : f32
  %r = scf.for %i = %zero to %end step %one iter_args(%m = %inf) -> (f32) {
    %x = memref.load %a[%i] : memref<64xf32>
    %y = memref.load %b[%i] : memref<64xi32>
    %0 = arith.addi %y, %c1 : i32
    %1 = arith.muli %0, %c9 : i32
    %2 = arith.maxsi %1, %c1 : i32
    %3 = arith.minsi %2, %c9 : i32
    %4 = arith.xori %3, %y : i32
    %5 = arith.sitofp %4 : i32 to f32
    %6 = arith.mulf %x, %5 : f32
    %7 = arith.addf %6, %x : f32
    %8 = arith.mulf %7, %7 : f32
    %9 = arith.subf %8, %x : f32
    %10 = arith.mulf %9, %x : f32
    %11 = arith.addf %10, %5 : f32
    %12 = arith.cmpi slt, %4, %c9 : i32
    %13 = arith.cmpi sgt, %y, %c1 : i32
    %14 = arith.andi %12, %13 : i1
    %some = arith.select %14, %11, %inf : f32
    %n = arith.minimumf %m, %some : f32
    scf.yield %n : f32
  } {xhlo.parallel}
  func.return %r : f32
}

// A minimum that is a zero is -0 if any element is: a loop over their bits follows.
// CHECK-LABEL: @loaded(
// CHECK:         %[[QUICK:.*]]:2 = scf.for
// CHECK:           arith.minnumf
// CHECK:         %[[ZERO:.*]] = arith.cmpf oeq, %[[QUICK]]#0, %{{.*}} : f32
// CHECK:         scf.if %[[ZERO]] -> (i32) {
// CHECK-NEXT:      scf.for
// CHECK-NEXT:        memref.load
// CHECK-NEXT:        %[[BITS:.*]] = arith.bitcast %{{.*}} : f32 to i32
// CHECK-NEXT:        arith.ori %{{.*}}, %[[BITS]] : i32
// CHECK-NOT:     arith.minimumf
func.func private @loaded(%a: memref<64xf32>) -> f32 attributes {hlo.kernel = "reduce"} {
  %zero = arith.constant 0 : index
  %one = arith.constant 1 : index
  %end = arith.constant 64 : index
  %inf = arith.constant 0x7F800000 : f32
  %r = scf.for %i = %zero to %end step %one iter_args(%m = %inf) -> (f32) {
    %x = memref.load %a[%i] : memref<64xf32>
    %0 = arith.minimumf %m, %x : f32
    scf.yield %0 : f32
  } {xhlo.parallel}
  func.return %r : f32
}

// No sum with a square is -0.
// CHECK-LABEL: @distances(
// CHECK:         scf.for
// CHECK:           arith.minnumf
// CHECK-NOT:     scf.for
// CHECK-NOT:     scf.if
// CHECK:         func.return
func.func private @distances(%a: memref<64xf32>, %b: memref<64xf32>) -> f32 attributes {hlo.kernel = "reduce"} {
  %zero = arith.constant 0 : index
  %one = arith.constant 1 : index
  %end = arith.constant 64 : index
  %inf = arith.constant 0x7F800000 : f32
  %r = scf.for %i = %zero to %end step %one iter_args(%m = %inf) -> (f32) {
    %x = memref.load %a[%i] : memref<64xf32>
    %y = memref.load %b[%i] : memref<64xf32>
    %0 = arith.mulf %x, %x : f32
    %1 = arith.addf %y, %0 : f32
    %2 = arith.minimumf %m, %1 : f32
    scf.yield %2 : f32
  } {xhlo.parallel}
  func.return %r : f32
}
