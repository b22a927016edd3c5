// RUN: hlo-opt %s --bufferize --verify-diagnostics --split-input-file
// RUN: sed 's/bufferize needs/schedule-kernels needs/' %s > %t.mlir
// RUN: hlo-opt %t.mlir --schedule-kernels --verify-diagnostics --split-input-file

// expected-error@+1 {{has a value of type tensor<?xf32>; bufferize needs static shapes}}
func.func @main(%x: tensor<?xf32>) -> tensor<?xf32> {
  %0 = func.call @k(%x) : (tensor<?xf32>) -> tensor<?xf32>
  func.return %0 : tensor<?xf32>
}

func.func private @k(%x: tensor<?xf32>) -> tensor<?xf32> attributes {hlo.kernel = "loop"} {
  func.return %x : tensor<?xf32>
}

// -----

func.func private @k(%x: tensor<4xf32>) -> tensor<4xf32> attributes {hlo.kernel = "loop"} {
  // expected-error@+1 {{has a value of type tensor<?xf32>; bufferize needs static shapes}}
  %0 = "tensor.cast"(%x) : (tensor<4xf32>) -> tensor<?xf32>
  func.return %x : tensor<4xf32>
}
