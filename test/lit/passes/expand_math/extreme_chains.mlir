// RUN: hlo-opt %s --expand-math | filecheck %s
// RUN: hlo-opt %s -p 'expand-math{vector_bits=128}' | filecheck %s --check-prefix=NATIVE

// Three values are compared without regard to NaN and signs, which are looked at once: NaN in pairs, and the signs of all
// if the greatest is a zero.
// CHECK-LABEL: @greatest
// CHECK-NOT:     arith.maximumf
// CHECK:         %[[G:.*]] = arith.cmpf ogt, %y, %x : f32
// CHECK-NEXT:    %[[M:.*]] = arith.select %[[G]], %y, %x : f32
// CHECK-NEXT:    %[[H:.*]] = arith.cmpf ogt, %z, %[[M]] : f32
// CHECK-NEXT:    %[[N:.*]] = arith.select %[[H]], %z, %[[M]] : f32
// CHECK-NEXT:    %[[P:.*]] = arith.cmpf uno, %x, %y : f32
// CHECK-NEXT:    %[[Q:.*]] = arith.cmpf uno, %z, %z : f32
// CHECK-NEXT:    %[[NAN:.*]] = arith.ori %[[P]], %[[Q]] : i1
// CHECK:         arith.andi
// CHECK:         arith.andi
// CHECK:         %[[ZERO:.*]] = arith.bitcast %{{.*}} : i32 to f32
// CHECK:         %[[IS:.*]] = arith.cmpf oeq, %[[N]], %{{.*}} : f32
// CHECK-NEXT:    %[[R:.*]] = arith.select %[[IS]], %[[ZERO]], %[[N]] : f32
// CHECK:         arith.select %[[NAN]], %{{.*}}, %[[R]] : f32
// NATIVE-LABEL: @greatest
// NATIVE-COUNT-2: arith.maximumf
func.func private @greatest(%x: f32, %y: f32, %z: f32) -> f32 attributes {hlo.kernel = "loop"} {
  %0 = arith.maximumf %x, %y : f32
  %1 = arith.maximumf %0, %z : f32
  func.return %1 : f32
}

// Two values; a maximum that is used twice; a maximum of minima: no chains, but pairs (extreme_pairs.mlir).
// CHECK-LABEL: @no_chains
// CHECK-COUNT-5: arith.bitcast %{{.*}} : i32 to f32
func.func private @no_chains(%x: f32, %y: f32, %z: f32) -> (f32, f32, f32) attributes {hlo.kernel = "loop"} {
  %0 = arith.maximumf %x, %y : f32
  %1 = arith.maximumf %0, %z : f32
  %2 = arith.minimumf %x, %y : f32
  %3 = arith.minimumf %z, %y : f32
  %4 = arith.maximumf %2, %3 : f32
  func.return %0, %1, %4 : f32, f32, f32
}

// What a loop carries stays a maximum, of which LLVM makes vectors.
// CHECK-LABEL: @carried
// CHECK-COUNT-2: arith.maximumf
func.func private @carried(%a: memref<64xf32>, %b: memref<64xf32>, %start: f32) -> f32 attributes {hlo.kernel = "reduce"} {
  %zero = arith.constant 0 : index
  %one = arith.constant 1 : index
  %end = arith.constant 64 : index
  %r = scf.for %i = %zero to %end step %one iter_args(%m = %start) -> (f32) {
    %x = memref.load %a[%i] : memref<64xf32>
    %y = memref.load %b[%i] : memref<64xf32>
    %0 = arith.maximumf %m, %x : f32
    %1 = arith.maximumf %0, %y : f32
    scf.yield %1 : f32
  }
  func.return %r : f32
}

// The value that a loop keeps is the second operand, whether it is carried or in a place of its own.
// CHECK-LABEL: @kept
// CHECK:         %[[X:.*]] = memref.load %a[%[[I:.*]]]
// CHECK-NEXT:    %[[S:.*]] = memref.load %state[]
// CHECK:         %[[SQUARE:.*]] = arith.mulf %[[X]], %[[X]]
// CHECK-NEXT:    %[[M:.*]] = arith.maximumf %[[SQUARE]], %{{.*}} : f32
// CHECK-NEXT:    %[[N:.*]] = arith.minimumf %[[X]], %[[S]] : f32
// NATIVE-LABEL: @kept
// NATIVE:         arith.minimumf %[[S:.*]], %[[X:.*]] : f32
func.func private @kept(%a: memref<64xf32>, %state: memref<f32>, %row: memref<64xf32>, %out: memref<64xf32>, %start: f32) -> f32 attributes {hlo.kernel = "loop"} {
  %zero = arith.constant 0 : index
  %one = arith.constant 1 : index
  %end = arith.constant 64 : index
  %r = scf.for %i = %zero to %end step %one iter_args(%m = %start) -> (f32) {
    %x = memref.load %a[%i] : memref<64xf32>
    %s = memref.load %state[] : memref<f32>
    %y = memref.load %row[%i] : memref<64xf32>
    %square = arith.mulf %x, %x : f32
    %0 = arith.maximumf %m, %square : f32
    %1 = arith.minimumf %s, %x : f32
    %2 = arith.maximumf %y, %square : f32
    %3 = arith.minimumf %y, %x : f32
    memref.store %1, %state[] : memref<f32>
    memref.store %2, %row[%i] : memref<64xf32>
    memref.store %3, %out[%i] : memref<64xf32>
    scf.yield %0 : f32
  }
  func.return %r : f32
}
