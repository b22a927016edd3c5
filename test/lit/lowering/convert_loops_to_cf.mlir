// RUN: hlo-opt %s --convert-loops-to-cf | filecheck %s
// RUN: hlo-opt %s --convert-loops-to-cf='scalable=true' | filecheck %s --check-prefix=SCALABLE

// The bounds are compared before the first iteration, and at the end of each.
// CHECK-LABEL: func.func @counted
// CHECK-NEXT:    %[[SOME:.*]] = arith.cmpi slt, %lo, %hi : index
// CHECK-NEXT:    cf.cond_br %[[SOME]], ^[[BODY:bb[0-9]+]](%lo, %init : index, f32), ^[[AFTER:bb[0-9]+]](%init : f32)
// CHECK:       ^[[BODY]](%i: index, %a: f32):
// CHECK-NEXT:    %[[SUM:.*]] = arith.addf %a, %a : f32
// CHECK-NEXT:    %[[NEXT:.*]] = arith.addi %i, %step overflow<nsw> : index
// CHECK-NEXT:    %[[MORE:.*]] = arith.cmpi slt, %[[NEXT]], %hi : index
// CHECK-NEXT:    cf.cond_br %[[MORE]], ^[[BODY]](%[[NEXT]], %[[SUM]] : index, f32), ^[[AFTER]](%[[SUM]] : f32) {xhlo.parallel, xhlo.interleave = 2 : i64, xhlo.unroll = 4 : i64}
// CHECK:       ^[[AFTER]](%[[RESULT:.*]]: f32):
// CHECK-NEXT:    func.return %[[RESULT]] : f32
func.func @counted(%lo: index, %hi: index, %step: index, %init: f32) -> f32 {
  %r = scf.for %i = %lo to %hi step %step iter_args(%a = %init) -> (f32) {
    %b = arith.addf %a, %a : f32
    scf.yield %b : f32
  } {xhlo.parallel, xhlo.interleave = 2 : i64, xhlo.unroll = 4 : i64}
  func.return %r : f32
}

// A loop that is known to run is entered without a comparison.
// CHECK-LABEL: func.func @known
// CHECK:         cf.br ^[[BODY:bb[0-9]+]](%{{.*}}, %init : index, f32)
// CHECK-NEXT:  ^[[BODY]](%i: index, %a: f32):
func.func @known(%init: f32) -> f32 {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c1000 = arith.constant 1000 : index
  %r = scf.for %i = %c0 to %c1000 step %c1 iter_args(%a = %init) -> (f32) {
    %b = arith.addf %a, %a : f32
    scf.yield %b : f32
  }
  func.return %r : f32
}

// Nothing enters a loop that is known not to run.
// CHECK-LABEL: func.func @never
// CHECK:         %[[SOME:.*]] = arith.cmpi slt, %c1, %c0 : index
// CHECK-NEXT:    cf.cond_br %[[SOME]], ^{{.*}}, ^[[AFTER:bb[0-9]+]](%init : f32)
func.func @never(%init: f32) -> f32 {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %r = scf.for %i = %c1 to %c0 step %c1 iter_args(%a = %init) -> (f32) {
    %b = arith.addf %a, %a : f32
    scf.yield %b : f32
  }
  func.return %r : f32
}

// The branch back has a fact of its own, lest LLVM give the loop those of one inside.
// CHECK-LABEL: func.func @decided
// CHECK:         cf.br ^[[TEST:bb[0-9]+]](%x : i32)
// CHECK:       ^[[TEST]](%v: i32):
// CHECK:         cf.cond_br %{{.*}}, ^[[DO:bb[0-9]+]](%v : i32), ^[[END:bb[0-9]+]](%v : i32)
// CHECK:       ^[[DO]](%w: i32):
// CHECK:         cf.br ^[[TEST]](%{{.*}} : i32) {xhlo.unroll = 1 : i64}
// CHECK:       ^[[END]](%[[R:.*]]: i32):
// CHECK-NEXT:    func.return %[[R]] : i32
func.func @decided(%x: i32, %limit: i32) -> i32 {
  %r = scf.while (%v = %x) : (i32) -> (i32) {
    %more = arith.cmpi slt, %v, %limit : i32
    scf.condition(%more) %v : i32
  } do {
  ^bb0(%w: i32):
    %next = arith.addi %w, %w : i32
    scf.yield %next : i32
  }
  func.return %r : i32
}

// A conditional without results and without else jumps past it.
// CHECK-LABEL: func.func @conditional
// CHECK-NEXT:    cf.cond_br %p, ^[[THEN:bb[0-9]+]], ^[[AFTER:bb[0-9]+]]
// CHECK:       ^[[THEN]]:
// CHECK-NEXT:    memref.store
// CHECK-NEXT:    cf.br ^[[AFTER]]
// CHECK:       ^[[AFTER]]:
// CHECK-NEXT:    func.return
func.func @conditional(%p: i1, %m: memref<f32>, %v: f32) {
  scf.if %p {
    memref.store %v, %m[] : memref<f32>
  }
  func.return
}

