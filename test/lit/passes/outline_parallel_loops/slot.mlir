// RUN: hlo-opt %s --outline-parallel-loops | filecheck %s
// The place of a thread's scratch memory is the first iteration of its range, which no other thread has.

// CHECK-LABEL: func.func private @kernel_body_0
// CHECK-SAME:    (%scratch: memref<4xf32>, %o: memref<4xf32>, %i: index, %slot: index)
// CHECK-NOT:     cpu.slot
// CHECK:         memref.store %{{.*}}, %scratch[%slot]
// CHECK-NEXT:    scf.for
// CHECK-NEXT:      %[[X:.*]] = memref.load %scratch[%slot]
// CHECK-NEXT:      memref.store %[[X]], %o[%i]
func.func private @kernel(%scratch: memref<4xf32>, %o: memref<4xf32>) attributes {hlo.kernel = "loop"} {
  %zero = arith.constant 0 : index
  %one = arith.constant 1 : index
  %four = arith.constant 4 : index
  %x = arith.constant 1.0 : f32
  "scf.parallel"(%zero, %four, %one) <{operandSegmentSizes = array<i32: 1, 1, 1, 0>}> ({
  ^bb(%i: index):
    %slot = cpu.slot
    memref.store %x, %scratch[%slot] : memref<4xf32>
    scf.for %j = %zero to %four step %one {
      %again = cpu.slot
      %y = memref.load %scratch[%again] : memref<4xf32>
      memref.store %y, %o[%i] : memref<4xf32>
    }
    scf.reduce
  }) : (index, index, index) -> ()
  func.return
}

// RUN: hlo-opt %s --convert-loops-to-cf --convert-to-llvm | filecheck %s --check-prefix=SERIAL
// Loops of a single thread have one place.
// SERIAL-LABEL: llvm.func {{.*}}@kernel
// SERIAL-NOT:     cpu.slot
// SERIAL:         llvm.return
