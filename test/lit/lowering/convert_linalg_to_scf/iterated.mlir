// RUN: hlo-opt %s --convert-linalg-to-scf | filecheck %s

#i = affine_map<(i) -> (i)>

// A tile of elements takes each iteration together. It ends with the shared counter, or when the iteration changed
// nothing: the select changes a lane only where its condition holds, so that nothing is compared.

// CHECK-LABEL: func.func private @counted
// CHECK:         %[[STATE:.*]] = memref.alloca() : memref<64xf32>
// CHECK:         scf.for %[[START:.*]] = %{{.*}} to %{{.*}} step
// CHECK:           %[[BEGIN:.*]] = arith.minsi %[[START]]
// CHECK:           scf.for
// CHECK:             memref.store %{{.*}}, %[[STATE]]
// CHECK:           scf.while (%[[I:.*]] = %{{.*}}, %[[CHANGED:.*]] = %{{.*}}) : (i32, i1) -> (i32, i1) {
// CHECK-NEXT:        %[[BELOW:.*]] = arith.cmpi slt, %[[I]]
// CHECK-NEXT:        %[[GO:.*]] = arith.andi %[[BELOW]], %[[CHANGED]]
// CHECK-NEXT:        scf.condition(%[[GO]])
// CHECK:             %[[ANY:.*]] = scf.for {{.*}} iter_args(%[[FLAG:.*]] =
// CHECK:               %[[X:.*]] = memref.load %[[STATE]]
// CHECK:               %[[SMALL:.*]] = arith.cmpf olt, %[[X]]
// CHECK:               memref.store %{{.*}}, %[[STATE]]
// CHECK-NEXT:          %[[MORE:.*]] = arith.ori %[[FLAG]], %[[SMALL]]
// CHECK-NEXT:          scf.yield %[[MORE]]
// CHECK-NEXT:        } {xhlo.parallel}
// CHECK-NOT:     arith.bitcast
func.func private @counted(%a: memref<1000xf32>, %o: memref<1000xf32>) attributes {hlo.kernel = "loop"} {
  linalg.generic {indexing_maps = [#i, #i], iterator_types = ["parallel"]} ins(%a : memref<1000xf32>) outs(%o : memref<1000xf32>) {
  ^bb(%x: f32, %z: f32):
    %zero = arith.constant 0 : i32
    %r:2 = scf.while (%i = %zero, %v = %x) : (i32, f32) -> (i32, f32) {
      %n = arith.constant 9 : i32
      %c = arith.cmpi slt, %i, %n : i32
      scf.condition(%c) %i, %v : i32, f32
    } do {
    ^bb1(%i: i32, %v: f32):
      %one = arith.constant 1 : i32
      %next = arith.addi %i, %one : i32
      %big = arith.constant 4.0 : f32
      %small = arith.cmpf olt, %v, %big : f32
      %w = arith.addf %v, %v : f32
      %s = arith.select %small, %w, %v : f32
      scf.yield %next, %s : i32, f32
    }
    linalg.yield %r#1 : f32
  }
  func.return
}

// Without such a select the bits are compared. What depends on the counter never settles.

// CHECK-LABEL: func.func private @compared
// CHECK:         scf.while
// CHECK:           arith.bitcast %{{.*}} : f32 to i32
// CHECK:           arith.cmpi ne
// CHECK-LABEL: func.func private @counter
// CHECK:         scf.while (%{{.*}}) : (f32) -> f32
// CHECK-NOT:     arith.cmpi ne
func.func private @compared(%a: memref<64xf32>, %o: memref<64xf32>) attributes {hlo.kernel = "loop"} {
  linalg.generic {indexing_maps = [#i, #i], iterator_types = ["parallel"]} ins(%a : memref<64xf32>) outs(%o : memref<64xf32>) {
  ^bb(%x: f32, %z: f32):
    %zero = arith.constant 0.0 : f32
    %r:2 = scf.while (%i = %zero, %v = %x) : (f32, f32) -> (f32, f32) {
      %n = arith.constant 9.0 : f32
      %c = arith.cmpf olt, %i, %n : f32
      scf.condition(%c) %i, %v : f32, f32
    } do {
    ^bb1(%i: f32, %v: f32):
      %one = arith.constant 1.0 : f32
      %next = arith.addf %i, %one : f32
      %w = arith.mulf %v, %v : f32
      scf.yield %next, %w : f32, f32
    }
    linalg.yield %r#1 : f32
  }
  func.return
}
func.func private @counter(%a: memref<64xf32>, %o: memref<64xf32>) attributes {hlo.kernel = "loop"} {
  linalg.generic {indexing_maps = [#i, #i], iterator_types = ["parallel"]} ins(%a : memref<64xf32>) outs(%o : memref<64xf32>) {
  ^bb(%x: f32, %z: f32):
    %zero = arith.constant 0.0 : f32
    %r:2 = scf.while (%i = %zero, %v = %x) : (f32, f32) -> (f32, f32) {
      %n = arith.constant 9.0 : f32
      %c = arith.cmpf olt, %i, %n : f32
      scf.condition(%c) %i, %v : f32, f32
    } do {
    ^bb1(%i: f32, %v: f32):
      %one = arith.constant 1.0 : f32
      %next = arith.addf %i, %one : f32
      %w = arith.mulf %v, %i : f32
      scf.yield %next, %w : f32, f32
    }
    linalg.yield %r#1 : f32
  }
  func.return
}

// The result is written over the argument, so that no element may be computed by two tiles: the last one repeats its
// last element, and all loops over iterations are over 64.
// CHECK-LABEL: func.func private @in_place
// CHECK-DAG:     %[[TILE:.*]] = arith.constant 64 : index
// CHECK-DAG:     %[[ONE:.*]] = arith.constant 1 : index
// CHECK:         %[[WIDTH:.*]] = arith.minsi %{{.*}}, %[[TILE]] : index
// CHECK:         %[[AT:.*]] = arith.subi %[[WIDTH]], %[[ONE]] : index
// CHECK-NEXT:    %[[LAST:.*]] = memref.load %[[STATE:.*]][%[[AT]]]
// CHECK-NEXT:    scf.for %[[L:.*]] = %[[WIDTH]] to %[[TILE]] step %[[ONE]] {
// CHECK-NEXT:      memref.store %[[LAST]], %[[STATE]][%[[L]]]
// CHECK-NEXT:    }
// CHECK:         scf.while
// CHECK:           scf.for %{{.*}} = %{{.*}} to %[[TILE]] step %[[ONE]] iter_args
func.func private @in_place(%a: memref<100xf32>, %o: memref<100xf32>) attributes {hlo.kernel = "loop", xhlo.shared_buffers = array<i64: 0, 1>} {
  linalg.generic {indexing_maps = [#i, #i], iterator_types = ["parallel"]} ins(%a : memref<100xf32>) outs(%o : memref<100xf32>) {
  ^bb(%x: f32, %z: f32):
    %r = scf.while (%v = %x) : (f32) -> f32 {
      %n = arith.constant 9.0 : f32
      %c = arith.cmpf olt, %v, %n : f32
      scf.condition(%c) %v : f32
    } do {
    ^bb1(%v: f32):
      %w = arith.addf %v, %v : f32
      scf.yield %w : f32
    }
    linalg.yield %r : f32
  }
  func.return
}
