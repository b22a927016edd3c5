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

// There is work outside of loops, so that the kernel is optimized anyway.
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
