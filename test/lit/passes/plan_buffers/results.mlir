// RUN: hlo-opt %s --pass-pipeline='plan-buffers{results=true}' --split-input-file | filecheck %s
// RUN: hlo-opt %s --plan-buffers --split-input-file | filecheck %s --check-prefix=ARENA

// A large buffer is in the memory of a result that is written later: %b is, %a is read when the result is written.

// CHECK:       xhlo.arena_size = 262144
// ARENA:       xhlo.arena_size = 524288
// CHECK-LABEL: func.func @main(%x: memref<256x256xf32>, %out: memref<256x256xf32>
// CHECK:         %[[A:.*]] = memref.view %arena
// CHECK-NEXT:    %[[B:.*]] = memref.reinterpret_cast %out to offset: [0], sizes: [65536], strides: [1]
// CHECK-NEXT:    func.call @flat(%x, %[[B]])
// CHECK-NEXT:    func.call @square(%[[B]], %[[A]])
// CHECK-NEXT:    func.call @same(%[[A]], %out)
builtin.module attributes {xhlo.program = {entry = @main, inputs = [tensor<256x256xf32>], outputs = [tensor<256x256xf32>], kernels = []}} {
  func.func @main(%x: memref<256x256xf32>, %out: memref<256x256xf32>) {
    %a = memref.alloc() : memref<256x256xf32>
    %b = memref.alloc() : memref<65536xf32>
    func.call @flat(%x, %b) : (memref<256x256xf32>, memref<65536xf32>) -> ()
    func.call @square(%b, %a) : (memref<65536xf32>, memref<256x256xf32>) -> ()
    func.call @same(%a, %out) : (memref<256x256xf32>, memref<256x256xf32>) -> ()
    func.return
  }
  func.func private @flat(%x: memref<256x256xf32>, %y: memref<65536xf32>)
  func.func private @square(%x: memref<65536xf32>, %y: memref<256x256xf32>)
  func.func private @same(%x: memref<256x256xf32>, %y: memref<256x256xf32>)
}

// -----

// Not in the memory of a result that is used before, of another element type, or that is smaller; nor in that of an
// argument.

// CHECK:       xhlo.arena_size = 262144
builtin.module attributes {xhlo.program = {entry = @main, inputs = [tensor<256x256xf32>], outputs = [tensor<256x256xf32>, tensor<256x256xi32>, tensor<256x128xf32>], kernels = []}} {
  func.func @main(%x: memref<256x256xf32>, %p: memref<256x256xf32>, %q: memref<256x256xi32>, %r: memref<256x128xf32>) {
    %a = memref.alloc() : memref<256x256xf32>
    func.call @same(%x, %p) : (memref<256x256xf32>, memref<256x256xf32>) -> ()
    func.call @same(%p, %a) : (memref<256x256xf32>, memref<256x256xf32>) -> ()
    func.call @ints(%a, %q, %r) : (memref<256x256xf32>, memref<256x256xi32>, memref<256x128xf32>) -> ()
    func.return
  }
  func.func private @same(%x: memref<256x256xf32>, %y: memref<256x256xf32>)
  func.func private @ints(%x: memref<256x256xf32>, %y: memref<256x256xi32>, %z: memref<256x128xf32>)
}

// -----

// Small arenas leave results alone: the first program with fewer elements.

// CHECK:       xhlo.arena_size = 2048
// CHECK-NOT:   memref.reinterpret_cast
builtin.module attributes {xhlo.program = {entry = @main, inputs = [tensor<16x16xf32>], outputs = [tensor<16x16xf32>], kernels = []}} {
  func.func @main(%x: memref<16x16xf32>, %out: memref<16x16xf32>) {
    %a = memref.alloc() : memref<16x16xf32>
    %b = memref.alloc() : memref<256xf32>
    func.call @flat(%x, %b) : (memref<16x16xf32>, memref<256xf32>) -> ()
    func.call @square(%b, %a) : (memref<256xf32>, memref<16x16xf32>) -> ()
    func.call @same(%a, %out) : (memref<16x16xf32>, memref<16x16xf32>) -> ()
    func.return
  }
  func.func private @flat(%x: memref<16x16xf32>, %y: memref<256xf32>)
  func.func private @square(%x: memref<256xf32>, %y: memref<16x16xf32>)
  func.func private @same(%x: memref<16x16xf32>, %y: memref<16x16xf32>)
}
