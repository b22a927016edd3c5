// RUN: hlo-opt %s --plan-buffers | filecheck %s
// A buffer is live while one of its views is used: in each function %b must not be given the bytes of %a, which the
// last call reads through a view.

// CHECK-LABEL: func.func @collapse_shape
// CHECK-SAME:    memref<128xi8>
// CHECK:         %a = memref.view %arena[%0]
// CHECK:         %b = memref.view %arena[%1]
func.func @collapse_shape(%x: memref<16xf32>, %out: memref<16xf32>) {
  %a = memref.alloc() : memref<4x4xf32>
  %v = memref.collapse_shape %a [[0, 1]] : memref<4x4xf32> into memref<16xf32>
  func.call @k(%x, %v) : (memref<16xf32>, memref<16xf32>) -> ()
  %b = memref.alloc() : memref<16xf32>
  func.call @k(%x, %b) : (memref<16xf32>, memref<16xf32>) -> ()
  func.call @k(%v, %out) : (memref<16xf32>, memref<16xf32>) -> ()
  func.return
}

// CHECK-LABEL: func.func @expand_shape
// CHECK-SAME:    memref<128xi8>
func.func @expand_shape(%x: memref<4x4xf32>, %out: memref<4x4xf32>) {
  %a = memref.alloc() : memref<16xf32>
  %v = memref.expand_shape %a [[0, 1]] output_shape [4, 4] : memref<16xf32> into memref<4x4xf32>
  func.call @k2(%x, %v) : (memref<4x4xf32>, memref<4x4xf32>) -> ()
  %b = memref.alloc() : memref<4x4xf32>
  func.call @k2(%x, %b) : (memref<4x4xf32>, memref<4x4xf32>) -> ()
  func.call @k2(%v, %out) : (memref<4x4xf32>, memref<4x4xf32>) -> ()
  func.return
}

// CHECK-LABEL: func.func @cast
// CHECK-SAME:    memref<128xi8>
func.func @cast(%x: memref<?xf32>, %out: memref<?xf32>) {
  %a = memref.alloc() : memref<16xf32>
  %v = "memref.cast"(%a) : (memref<16xf32>) -> memref<?xf32>
  func.call @dynamic(%x, %v) : (memref<?xf32>, memref<?xf32>) -> ()
  %b = memref.alloc() : memref<16xf32>
  %w = "memref.cast"(%b) : (memref<16xf32>) -> memref<?xf32>
  func.call @dynamic(%x, %w) : (memref<?xf32>, memref<?xf32>) -> ()
  func.call @dynamic(%v, %out) : (memref<?xf32>, memref<?xf32>) -> ()
  func.return
}

// CHECK-LABEL: func.func @memory_space_cast
// CHECK-SAME:    memref<128xi8>
func.func @memory_space_cast(%x: memref<16xf32>, %out: memref<16xf32>) {
  %a = memref.alloc() : memref<16xf32>
  %v = "memref.memory_space_cast"(%a) : (memref<16xf32>) -> memref<16xf32, 1>
  %b = memref.alloc() : memref<16xf32>
  func.call @k(%x, %b) : (memref<16xf32>, memref<16xf32>) -> ()
  func.call @space(%v) : (memref<16xf32, 1>) -> ()
  func.return
}

// CHECK-LABEL: func.func @assume_alignment
// CHECK-SAME:    memref<128xi8>
func.func @assume_alignment(%x: memref<16xf32>, %out: memref<16xf32>) {
  %a = memref.alloc() : memref<16xf32>
  %v = memref.assume_alignment %a, 64 : memref<16xf32>
  %b = memref.alloc() : memref<16xf32>
  func.call @k(%x, %b) : (memref<16xf32>, memref<16xf32>) -> ()
  func.call @k(%v, %out) : (memref<16xf32>, memref<16xf32>) -> ()
  func.return
}

// CHECK-LABEL: func.func @reinterpret_cast
// CHECK-SAME:    memref<128xi8>
func.func @reinterpret_cast(%x: memref<16xf32>, %out: memref<16xf32>) {
  %a = memref.alloc() : memref<4x4xf32>
  %v = memref.reinterpret_cast %a to offset: [0], sizes: [16], strides: [1] : memref<4x4xf32> to memref<16xf32>
  %b = memref.alloc() : memref<16xf32>
  func.call @k(%x, %b) : (memref<16xf32>, memref<16xf32>) -> ()
  func.call @k(%v, %out) : (memref<16xf32>, memref<16xf32>) -> ()
  func.return
}

// CHECK-LABEL: func.func @subview
// CHECK-SAME:    memref<192xi8>
func.func @subview(%x: memref<16xf32>) {
  %a = memref.alloc() : memref<32xf32>
  %v = memref.subview %a[16] [16] [1] : memref<32xf32> to memref<16xf32, strided<[1], offset: 16>>
  %b = memref.alloc() : memref<16xf32>
  func.call @k(%x, %b) : (memref<16xf32>, memref<16xf32>) -> ()
  func.call @strided(%v) : (memref<16xf32, strided<[1], offset: 16>>) -> ()
  func.return
}

// CHECK-LABEL: func.func @view
// CHECK-SAME:    memref<128xi8>
func.func @view(%x: memref<16xf32>, %out: memref<16xf32>) {
  %a = memref.alloc() : memref<64xi8>
  %zero = arith.constant 0 : index
  %v = memref.view %a[%zero][] : memref<64xi8> to memref<16xf32>
  %b = memref.alloc() : memref<16xf32>
  func.call @k(%x, %b) : (memref<16xf32>, memref<16xf32>) -> ()
  func.call @k(%v, %out) : (memref<16xf32>, memref<16xf32>) -> ()
  func.return
}

// CHECK-LABEL: func.func @extract_strided_metadata
// CHECK-SAME:    memref<128xi8>
func.func @extract_strided_metadata(%x: memref<16xf32>) {
  %a = memref.alloc() : memref<4x4xf32>
  %v, %offset, %s:2, %t:2 = "memref.extract_strided_metadata"(%a)
    : (memref<4x4xf32>) -> (memref<f32>, index, index, index, index, index)
  %b = memref.alloc() : memref<16xf32>
  func.call @k(%x, %b) : (memref<16xf32>, memref<16xf32>) -> ()
  func.call @scalar(%v) : (memref<f32>) -> ()
  func.return
}

// A view of a view, made before a third buffer.
// CHECK-LABEL: func.func @chain
// CHECK-SAME:    memref<128xi8>
func.func @chain(%x: memref<16xf32>, %out: memref<16xf32>) {
  %a = memref.alloc() : memref<2x2x4xf32>
  %u = memref.collapse_shape %a [[0, 1], [2]] : memref<2x2x4xf32> into memref<4x4xf32>
  %v = memref.collapse_shape %u [[0, 1]] : memref<4x4xf32> into memref<16xf32>
  %b = memref.alloc() : memref<16xf32>
  func.call @k(%x, %b) : (memref<16xf32>, memref<16xf32>) -> ()
  func.call @k(%v, %out) : (memref<16xf32>, memref<16xf32>) -> ()
  func.return
}

func.func private @k(memref<16xf32>, memref<16xf32>)
func.func private @k2(memref<4x4xf32>, memref<4x4xf32>)
func.func private @dynamic(memref<?xf32>, memref<?xf32>)
func.func private @space(memref<16xf32, 1>)
func.func private @strided(memref<16xf32, strided<[1], offset: 16>>)
func.func private @scalar(memref<f32>)
