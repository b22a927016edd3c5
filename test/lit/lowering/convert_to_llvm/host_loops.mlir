// RUN: hlo-opt %s --convert-to-llvm | filecheck %s
// LLVM may inline a kernel of a few operations that a loop of the host program calls: what it writes stays in registers.

// CHECK: llvm.func internal @next({{.*}}) attributes {passthrough = ["nounwind"]}
func.func private @next(%i: memref<i32>) attributes {hlo.kernel = "loop"} {
  %one = arith.constant 1 : i32
  %0 = memref.load %i[] : memref<i32>
  %1 = arith.addi %0, %one : i32
  memref.store %1, %i[] : memref<i32>
  func.return
}

// CHECK: llvm.func internal @before({{.*}}) attributes {passthrough = ["noinline", "nounwind"]}
func.func private @before(%i: memref<i32>) attributes {hlo.kernel = "loop"} {
  %zero = arith.constant 0 : i32
  memref.store %zero, %i[] : memref<i32>
  func.return
}

// A search in a loop is inlined, too; a loop over elements is not.

// CHECK: llvm.func internal @searches({{.*}}) attributes {passthrough = ["nounwind"]}
func.func private @searches(%i: memref<i32>) attributes {hlo.kernel = "loop"} {
  cf.br ^body
^body:
  %0 = memref.load %i[] : memref<i32>
  %zero = arith.constant 0 : i32
  %more = arith.cmpi slt, %0, %zero : i32
  cf.cond_br %more, ^body, ^end
^end:
  func.return
}

// CHECK: llvm.func internal @fills({{.*}}) attributes {passthrough = ["noinline", "nounwind"]}
func.func private @fills(%a: memref<8xi32>) attributes {hlo.kernel = "loop"} {
  %zero = arith.constant 0 : index
  cf.br ^body(%zero : index)
^body(%at: index):
  %0 = arith.constant 0 : i32
  memref.store %0, %a[%at] : memref<8xi32>
  %one = arith.constant 1 : index
  %next = arith.addi %at, %one : index
  %end = arith.constant 8 : index
  %more = arith.cmpi slt, %next, %end : index
  cf.cond_br %more, ^body(%next : index), ^end {xhlo.parallel}
^end:
  func.return
}

func.func @main(%i: memref<i32>, %a: memref<8xi32>) {
  func.call @before(%i) : (memref<i32>) -> ()
  cf.br ^check
^check:
  %ten = arith.constant 10 : i32
  %0 = memref.load %i[] : memref<i32>
  %more = arith.cmpi slt, %0, %ten : i32
  cf.cond_br %more, ^body, ^end
^body:
  func.call @next(%i) : (memref<i32>) -> ()
  func.call @searches(%i) : (memref<i32>) -> ()
  func.call @fills(%a) : (memref<8xi32>) -> ()
  cf.br ^check
^end:
  func.return
}
