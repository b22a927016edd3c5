// RUN: hlo-opt %s --split-input-file --instrument-kernels | filecheck %s

// One row for each kernel, called or not; its calls add nanoseconds and 1.
// CHECK:       func.func @main(%x: memref<4xf32>, %y: memref<4xf32>, %profile: memref<2x2xi64>)
// CHECK-NEXT:    %[[START:[0-9]+]] = func.call @xhlo_clock() : () -> i64
// CHECK-NEXT:    func.call @second(%x, %y)
// CHECK-NEXT:    %[[END:[0-9]+]] = func.call @xhlo_clock() : () -> i64
// CHECK-NEXT:    %[[NS:[0-9]+]] = arith.subi %[[END]], %[[START]] : i64
// CHECK:         %[[ROW:[0-9]+]] = arith.constant 1 : index
// CHECK:         %[[SUM:[0-9]+]] = arith.addi %{{[0-9]+}}, %[[NS]] : i64
// CHECK-NEXT:    memref.store %[[SUM]], %profile[%[[ROW]], %{{[0-9]+}}{{\]}}
// CHECK:         memref.store %{{[0-9]+}}, %profile[%[[ROW]], %{{[0-9]+}}{{\]}}
// CHECK-NEXT:    func.return
func.func @main(%x: memref<4xf32>, %y: memref<4xf32>) {
  func.call @second(%x, %y) : (memref<4xf32>, memref<4xf32>) -> ()
  func.return
}

func.func private @first(%x: memref<4xf32>, %y: memref<4xf32>) attributes {hlo.kernel = "loop"} {
  func.return
}

// CHECK:       func.func private @second
// CHECK-NOT:     func.call
// CHECK:       func.func private @xhlo_clock() -> i64
func.func private @second(%x: memref<4xf32>, %y: memref<4xf32>) attributes {hlo.kernel = "loop"} {
  func.return
}

// -----

// Results of the entry stay.
// CHECK:       func.func @main(%x: memref<4xf32>, %n: index, %profile: memref<1x2xi64>) -> f32
func.func @main(%x: memref<4xf32>, %n: index) -> f32 {
  %0 = memref.load %x[%n] : memref<4xf32>
  func.return %0 : f32
}
