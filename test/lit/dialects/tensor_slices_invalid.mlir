// RUN: hlo-opt %s --split-input-file --verify-diagnostics

func.func @rank(%x: tensor<i32>, %part: tensor<1x8xi32>, %at: index) {
  // expected-error@+1 {{needs an offset, a size and a stride for each dimension of tensor<i32>}}
  %0 = tensor.insert_slice %part into %x[%at, 0] [1, 8] [1, 1] : tensor<1x8xi32> into tensor<i32>
  func.return
}

// -----

func.func @shape(%x: tensor<8xi32>, %at: index) {
  // expected-error@+1 {{tensor<4x4xi32> is no part of tensor<8xi32> of the sizes [4]}}
  %0 = tensor.extract_slice %x[%at] [4] [1] : tensor<8xi32> to tensor<4x4xi32>
  func.return
}

// -----

func.func @elements(%x: tensor<8xi32>, %part: tensor<4xf32>) {
  // expected-error@+1 {{tensor<4xf32> is no part of tensor<8xi32> of the sizes [4]}}
  %0 = tensor.insert_slice %part into %x[0] [4] [1] : tensor<4xf32> into tensor<8xi32>
  func.return
}

// -----

func.func @outside(%x: tensor<2x8xi32>) {
  %first = tensor.extract_slice %x[1, 1] [1, 4] [1, 2] : tensor<2x8xi32> to tensor<4xi32>
  // expected-error@+1 {{4 elements from 2 on, 2 apart, are not in dimension 1 of tensor<2x8xi32>}}
  %0 = tensor.extract_slice %x[1, 2] [1, 4] [1, 2] : tensor<2x8xi32> to tensor<4xi32>
  func.return
}
