// RUN: hlo-opt %s --guard-kernels | filecheck %s
// A parallel loop of the host program takes the arena; it accesses the view that its body has of it.

// CHECK-LABEL: func.func @main
// CHECK:         %[[PLACE:.*]] = arith.constant 32 : index
// CHECK-NEXT:    %[[VIEW:.*]] = memref.view %arena[%[[PLACE]]][] : memref<64xi8> to memref<4xf32>
// CHECK-NEXT:    cpu.guard "enter"(%[[VIEW]], %y : memref<4xf32>, memref<4xf32>) {number = 0 : i64}
// CHECK-NEXT:    cpu.parallel_for @body(%arena, %y
// CHECK-NEXT:    cpu.guard "leave"(%[[VIEW]], %y : memref<4xf32>, memref<4xf32>) {number = 0 : i64}
func.func @main(%y: memref<4xf32>, %arena: memref<64xi8>) {
  cpu.parallel_for @body(%arena, %y : memref<64xi8>, memref<4xf32>) {count = 4 : i64}
  func.return
}

func.func private @body(%arena: memref<64xi8>, %y: memref<4xf32>, %i: index, %slot: index) attributes {xhlo.parallel_body} {
  %place = arith.constant 32 : index
  %x = memref.view %arena[%place][] : memref<64xi8> to memref<4xf32>
  %v = memref.load %x[%i] : memref<4xf32>
  memref.store %v, %y[%i] : memref<4xf32>
  func.return
}
