// RUN: hlo-opt %s --plan-buffers | filecheck %s
// Three buffers of 64 bytes, of which two live at once: an arena of 128 bytes. A kernel's scratch is hoisted to its
// caller and placed there too.

// CHECK:       builtin.module attributes {xhlo.arena_size = 192 : i64}
// CHECK-LABEL: func.func @main
// CHECK-SAME:    %[[ARENA:[a-z0-9]+]]: memref<192xi8>)
// CHECK-NEXT:    %[[FIRST:[a-z0-9]+]] = arith.constant 0 : index
// CHECK-NEXT:    %[[SECOND:[a-z0-9]+]] = arith.constant 64 : index
// CHECK-NEXT:    %[[THIRD:[a-z0-9]+]] = arith.constant 128 : index
// CHECK:         %[[A:[a-z0-9]+]] = memref.view %[[ARENA]]{{\[}}%[[FIRST]]{{\]}}
// CHECK:         func.call @k(%{{.*}}, %[[A]], %{{.*}})
// CHECK:         %[[B:[a-z0-9]+]] = memref.view %[[ARENA]]{{\[}}%[[SECOND]]{{\]}}
// CHECK:         func.call @k(%[[A]], %[[B]], %{{.*}})
// CHECK:         %[[C:[a-z0-9]+]] = memref.view %[[ARENA]]{{\[}}%[[FIRST]]{{\]}}
// CHECK:         func.call @k(%[[B]], %[[C]], %{{.*}})
func.func @main(%x: memref<16xf32>, %out: memref<16xf32>) {
  %a = memref.alloc() : memref<16xf32>
  func.call @k(%x, %a) : (memref<16xf32>, memref<16xf32>) -> ()
  %b = memref.alloc() : memref<16xf32>
  func.call @k(%a, %b) : (memref<16xf32>, memref<16xf32>) -> ()
  %c = memref.alloc() : memref<16xf32>
  func.call @k(%b, %c) : (memref<16xf32>, memref<16xf32>) -> ()
  func.call @k(%c, %out) : (memref<16xf32>, memref<16xf32>) -> ()
  func.return
}

// CHECK-LABEL: func.func private @k
// CHECK-SAME:    %[[SCRATCH:[a-z0-9]+]]: memref<4xf32>)
// CHECK-NOT:     memref.alloc
// CHECK:         memref.store %{{.*}}, %[[SCRATCH]]
func.func private @k(%x: memref<16xf32>, %y: memref<16xf32>) attributes {hlo.kernel = "loop"} {
  %scratch = memref.alloc() : memref<4xf32>
  %zero = arith.constant 0 : index
  %v = memref.load %x[%zero] : memref<16xf32>
  memref.store %v, %scratch[%zero] : memref<4xf32>
  %w = memref.load %scratch[%zero] : memref<4xf32>
  memref.store %w, %y[%zero] : memref<16xf32>
  func.return
}

// The arena is a parameter without attributes.
// CHECK-LABEL: func.func @attributes(
// CHECK-SAME:    %x: memref<16xf32> {xhlo.complex}, %arena: memref<0xi8>)
func.func @attributes(%x: memref<16xf32> {xhlo.complex}) {
  func.return
}

// Values that are no buffers may be returned.
// CHECK-LABEL: func.func @returns
// CHECK-SAME:    %{{[a-z0-9]+}}: memref<16xf32>, %{{[a-z0-9]+}}: memref<{{[0-9]+}}xi8>) -> f32
func.func @returns(%x: memref<16xf32>) -> f32 {
  %c0 = arith.constant 0 : index
  %a = memref.load %x[%c0] : memref<16xf32>
  func.return %a : f32
}
