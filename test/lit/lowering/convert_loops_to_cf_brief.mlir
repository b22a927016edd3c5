// RUN: hlo-opt %s --convert-loops-to-cf | filecheck %s

// Each iteration of the host program's loop calls a kernel of 6 operations a thousand times: beside that, neither the loop
// nor the other kernel, which has no loop, counts.
// CHECK-LABEL: func.func private @step(
// CHECK-SAME:    attributes {hlo.kernel = "loop", xhlo.brief}
// CHECK-LABEL: func.func private @long(
// CHECK-SAME:    attributes {hlo.kernel = "loop"}
// CHECK-LABEL: func.func @main(
// CHECK-SAME:    attributes {xhlo.brief}
func.func private @step(%n: memref<i32>) attributes {hlo.kernel = "loop"} {
  %v = memref.load %n[] : memref<i32>
  %w = arith.addi %v, %v : i32
  memref.store %w, %n[] : memref<i32>
  func.return
}
func.func private @long(%x: memref<1000xi32>) attributes {hlo.kernel = "loop"} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c1000 = arith.constant 1000 : index
  scf.for %i = %c0 to %c1000 step %c1 {
    %v = memref.load %x[%i] : memref<1000xi32>
    %w = arith.addi %v, %v : i32
    memref.store %w, %x[%i] : memref<1000xi32>
  }
  func.return
}
func.func @main(%x: memref<1000xi32>, %n: memref<i32>, %m: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  scf.for %i = %c0 to %m step %c1 {
    func.call @long(%x) : (memref<1000xi32>) -> ()
    func.call @step(%n) : (memref<i32>) -> ()
  }
  func.return
}
