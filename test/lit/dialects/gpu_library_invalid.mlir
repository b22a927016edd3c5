// RUN: hlo-opt %s --split-input-file --verify-diagnostics

func.func @f(%a: memref<8x4xf32>, %b: memref<4x16xf32>, %d: memref<8x16xf64>) {
  // expected-error@+1 {{no product of f32 and f32 gives f64; there are f32 to f32, f64 to f64}}
  gpu_library.matmul ins(%a, %b : memref<8x4xf32>, memref<4x16xf32>) outs(%d : memref<8x16xf64>) {
    lhs_matrix = #gpu_library.matrix<shape = [8, 4], strides = [4, 1], batch_stride = 0, offset = 0>,
    rhs_matrix = #gpu_library.matrix<shape = [4, 16], strides = [16, 1], batch_stride = 0, offset = 0>,
    out_matrix = #gpu_library.matrix<shape = [8, 16], strides = [16, 1], batch_stride = 0, offset = 0>
  }
  func.return
}

// -----

func.func @f(%a: memref<8x4xf32>, %b: memref<4x16xf16>, %d: memref<8x16xf32>) {
  // expected-error@+1 {{no product of f32 and f16 gives f32}}
  gpu_library.matmul ins(%a, %b : memref<8x4xf32>, memref<4x16xf16>) outs(%d : memref<8x16xf32>) {
    lhs_matrix = #gpu_library.matrix<shape = [8, 4], strides = [4, 1], batch_stride = 0, offset = 0>,
    rhs_matrix = #gpu_library.matrix<shape = [4, 16], strides = [16, 1], batch_stride = 0, offset = 0>,
    out_matrix = #gpu_library.matrix<shape = [8, 16], strides = [16, 1], batch_stride = 0, offset = 0>
  }
  func.return
}

// -----

func.func @f(%a: memref<8x4xf32>, %b: memref<4x16xf32>, %d: memref<8x16xf32>) {
  // expected-error@+1 {{the product of 8x4 and 2x32 is not of 8x16}}
  gpu_library.matmul ins(%a, %b : memref<8x4xf32>, memref<4x16xf32>) outs(%d : memref<8x16xf32>) {
    lhs_matrix = #gpu_library.matrix<shape = [8, 4], strides = [4, 1], batch_stride = 0, offset = 0>,
    rhs_matrix = #gpu_library.matrix<shape = [2, 32], strides = [32, 1], batch_stride = 0, offset = 0>,
    out_matrix = #gpu_library.matrix<shape = [8, 16], strides = [16, 1], batch_stride = 0, offset = 0>
  }
  func.return
}

// -----

func.func @f(%a: memref<8x4xf32>, %b: memref<4x16xf32>, %d: memref<8x16xf32>) {
  // expected-error@+1 {{lhs_matrix is neither row- nor column-major}}
  gpu_library.matmul ins(%a, %b : memref<8x4xf32>, memref<4x16xf32>) outs(%d : memref<8x16xf32>) {
    lhs_matrix = #gpu_library.matrix<shape = [8, 4], strides = [4, 2], batch_stride = 0, offset = 0>,
    rhs_matrix = #gpu_library.matrix<shape = [4, 16], strides = [16, 1], batch_stride = 0, offset = 0>,
    out_matrix = #gpu_library.matrix<shape = [8, 16], strides = [16, 1], batch_stride = 0, offset = 0>
  }
  func.return
}

// -----

func.func @f(%a: memref<8x4xf32>, %b: memref<4x16xf32>, %d: memref<8x16xf32>) {
  // expected-error@+1 {{lhs_matrix is neither row- nor column-major}}
  gpu_library.matmul ins(%a, %b : memref<8x4xf32>, memref<4x16xf32>) outs(%d : memref<8x16xf32>) {
    lhs_matrix = #gpu_library.matrix<shape = [8, 4], strides = [3, 1], batch_stride = 0, offset = 0>,
    rhs_matrix = #gpu_library.matrix<shape = [4, 16], strides = [16, 1], batch_stride = 0, offset = 0>,
    out_matrix = #gpu_library.matrix<shape = [8, 16], strides = [16, 1], batch_stride = 0, offset = 0>
  }
  func.return
}

// -----