// CHECK-LABEL: func.func @cases
// CHECK:         %[[FLAG:.*]] = arith.index_cast %k : index to i64
// CHECK-NEXT:    cf.switch %[[FLAG]] : i64, [
// CHECK-NEXT:      default: ^[[DEFAULT:bb[0-9]+]]
// CHECK-NEXT:      0: ^[[ZERO:bb[0-9]+]]
// CHECK:       ^[[ZERO]]:
// CHECK-NEXT:    cf.br ^[[AFTER:bb[0-9]+]](%x : f32)
// CHECK:       ^[[DEFAULT]]:
// CHECK-NEXT:    cf.br ^[[AFTER]](%y : f32)
func.func @cases(%k: index, %x: f32, %y: f32) -> f32 {
  %r = scf.index_switch %k -> f32
  case 0 {
    scf.yield %x : f32
  }
  default {
    scf.yield %y : f32
  }
  func.return %r : f32
}

// A parallel loop that no pass has outlined runs serially.
// CHECK-LABEL: func.func @serial
// CHECK-NOT:     scf.
// CHECK:         cf.cond_br
// CHECK:         cf.cond_br
func.func @serial(%m: memref<4x4xf32>, %v: f32, %c0: index, %c1: index, %c4: index) {
  "scf.parallel"(%c0, %c0, %c4, %c4, %c1, %c1) <{operandSegmentSizes = array<i32: 2, 2, 2, 0>}> ({
  ^bb0(%i: index, %j: index):
    memref.store %v, %m[%i, %j] : memref<4x4xf32>
    scf.reduce
  }) : (index, index, index, index, index, index) -> ()
  func.return
}

// Small loops of known bounds are marked to be unrolled: the inner one here, not the outer one around it.
// CHECK-LABEL: func.func @small
// CHECK-COUNT-1: {xhlo.unroll = 0 : i64}
// CHECK-NOT:     xhlo.unroll
func.func @small(%m: memref<100x4xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %c100 = arith.constant 100 : index
  scf.for %i = %c0 to %c100 step %c1 {
    scf.for %j = %c0 to %c4 step %c1 {
      %v = memref.load %m[%i, %j] : memref<100x4xf32>
      %w = arith.addf %v, %v : f32
      memref.store %w, %m[%i, %j] : memref<100x4xf32>
    }
  }
  func.return
}

// A long innermost loop is unrolled in part, as many vectors as it has or four times; loops of unknown bounds stay loops.
// Where the length of vectors is unknown, so are the trips of their loops, and LLVM would warn.
// SCALABLE-LABEL: func.func @long
// SCALABLE-NOT:     xhlo.unroll
// SCALABLE-LABEL: func.func private @part
// CHECK-LABEL: func.func @long
// CHECK:         xhlo.unroll = 3 : i64
// CHECK-NOT:     xhlo.unroll
func.func @long(%m: memref<40xf32>, %n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c40 = arith.constant 40 : index
  scf.for %i = %c0 to %c40 step %c1 {
    %v = memref.load %m[%i] : memref<40xf32>
    memref.store %v, %m[%i] : memref<40xf32>
  }
  scf.for %i = %c0 to %n step %c1 {
    %v = memref.load %m[%i] : memref<40xf32>
    memref.store %v, %m[%i] : memref<40xf32>
  }
  func.return
}

// A loop around one that becomes vectors stays a loop, since LLVM would vectorize each copy. It does not where indices are
// compared, whose results each copy knows, nor in a function that programs share, which is compiled once.
// CHECK-LABEL: func.func @around_vectors
// CHECK-NOT:     xhlo.unroll
// CHECK-LABEL: func.func @around_masked_vectors
// CHECK:         {xhlo.unroll = 0 : i64}
// CHECK-LABEL: func.func @shared_around_vectors
// CHECK:         {xhlo.unroll = 0 : i64}
func.func @around_vectors(%m: memref<8x16xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  %c16 = arith.constant 16 : index
  scf.for %i = %c0 to %c8 step %c1 {
    scf.for %j = %c0 to %c16 step %c1 {
      %v = memref.load %m[%i, %j] : memref<8x16xf32>
      %w = arith.addf %v, %v : f32
      memref.store %w, %m[%i, %j] : memref<8x16xf32>
    }
  }
  func.return
}
func.func @around_masked_vectors(%m: memref<8x16xf32>) {
  %zero = arith.constant 0.0 : f32
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  %c16 = arith.constant 16 : index
  scf.for %i = %c0 to %c8 step %c1 {
    scf.for %j = %c0 to %c16 step %c1 {
      %v = memref.load %m[%i, %j] : memref<8x16xf32>
      %mask = arith.cmpi sge, %i, %j : index
      %w = arith.select %mask, %v, %zero : f32
      memref.store %w, %m[%i, %j] : memref<8x16xf32>
    }
  }
  func.return
}
func.func @shared_around_vectors(%m: memref<8x16xf32>) attributes {xhlo.shared} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  %c16 = arith.constant 16 : index
  scf.for %i = %c0 to %c8 step %c1 {
    scf.for %j = %c0 to %c16 step %c1 {
      %v = memref.load %m[%i, %j] : memref<8x16xf32>
      %w = arith.addf %v, %v : f32
      memref.store %w, %m[%i, %j] : memref<8x16xf32>
    }
  }
  func.return
}

