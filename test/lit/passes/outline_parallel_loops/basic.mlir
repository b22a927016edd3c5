// RUN: hlo-opt %s --outline-parallel-loops | filecheck %s
// The body becomes a function of its captured values, the iteration and a slot.

// Constants and views are repeated inside.
// CHECK-LABEL: func.func private @kernel
// CHECK-NEXT:    cpu.parallel_for @kernel_body_0(%a, %o : memref<4x8xf32>, memref<32xf32>) {count = 4 : i64}
// CHECK-NEXT:    func.return
// CHECK:       func.func private @kernel_body_0(%a: memref<4x8xf32>, %o: memref<32xf32>, %i: index, %slot: index) attributes {xhlo.parallel_body}
// CHECK-DAG:     %[[FLAT:.*]] = memref.reinterpret_cast %a
// CHECK-DAG:     %[[EIGHT:.*]] = arith.constant 8 : index
// CHECK:         %[[STACK:.*]] = memref.alloca() : memref<8xf32>
// CHECK-NEXT:    %[[AT:.*]] = arith.muli %i, %[[EIGHT]]
// CHECK-NEXT:    %[[X:.*]] = memref.load %[[FLAT]][%[[AT]]]
// CHECK-NEXT:    memref.store %[[X]], %[[STACK]]
func.func private @kernel(%a: memref<4x8xf32>, %o: memref<32xf32>) attributes {hlo.kernel = "loop"} {
  %zero = arith.constant 0 : index
  %one = arith.constant 1 : index
  %four = arith.constant 4 : index
  %eight = arith.constant 8 : index
  %flat = memref.reinterpret_cast %a to offset: [0], sizes: [32], strides: [1] : memref<4x8xf32> to memref<32xf32>
  "scf.parallel"(%zero, %four, %one) <{operandSegmentSizes = array<i32: 1, 1, 1, 0>}> ({
  ^bb(%i: index):
    %stack = memref.alloca() : memref<8xf32>
    %at = arith.muli %i, %eight : index
    %x = memref.load %flat[%at] : memref<32xf32>
    memref.store %x, %stack[%zero] : memref<8xf32>
    %y = memref.load %stack[%zero] : memref<8xf32>
    memref.store %y, %o[%at] : memref<32xf32>
    scf.reduce
  }) : (index, index, index) -> ()
  func.return
}

// A buffer of each iteration stays in its loop, so that convert-to-llvm knows of which loop's accesses it is no part.
// CHECK-LABEL: func.func private @own_buffers_body_0
// CHECK-NOT:     memref.alloca
// CHECK:         scf.for
// CHECK-NEXT:      memref.alloca() : memref<f32>
// CHECK:         } {xhlo.parallel}
func.func private @own_buffers(%o: memref<4x4xf32>) attributes {hlo.kernel = "loop"} {
  %zero = arith.constant 0 : index
  %one = arith.constant 1 : index
  %four = arith.constant 4 : index
  %x = arith.constant 1.0 : f32
  "scf.parallel"(%zero, %four, %one) <{operandSegmentSizes = array<i32: 1, 1, 1, 0>}> ({
  ^bb(%i: index):
    scf.for %j = %zero to %four step %one {
      %own = memref.alloca() : memref<f32>
      memref.store %x, %own[] : memref<f32>
      %y = memref.load %own[] : memref<f32>
      memref.store %y, %o[%i, %j] : memref<4x4xf32>
    } {xhlo.parallel}
    scf.reduce
  }) : (index, index, index) -> ()
  func.return
}

// A parallel loop inside another one runs on the thread of its iteration.
// CHECK-LABEL: func.func private @nested
// CHECK-NEXT:    cpu.parallel_for @nested_body_0
// CHECK:       func.func private @nested_body_0
// CHECK-SAME:    (%o: memref<4x4xf32>, %i: index, %slot: index)
// CHECK:         scf.for %[[J:.*]] =
// CHECK-NEXT:      memref.store %{{.*}}, %o[%i, %[[J]]]
func.func private @nested(%o: memref<4x4xf32>) attributes {hlo.kernel = "loop"} {
  %zero = arith.constant 0 : index
  %one = arith.constant 1 : index
  %four = arith.constant 4 : index
  %x = arith.constant 1.0 : f32
  "scf.parallel"(%zero, %four, %one) <{operandSegmentSizes = array<i32: 1, 1, 1, 0>}> ({
  ^bb(%i: index):
    "scf.parallel"(%zero, %four, %one) <{operandSegmentSizes = array<i32: 1, 1, 1, 0>}> ({
    ^bb2(%j: index):
      memref.store %x, %o[%i, %j] : memref<4x4xf32>
      scf.reduce
    }) : (index, index, index) -> ()
    scf.reduce
  }) : (index, index, index) -> ()
  func.return
}
