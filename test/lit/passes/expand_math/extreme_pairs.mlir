// RUN: hlo-opt %s --expand-math | filecheck %s
// RUN: hlo-opt %s -p 'expand-math{vector_bits=128}' | filecheck %s --check-prefix=NATIVE

// Both orders find the same but for NaN and zeros of both signs: `or` and `and` of the bits settle these.
// CHECK-LABEL: @two
// CHECK-NEXT:    %[[A:.*]] = arith.cmpf olt, %x, %y : f64
// CHECK-NEXT:    %[[B:.*]] = arith.select %[[A]], %x, %y : f64
// CHECK-NEXT:    %[[C:.*]] = arith.bitcast %[[B]] : f64 to i64
// CHECK-NEXT:    %[[D:.*]] = arith.cmpf olt, %y, %x : f64
// CHECK-NEXT:    %[[E:.*]] = arith.select %[[D]], %y, %x : f64
// CHECK-NEXT:    %[[F:.*]] = arith.bitcast %[[E]] : f64 to i64
// CHECK-NEXT:    %[[G:.*]] = arith.ori %[[C]], %[[F]] : i64
// CHECK-NEXT:    arith.bitcast %[[G]] : i64 to f64
// CHECK:         arith.cmpf ogt, %x, %y : f64
// CHECK:         arith.cmpf ogt, %y, %x : f64
// CHECK:         %[[U:.*]] = arith.cmpf uno, %x, %y : f64
// CHECK-NEXT:    %[[V:.*]] = arith.extsi %[[U]] : i1 to i64
// CHECK-NEXT:    %[[W:.*]] = arith.andi %{{.*}}, %{{.*}} : i64
// CHECK-NEXT:    %[[X:.*]] = arith.ori %[[W]], %[[V]] : i64
// CHECK-NEXT:    arith.bitcast %[[X]] : i64 to f64
// NATIVE-LABEL: @two
// NATIVE-NEXT:   arith.minimumf
// NATIVE-NEXT:   arith.maximumf
func.func private @two(%x: f64, %y: f64) -> (f64, f64) attributes {hlo.kernel = "loop"} {
  %0 = arith.minimumf %x, %y : f64
  %1 = arith.maximumf %x, %y : f64
  func.return %0, %1 : f64, f64
}

// A constant is no NaN, and is left to LLVM.
// CHECK-LABEL: @constant
// CHECK:         arith.maximumf %x, %{{.*}} : f32
func.func private @constant(%x: f32) -> f32 attributes {hlo.kernel = "loop"} {
  %zero = arith.constant 0.0 : f32
  %0 = arith.maximumf %x, %zero : f32
  func.return %0 : f32
}

// One of many stays a minimum, in a register or a place of its own; an element of a row that each iteration replaces, and
// a value that goes on to an addition, are pairs.
// CHECK-LABEL: @loops
// CHECK-DAG:     arith.minimumf %{{.*}}, %m : f32
// CHECK-DAG:     arith.minimumf %{{.*}}, %s : f32
// CHECK:         scf.for
// CHECK-NOT:     arith.minimumf
func.func private @loops(%a: memref<64xf32>, %state: memref<f32>, %other: memref<f32>, %row: memref<64xf32>, %start: f32) -> f32
    attributes {hlo.kernel = "loop"} {
  %zero = arith.constant 0 : index
  %one = arith.constant 1 : index
  %end = arith.constant 64 : index
  %r = scf.for %i = %zero to %end step %one iter_args(%m = %start) -> (f32) {
    %x = memref.load %a[%i] : memref<64xf32>
    %s = memref.load %state[] : memref<f32>
    %0 = arith.minimumf %m, %x : f32
    %1 = arith.minimumf %s, %x : f32
    memref.store %1, %state[] : memref<f32>
    scf.yield %0 : f32
  }
  scf.for %i = %zero to %end step %one {
    %x = memref.load %a[%i] : memref<64xf32>
    %s = memref.load %other[] : memref<f32>
    %y = memref.load %row[%i] : memref<64xf32>
    %0 = arith.minimumf %y, %x : f32
    memref.store %0, %row[%i] : memref<64xf32>
    %1 = arith.minimumf %x, %s : f32
    %2 = arith.addf %1, %x : f32
    memref.store %2, %other[] : memref<f32>
  }
  func.return %r : f32
}

// An element at a place that each iteration computes is a pair also where the iteration checks the place, as a scatter does.
// CHECK-LABEL: @places
// CHECK:         scf.if
// CHECK-NOT:     arith.maximumf
// CHECK:         return
func.func private @places(%a: memref<64xf32>, %places: memref<64xindex>, %row: memref<8xf32>) attributes {hlo.kernel = "custom"} {
  %zero = arith.constant 0 : index
  %one = arith.constant 1 : index
  %size = arith.constant 8 : index
  %end = arith.constant 64 : index
  scf.for %i = %zero to %end step %one {
    %p = memref.load %places[%i] : memref<64xindex>
    %inside = arith.cmpi ult, %p, %size : index
    scf.if %inside {
      %y = memref.load %row[%p] : memref<8xf32>
      %x = memref.load %a[%i] : memref<64xf32>
      %0 = arith.maximumf %y, %x : f32
      memref.store %0, %row[%p] : memref<8xf32>
    }
  }
  func.return
}
