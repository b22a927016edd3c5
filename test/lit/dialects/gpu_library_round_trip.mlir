// RUN: hlo-opt %s | hlo-opt | filecheck %s
// RUN: hlo-opt %s --print-generic | hlo-opt | filecheck %s

// Calls of libraries print in their own syntax, and read back.

// CHECK-LABEL: func.func @product
func.func @product(%a: memref<8x4xf32>, %b: memref<16x4xf32>, %d: memref<8x16xf32>) {
  // CHECK: gpu_library.matmul ins(%a, %b : memref<8x4xf32>, memref<16x4xf32>) outs(%d : memref<8x16xf32>)
  // CHECK-SAME: {lhs_matrix = #gpu_library.matrix<shape = [8, 4], strides = [4, 1], batch_stride = 0, offset = 0>,
  // CHECK-SAME: rhs_matrix = #gpu_library.matrix<shape = [4, 16], strides = [1, 4], batch_stride = 0, offset = 0>,
  // CHECK-SAME: out_matrix = #gpu_library.matrix<shape = [8, 16], strides = [16, 1], batch_stride = 0, offset = 0>}
  gpu_library.matmul ins(%a, %b : memref<8x4xf32>, memref<16x4xf32>) outs(%d : memref<8x16xf32>) {
    lhs_matrix = #gpu_library.matrix<shape = [8, 4], strides = [4, 1], batch_stride = 0, offset = 0>,
    rhs_matrix = #gpu_library.matrix<shape = [4, 16], strides = [1, 4], batch_stride = 0, offset = 0>,
    out_matrix = #gpu_library.matrix<shape = [8, 16], strides = [16, 1], batch_stride = 0, offset = 0>
  }
  func.return
}

// CHECK-LABEL: func.func @epilogue
func.func @epilogue(%a: memref<3x8x4xbf16>, %b: memref<3x4x16xbf16>, %c: memref<16xf32>, %d: memref<8x3x16xf32>) {
  // CHECK: gpu_library.matmul ins(%a, %b : memref<3x8x4xbf16>, memref<3x4x16xbf16>) bias(%c : memref<16xf32>) outs(%d : memref<8x3x16xf32>)
  // CHECK-SAME: strides = [48, 1], batch_stride = 16, offset = 0>, batch = 3 : i64, activation = "relu"}
  gpu_library.matmul ins(%a, %b : memref<3x8x4xbf16>, memref<3x4x16xbf16>) bias(%c : memref<16xf32>) outs(%d : memref<8x3x16xf32>) {
    lhs_matrix = #gpu_library.matrix<shape = [8, 4], strides = [4, 1], batch_stride = 32, offset = 0>,
    rhs_matrix = #gpu_library.matrix<shape = [4, 16], strides = [16, 1], batch_stride = 64, offset = 0>,
    out_matrix = #gpu_library.matrix<shape = [8, 16], strides = [48, 1], batch_stride = 16, offset = 0>,
    batch = 3, activation = "relu"
  }
  func.return
}
