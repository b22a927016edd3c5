// RUN: hlo-opt %s --bufferize --verify-diagnostics --split-input-file

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

// -----

func.func private @apart(%x: tensor<4x8xf32>, %i: index) -> tensor<2x4xf32> attributes {hlo.kernel = "loop"} {
  // expected-error@+1 {{is not supported: bufferize takes slices of neighbouring elements, at places that are computed}}
  %0 = tensor.extract_slice %x[%i, %i] [2, 4] [1, 1] : tensor<4x8xf32> to tensor<2x4xf32>
  func.return %0 : tensor<2x4xf32>
}

// -----

func.func private @without_a_dimension(%x: tensor<4x8xf32>, %y: tensor<8xf32>) -> tensor<4x8xf32> attributes {hlo.kernel = "loop"} {
  // expected-error@+1 {{is not supported: bufferize takes slices of known sizes and strides, and of all dimensions}}
  %0 = tensor.insert_slice %y into %x[1, 0] [1, 8] [1, 1] : tensor<8xf32> into tensor<4x8xf32>
  func.return %0 : tensor<4x8xf32>
}
