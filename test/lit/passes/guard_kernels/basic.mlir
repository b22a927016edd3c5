// RUN: hlo-opt %s --guard-kernels | filecheck %s
// Calls of kernels, copies and loads of the entry are announced; where one failed, the function ends.

// CHECK-LABEL: func.func @main
// CHECK:         cpu.guard "enter"(%x, %y : memref<4xf32>, memref<4xf32>) {number = 0 : i64}
// CHECK-NEXT:    func.call @k(%x, %y)
// CHECK-NEXT:    %[[OK:[0-9]+]] = cpu.guard "leave"(%x, %y : memref<4xf32>, memref<4xf32>) {number = 0 : i64}
// CHECK-NEXT:    cf.cond_br %[[OK]], ^[[NEXT:bb[0-9]+]], ^[[STOP:bb[0-9]+]]
// CHECK-NEXT:  ^[[NEXT]]:
// CHECK:         cpu.guard "enter"(%y, %z : memref<4xf32>, memref<4xf32>) {number = 1 : i64}
// CHECK-NEXT:    "memref.copy"(%y, %z)
// CHECK:         cf.cond_br %{{[0-9]+}}, ^[[LAST:bb[0-9]+]], ^[[STOP]]
// CHECK-NEXT:  ^[[LAST]]:
// CHECK-NEXT:    func.return
// CHECK-NEXT:  ^[[STOP]]:
// CHECK-NEXT:    func.return
func.func @main(%x: memref<4xf32>, %y: memref<4xf32>, %z: memref<4xf32>) {
  func.call @k(%x, %y) : (memref<4xf32>, memref<4xf32>) -> ()
  "memref.copy"(%y, %z) : (memref<4xf32>, memref<4xf32>) -> ()
  func.return
}

// CHECK-LABEL: func.func private @k
// CHECK-NOT:     cpu.guard
func.func private @k(%x: memref<4xf32>, %y: memref<4xf32>) attributes {hlo.kernel = "loop"} {
  %c0 = arith.constant 0 : index
  %v = memref.load %x[%c0] : memref<4xf32>
  memref.store %v, %y[%c0] : memref<4xf32>
  func.return
}