func.func @f(%a: memref<8x4xf32>, %b: memref<4x16xf32>, %d: memref<8x16xf32>) {
  // expected-error@+1 {{lhs_matrix reaches beyond its buffer of 32 elements}}
  gpu_library.matmul ins(%a, %b : memref<8x4xf32>, memref<4x16xf32>) outs(%d : memref<8x16xf32>) {
    lhs_matrix = #gpu_library.matrix<shape = [8, 4], strides = [4, 1], batch_stride = 0, offset = 1>,
    rhs_matrix = #gpu_library.matrix<shape = [4, 16], strides = [16, 1], batch_stride = 0, offset = 0>,
    out_matrix = #gpu_library.matrix<shape = [8, 16], strides = [16, 1], batch_stride = 0, offset = 0>
  }
  func.return
}

// -----

func.func @f(%a: memref<8x4xf32>, %b: memref<4x16xf32>, %d: memref<8x16xf32>) {
  // expected-error@+1 {{rhs_matrix reaches beyond its buffer of 64 elements}}
  gpu_library.matmul ins(%a, %b : memref<8x4xf32>, memref<4x16xf32>) outs(%d : memref<8x16xf32>) {
    lhs_matrix = #gpu_library.matrix<shape = [8, 4], strides = [4, 1], batch_stride = 0, offset = 0>,
    rhs_matrix = #gpu_library.matrix<shape = [4, 16], strides = [16, 1], batch_stride = 64, offset = 0>,
    out_matrix = #gpu_library.matrix<shape = [8, 16], strides = [16, 1], batch_stride = 0, offset = 0>,
    batch = 2
  }
  func.return
}

// -----

func.func @f(%a: memref<8x4xf32>, %b: memref<4x16xf32>, %d: memref<8x16xf32>) {
  // expected-error@+1 {{the matrices of out's batch overlap}}
  gpu_library.matmul ins(%a, %b : memref<8x4xf32>, memref<4x16xf32>) outs(%d : memref<8x16xf32>) {
    lhs_matrix = #gpu_library.matrix<shape = [8, 4], strides = [4, 1], batch_stride = 0, offset = 0>,
    rhs_matrix = #gpu_library.matrix<shape = [4, 16], strides = [16, 1], batch_stride = 0, offset = 0>,
    out_matrix = #gpu_library.matrix<shape = [8, 16], strides = [16, 1], batch_stride = 0, offset = 0>,
    batch = 2
  }
  func.return
}

// -----

func.func @f(%a: memref<8x4xf32>, %b: memref<4x16xf32>, %d: memref<8x16xf32>) {
  // expected-error@+1 {{batch is 0, not a positive number of 31 bits}}
  gpu_library.matmul ins(%a, %b : memref<8x4xf32>, memref<4x16xf32>) outs(%d : memref<8x16xf32>) {
    lhs_matrix = #gpu_library.matrix<shape = [8, 4], strides = [4, 1], batch_stride = 0, offset = 0>,
    rhs_matrix = #gpu_library.matrix<shape = [4, 16], strides = [16, 1], batch_stride = 0, offset = 0>,
    out_matrix = #gpu_library.matrix<shape = [8, 16], strides = [16, 1], batch_stride = 0, offset = 0>,
    batch = 0
  }
  func.return
}

// -----

func.func @f(%a: memref<8x4xf32>, %b: memref<4x16xf32>, %d: memref<8x16xf32>) {
  // expected-error@+1 {{out_matrix is not row-major}}
  gpu_library.matmul ins(%a, %b : memref<8x4xf32>, memref<4x16xf32>) outs(%d : memref<8x16xf32>) {
    lhs_matrix = #gpu_library.matrix<shape = [8, 4], strides = [4, 1], batch_stride = 0, offset = 0>,
    rhs_matrix = #gpu_library.matrix<shape = [4, 16], strides = [16, 1], batch_stride = 0, offset = 0>,
    out_matrix = #gpu_library.matrix<shape = [8, 16], strides = [1, 8], batch_stride = 0, offset = 0>
  }
  func.return
}

// -----

