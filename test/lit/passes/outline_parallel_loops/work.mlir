// RUN: hlo-opt --split-input-file %s --outline-parallel-loops | filecheck %s
// RUN: hlo-opt --split-input-file %s --outline-parallel-loops --convert-loops-to-cf --convert-to-llvm | filecheck %s --check-prefix=LLVM

// The loop of work beside a call of a shared function becomes a function; the arithmetic of its bounds is in it.
// CHECK-LABEL: func.func private @k(
// CHECK:         scf.for %[[I:[a-z0-9_]+]] =
// CHECK-NEXT:      func.call @shared(%a)
// CHECK-NEXT:      func.call @k_part_0(%[[I]], %a) : (index, memref<64xf32>) -> ()
// CHECK-NOT:     memref.store
// CHECK:       func.func private @k_part_0(%[[AT:[a-z0-9_]+]]: index, %[[A:[a-z0-9_]+]]: memref<64xf32>) attributes {xhlo.part}
// CHECK:         arith.muli %[[AT]]
// CHECK:         scf.for
// CHECK:           memref.store {{.*}}, %[[A]][
// LLVM:         llvm.func internal @k_part_0(%{{[a-z0-9_]+}}: i64, %{{[a-z0-9_]+}}: !llvm.ptr {llvm.noalias}) attributes {passthrough = ["noinline", "nounwind"]}
func.func private @shared(memref<64xf32>) attributes {xhlo.shared}
func.func private @k(%a: memref<64xf32>) attributes {hlo.kernel = "dot"} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %c16 = arith.constant 16 : index
  %zero = arith.constant 0.0 : f32
  scf.for %i = %c0 to %c4 step %c1 {
    func.call @shared(%a) : (memref<64xf32>) -> ()
    %lower = arith.muli %i, %c16 : index
    %upper = arith.addi %lower, %c16 : index
    scf.for %j = %lower to %upper step %c1 {
      memref.store %zero, %a[%j] : memref<64xf32>
    } {xhlo.parallel}
  }
  func.return
}

// -----

// Operations that follow one another become one function; what only asks for memory stays.
// CHECK-LABEL: func.func private @rows(
// CHECK-NEXT:    %[[C0:.*]] = arith.constant 0
// CHECK:         %[[ONE:[a-z0-9_]+]] = memref.alloca
// CHECK:         scf.for
// CHECK:           cpu.prefetch
// CHECK-NEXT:      func.call @shared(%a)
// CHECK:         func.call @rows_part_0(%a, %[[ONE]]) : (memref<64xf32>, memref<1xf32>) -> ()
// CHECK-NEXT:    func.return
// CHECK:       func.func private @rows_part_0(%[[A:[a-z0-9_]+]]: memref<64xf32>, %[[O:[a-z0-9_]+]]: memref<1xf32>) attributes {xhlo.part}
// CHECK:         %[[SUM:.*]] = scf.for
// CHECK:         memref.store %[[SUM]], %[[O]][
// CHECK:         %[[X:.*]] = memref.load %[[O]][
// CHECK:         scf.for
// CHECK:           memref.store %[[X]], %[[A]][
// CHECK:         func.return
func.func private @shared(memref<64xf32>) attributes {xhlo.shared}
func.func private @rows(%a: memref<64xf32>) attributes {hlo.kernel = "row"} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %zero = arith.constant 0.0 : f32
  %one = memref.alloca() : memref<1xf32>
  scf.for %i = %c0 to %c4 step %c1 {
    cpu.prefetch %a[%i] : memref<64xf32>
    func.call @shared(%a) : (memref<64xf32>) -> ()
  }
  %sum = scf.for %i = %c0 to %c4 step %c1 iter_args(%s = %zero) -> (f32) {
    %x = memref.load %a[%i] : memref<64xf32>
    %t = arith.addf %s, %x : f32
    scf.yield %t : f32
  }
  memref.store %sum, %one[%c0] : memref<1xf32>
  %upper = arith.addi %c4, %c4 : index
  %x = memref.load %one[%c0] : memref<1xf32>
  scf.for %i = %c0 to %upper step %c1 {
    memref.store %x, %a[%i] : memref<64xf32>
  } {xhlo.parallel}
  func.return
}

// -----

// A call, or the loop around one, needs what the work computes: it stays where it is.
// CHECK-LABEL: func.func private @needed(
// CHECK-NOT:   func.func private @needed_part
// CHECK-LABEL: func.func private @needed_inside(
// CHECK-NOT:   func.func private @needed_inside_part
func.func private @shared(index) attributes {xhlo.shared}
func.func private @needed(%a: memref<64xindex>) attributes {hlo.kernel = "row"} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %x = memref.load %a[%c0] : memref<64xindex>
  %y = arith.addi %x, %c1 : index
  scf.for %i = %c0 to %y step %c1 {
    func.call @shared(%i) : (index) -> ()
  }
  func.return
}
func.func private @needed_inside(%a: memref<64xindex>) attributes {hlo.kernel = "row"} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %x = memref.load %a[%c0] : memref<64xindex>
  scf.for %i = %c0 to %c4 step %c1 {
    %y = arith.addi %x, %i : index
    func.call @shared(%y) : (index) -> ()
  }
  func.return
}

// -----

// There is work outside of loops and no loop around the call, so that the kernel is optimized anyway.
// CHECK-LABEL: func.func private @works(
// CHECK-NOT:   func.func private @works_part
func.func private @shared(memref<64xf32>) attributes {xhlo.shared}
func.func private @works(%a: memref<64xf32>) attributes {hlo.kernel = "dot"} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  func.call @shared(%a) : (memref<64xf32>) -> ()
  %x = memref.load %a[%c0] : memref<64xf32>
  scf.for %j = %c0 to %c4 step %c1 {
    memref.store %x, %a[%j] : memref<64xf32>
  } {xhlo.parallel}
  func.return
}