// Many iterations become vectors as well, and some single ones; the loop around them stays a loop.
// CHECK-LABEL: func.func @around_many
// CHECK:         {xhlo.unroll = 3 : i64}
// CHECK-NOT:     xhlo.unroll
// CHECK:         return
func.func @around_many(%m: memref<4x37xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %c37 = arith.constant 37 : index
  scf.for %i = %c0 to %c4 step %c1 {
    scf.for %j = %c0 to %c37 step %c1 {
      %v = memref.load %m[%i, %j] : memref<4x37xf32>
      %w = arith.addf %v, %v : f32
      memref.store %w, %m[%i, %j] : memref<4x37xf32>
    }
  }
  func.return
}

// A call of an elementary function is as long as what LLVM inlines there: no small loop.
// CHECK-LABEL: func.func @around_elementary
// CHECK-NOT:     xhlo.unroll
func.func private @exponential(f32) -> f32
func.func @around_elementary(%m: memref<32xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c32 = arith.constant 32 : index
  scf.for %i = %c0 to %c32 step %c1 {
    %v = memref.load %m[%i] : memref<32xf32>
    %w = func.call @exponential(%v) : (f32) -> f32
    memref.store %w, %m[%i] : memref<32xf32>
  }
  func.return
}

// A loop around a call of a kernel's shared part stays a loop; the small loop after it does not.
// CHECK-LABEL: func.func @around_a_call
// CHECK:         func.call @part
// CHECK-NOT:     xhlo.unroll
// CHECK:         memref.store
// CHECK:         {xhlo.unroll = 0 : i64}
func.func private @part(memref<4xf32>, index)
func.func @around_a_call(%m: memref<4xf32>, %v: f32) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  scf.for %i = %c0 to %c4 step %c1 {
    func.call @part(%m, %i) : (memref<4xf32>, index) -> ()
  }
  scf.for %j = %c0 to %c4 step %c1 {
    memref.store %v, %m[%j] : memref<4xf32>
  }
  func.return
}

// Bounds that are a constant apart begin at zero: LLVM sees how many iterations there are.
// CHECK-LABEL: func.func @apart
// CHECK-SAME:    %[[LO:lo]]: index
// CHECK-DAG:     %[[ZERO:.*]] = arith.constant 0 : index
// CHECK-DAG:     %[[FOUR:.*]] = arith.constant 4 : index
// CHECK:         cf.br ^[[AT:bb[0-9]+]](%[[ZERO]] : index)
// CHECK:       ^[[AT]](%[[I:.*]]: index):
// CHECK-NEXT:    %[[K:.*]] = arith.addi %[[LO]], %[[I]] : index
// CHECK-NEXT:    memref.store %v, %m[%[[K]]]
// CHECK-NEXT:    %[[NEXT:.*]] = arith.addi %[[I]], %{{.*}} overflow<nsw> : index
// CHECK-NEXT:    arith.cmpi slt, %[[NEXT]], %[[FOUR]] : index
// CHECK-NEXT:    {{.*}} {xhlo.unroll = 0 : i64}
func.func @apart(%m: memref<40xf32>, %v: f32, %lo: index) {
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %hi = arith.addi %lo, %c4 : index
  scf.for %i = %lo to %hi step %c1 {
    memref.store %v, %m[%i] : memref<40xf32>
  }
  func.return
}

// So do those of a vector, which are not unrolled, if their iterations do not depend on each other.
// CHECK-LABEL: func.func @vector_apart
// CHECK-SAME:    %[[LO:lo]]: index
// CHECK-DAG:     %[[ZERO:.*]] = arith.constant 0 : index
// CHECK-DAG:     %[[LENGTH:.*]] = arith.constant 16 : index
// CHECK:         cf.br ^[[AT:bb[0-9]+]](%[[ZERO]] : index)
// CHECK:       ^[[AT]](%[[I:.*]]: index):
// CHECK-NEXT:    %[[K:.*]] = arith.addi %[[LO]], %[[I]] : index
// CHECK:         arith.cmpi slt, %{{.*}}, %[[LENGTH]] : index
// CHECK-NEXT:    {{.*}} {xhlo.parallel}
func.func @vector_apart(%m: memref<40xf32>, %v: f32, %lo: index) {
  %c1 = arith.constant 1 : index
  %c16 = arith.constant 16 : index
  %hi = arith.addi %lo, %c16 : index
  scf.for %i = %lo to %hi step %c1 {
    memref.store %v, %m[%i] : memref<40xf32>
  } {xhlo.parallel}
  func.return
}
