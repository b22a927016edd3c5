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
