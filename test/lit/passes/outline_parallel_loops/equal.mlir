// RUN: hlo-opt %s --outline-parallel-loops | filecheck %s
// Equal bodies of several kernels are one function.

// CHECK-LABEL: func.func private @first
// CHECK:         cpu.parallel_for @first_body_0(%a, %o
// CHECK:       func.func private @first_body_0
func.func private @first(%a: memref<4xf32>, %o: memref<4xf32>) attributes {hlo.kernel = "loop"} {
  %zero = arith.constant 0 : index
  %one = arith.constant 1 : index
  %four = arith.constant 4 : index
  "scf.parallel"(%zero, %four, %one) <{operandSegmentSizes = array<i32: 1, 1, 1, 0>}> ({
  ^bb(%i: index):
    %x = memref.load %a[%i] : memref<4xf32>
    %y = arith.subf %x, %x : f32
    memref.store %y, %o[%i] : memref<4xf32>
    scf.reduce
  }) : (index, index, index) -> ()
  func.return
}

// The number of iterations and the buffers are the caller's.
// CHECK-LABEL: func.func private @equal
// CHECK:         cpu.parallel_for @first_body_0(%o, %a : memref<4xf32>, memref<4xf32>) {count = 3 : i64}
// CHECK-NOT:   @equal_body_0
func.func private @equal(%a: memref<4xf32>, %o: memref<4xf32>) attributes {hlo.kernel = "loop"} {
  %zero = arith.constant 0 : index
  %one = arith.constant 1 : index
  %three = arith.constant 3 : index
  "scf.parallel"(%zero, %three, %one) <{operandSegmentSizes = array<i32: 1, 1, 1, 0>}> ({
  ^bb(%i: index):
    %x = memref.load %o[%i] : memref<4xf32>
    %y = arith.subf %x, %x : f32
    memref.store %y, %a[%i] : memref<4xf32>
    scf.reduce
  }) : (index, index, index) -> ()
  func.return
}

// A kernel whose buffers may be one keeps its own body: the first one's are known to be several.
// CHECK-LABEL: func.func private @in_place
// CHECK:         cpu.parallel_for @in_place_body_0
func.func private @in_place(%a: memref<4xf32>, %o: memref<4xf32>) attributes {hlo.kernel = "loop", xhlo.shared_buffers = array<i64: 0, 1>} {
  %zero = arith.constant 0 : index
  %one = arith.constant 1 : index
  %four = arith.constant 4 : index
  "scf.parallel"(%zero, %four, %one) <{operandSegmentSizes = array<i32: 1, 1, 1, 0>}> ({
  ^bb(%i: index):
    %x = memref.load %a[%i] : memref<4xf32>
    %y = arith.subf %x, %x : f32
    memref.store %y, %o[%i] : memref<4xf32>
    scf.reduce
  }) : (index, index, index) -> ()
  func.return
}

// Other sizes, and other uses of the same values, are other functions.
// CHECK-LABEL: func.func private @other_size
// CHECK:         cpu.parallel_for @other_size_body_0
func.func private @other_size(%a: memref<4xf32>, %o: memref<5xf32>) attributes {hlo.kernel = "loop"} {
  %zero = arith.constant 0 : index
  %one = arith.constant 1 : index
  %four = arith.constant 4 : index
  "scf.parallel"(%zero, %four, %one) <{operandSegmentSizes = array<i32: 1, 1, 1, 0>}> ({
  ^bb(%i: index):
    %x = memref.load %a[%i] : memref<4xf32>
    %y = arith.subf %x, %x : f32
    memref.store %y, %o[%i] : memref<5xf32>
    scf.reduce
  }) : (index, index, index) -> ()
  func.return
}

// CHECK-LABEL: func.func private @other_order
// CHECK:         cpu.parallel_for @other_order_body_0
// CHECK-LABEL: func.func private @other_order_body_0
// CHECK:         arith.subf %[[Y:.*]], %[[X:.*]] : f32
func.func private @other_order(%a: memref<4xf32>, %o: memref<4xf32>) attributes {hlo.kernel = "loop"} {
  %zero = arith.constant 0 : index
  %one = arith.constant 1 : index
  %four = arith.constant 4 : index
  "scf.parallel"(%zero, %four, %one) <{operandSegmentSizes = array<i32: 1, 1, 1, 0>}> ({
  ^bb(%i: index):
    %x = memref.load %a[%i] : memref<4xf32>
    %y = memref.load %o[%i] : memref<4xf32>
    %z = arith.subf %y, %x : f32
    memref.store %z, %o[%i] : memref<4xf32>
    scf.reduce
  }) : (index, index, index) -> ()
  func.return
}

// CHECK-LABEL: func.func private @yet_other_order
// CHECK:         cpu.parallel_for @yet_other_order_body_0
func.func private @yet_other_order(%a: memref<4xf32>, %o: memref<4xf32>) attributes {hlo.kernel = "loop"} {
  %zero = arith.constant 0 : index
  %one = arith.constant 1 : index
  %four = arith.constant 4 : index
  "scf.parallel"(%zero, %four, %one) <{operandSegmentSizes = array<i32: 1, 1, 1, 0>}> ({
  ^bb(%i: index):
    %x = memref.load %a[%i] : memref<4xf32>
    %y = memref.load %o[%i] : memref<4xf32>
    %z = arith.subf %x, %y : f32
    memref.store %z, %o[%i] : memref<4xf32>
    scf.reduce
  }) : (index, index, index) -> ()
  func.return
}
