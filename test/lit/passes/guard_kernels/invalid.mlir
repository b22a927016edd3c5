// RUN: hlo-opt %s --guard-kernels --verify-diagnostics

// expected-error@+1 {{returns values: guard-kernels comes after bufferize, which makes parameters of results}}
func.func @main(%x: memref<4xf32>, %n: index) -> f32 {
  %0 = memref.load %x[%n] : memref<4xf32>
  func.return %0 : f32
}