func.func @f(%a: memref<8x4xf32>, %b: memref<4x16xf32>, %d: memref<8x16xf32>, %c: memref<8xf32>) {
  // expected-error@+1 {{bias has not 16 elements of type f32}}
  gpu_library.matmul ins(%a, %b : memref<8x4xf32>, memref<4x16xf32>) bias(%c : memref<8xf32>) outs(%d : memref<8x16xf32>) {
    lhs_matrix = #gpu_library.matrix<shape = [8, 4], strides = [4, 1], batch_stride = 0, offset = 0>,
    rhs_matrix = #gpu_library.matrix<shape = [4, 16], strides = [16, 1], batch_stride = 0, offset = 0>,
    out_matrix = #gpu_library.matrix<shape = [8, 16], strides = [16, 1], batch_stride = 0, offset = 0>
  }
  func.return
}

// -----

func.func @f(%a: memref<8x4xf32>, %b: memref<4x16xf32>, %d: memref<8x16xf32>) {
  // expected-error@+1 {{no activation is called 'tanh'; there are relu, gelu_tanh}}
  gpu_library.matmul ins(%a, %b : memref<8x4xf32>, memref<4x16xf32>) outs(%d : memref<8x16xf32>) {
    lhs_matrix = #gpu_library.matrix<shape = [8, 4], strides = [4, 1], batch_stride = 0, offset = 0>,
    rhs_matrix = #gpu_library.matrix<shape = [4, 16], strides = [16, 1], batch_stride = 0, offset = 0>,
    out_matrix = #gpu_library.matrix<shape = [8, 16], strides = [16, 1], batch_stride = 0, offset = 0>,
    activation = "tanh"
  }
  func.return
}

// -----

func.func @f(%a: memref<8x4xf64>, %b: memref<4x16xf64>, %d: memref<8x16xf64>) {
  // expected-error@+1 {{a result of f64 takes neither bias nor activation}}
  gpu_library.matmul ins(%a, %b : memref<8x4xf64>, memref<4x16xf64>) outs(%d : memref<8x16xf64>) {
    lhs_matrix = #gpu_library.matrix<shape = [8, 4], strides = [4, 1], batch_stride = 0, offset = 0>,
    rhs_matrix = #gpu_library.matrix<shape = [4, 16], strides = [16, 1], batch_stride = 0, offset = 0>,
    out_matrix = #gpu_library.matrix<shape = [8, 16], strides = [16, 1], batch_stride = 0, offset = 0>,
    activation = "relu"
  }
  func.return
}

// -----

func.func @f(%a: memref<8x4xf16>, %b: memref<4x16xf16>, %d: memref<8x16xf32>) {
  // expected-error@+1 {{tf32 is about factors of f32, not of f16}}
  gpu_library.matmul ins(%a, %b : memref<8x4xf16>, memref<4x16xf16>) outs(%d : memref<8x16xf32>) {
    lhs_matrix = #gpu_library.matrix<shape = [8, 4], strides = [4, 1], batch_stride = 0, offset = 0>,
    rhs_matrix = #gpu_library.matrix<shape = [4, 16], strides = [16, 1], batch_stride = 0, offset = 0>,
    out_matrix = #gpu_library.matrix<shape = [8, 16], strides = [16, 1], batch_stride = 0, offset = 0>,
    tf32
  }
  func.return
}

// -----

func.func @f(%a: memref<?x4xf32>, %b: memref<4x16xf32>, %d: memref<8x16xf32>) {
  // expected-error@+1 {{a buffer is of type memref<?x4xf32>, not of known sizes and identity layout}}
  gpu_library.matmul ins(%a, %b : memref<?x4xf32>, memref<4x16xf32>) outs(%d : memref<8x16xf32>) {
    lhs_matrix = #gpu_library.matrix<shape = [8, 4], strides = [4, 1], batch_stride = 0, offset = 0>,
    rhs_matrix = #gpu_library.matrix<shape = [4, 16], strides = [16, 1], batch_stride = 0, offset = 0>,
    out_matrix = #gpu_library.matrix<shape = [8, 16], strides = [16, 1], batch_stride = 0, offset = 0>
  }
  func.return
}

// -----

// expected-error@+1 {{expected two numbers as strides: of rows and of columns}}
func.func private @g() attributes {m = #gpu_library.matrix<shape = [8, 4], strides = [4], batch_stride = 0, offset = 0>}
