// RUN: hlo-opt %s --convert-linalg-to-scf | filecheck %s

// Copies and fills of long rows call functions for all sizes.
// CHECK-LABEL: @copy
// CHECK-NOT:     memref.load
// CHECK:         func.call @copy_copy(%out, {{.*}}, %x
// CHECK:       func.func private @copy_copy({{.*}} attributes {xhlo.shared, xhlo.written = array<i64: 0>}
func.func private @copy(%x: memref<40x200xf32>, %out: memref<40x300xf32>) attributes {hlo.kernel = "concatenate"} {
  %part = memref.reinterpret_cast %out to offset: [100], sizes: [40, 200], strides: [300, 1] : memref<40x300xf32> to memref<40x200xf32, strided<[300, 1], offset: 100>>
  "memref.copy"(%x, %part) : (memref<40x200xf32>, memref<40x200xf32, strided<[300, 1], offset: 100>>) -> ()
  return
}

// Zeros are a fact of the function, which is memset then; other values are parameters.
// CHECK-LABEL: @fills
// CHECK:         %[[ONE:.*]] = arith.constant 1.000000e+00
// CHECK:         func.call @fills_fill(%x, {{[^:]*}}) : (memref<4096xf32>, index, index, index, index) -> ()
// CHECK:         func.call @fills_fill_1(%y, {{.*}}, %[[ONE]])
func.func private @fills(%x: memref<4096xf32>, %y: memref<4096xf32>) attributes {hlo.kernel = "loop"} {
  %zero = arith.constant 0.000000e+00 : f32
  %one = arith.constant 1.000000e+00 : f32
  linalg.fill ins(%zero : f32) outs(%x : memref<4096xf32>)
  linalg.fill ins(%one : f32) outs(%y : memref<4096xf32>)
  return
}

// So are constants inside of the body, as fusions of constants have them.
// CHECK-LABEL: @constants
// CHECK:         %[[TWO:.*]] = arith.constant 2.000000e+00
// CHECK:         func.call @constants_fill(%x, {{.*}}, %[[TWO]])
// CHECK-NEXT:    return
func.func private @constants(%x: memref<4096xf32>) attributes {hlo.kernel = "loop"} {
  linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]} outs(%x : memref<4096xf32>) {
  ^bb0(%old: f32):
    %two = arith.constant 2.0 : f32
    linalg.yield %two : f32
  }
  return
}

// Short rows, and few elements, stay loops.
// CHECK-LABEL: @short
// CHECK-NOT:     func.call
// CHECK:         return
func.func private @short(%x: memref<400x20xf32>, %few: memref<200xf32>, %out: memref<400x30xf32>, %one: memref<200xf32>) attributes {hlo.kernel = "concatenate"} {
  %part = memref.reinterpret_cast %out to offset: [0], sizes: [400, 20], strides: [30, 1] : memref<400x30xf32> to memref<400x20xf32, strided<[30, 1]>>
  "memref.copy"(%x, %part) : (memref<400x20xf32>, memref<400x20xf32, strided<[30, 1]>>) -> ()
  "memref.copy"(%few, %one) : (memref<200xf32>, memref<200xf32>) -> ()
  return
}

// So do copies between parameters that may be one buffer, and within one.
// CHECK-LABEL: @one_buffer
// CHECK-NOT:     func.call
// CHECK:         return
func.func private @one_buffer(%x: memref<4096xf32>, %out: memref<4096xf32>) attributes {hlo.kernel = "loop", xhlo.shared_buffers = array<i64: 0, 1>} {
  "memref.copy"(%x, %out) : (memref<4096xf32>, memref<4096xf32>) -> ()
  return
}

// Vectors copy rows of 2 KiB and more, for which memcpy may be slow; the last ones overlap those before them.
// CHECK-LABEL: @long_rows
// CHECK:         func.call @long_rows_copy(%out, {{.*}}, %x
// CHECK:       func.func private @long_rows_copy(
// CHECK:         scf.if
// CHECK:           scf.for
// CHECK:             scf.for
// CHECK:               arith.minsi
// CHECK-COUNT-4:       vector.load
// CHECK-COUNT-4:       vector.store
// CHECK:         } else {
// CHECK:           memref.load
func.func private @long_rows(%x: memref<40x1000xf32>, %out: memref<40x1001xf32>) attributes {hlo.kernel = "concatenate"} {
  %part = memref.reinterpret_cast %out to offset: [1], sizes: [40, 1000], strides: [1001, 1] : memref<40x1001xf32> to memref<40x1000xf32, strided<[1001, 1], offset: 1>>
  "memref.copy"(%x, %part) : (memref<40x1000xf32>, memref<40x1000xf32, strided<[1001, 1], offset: 1>>) -> ()
  return
}
