// RUN: hlo-opt %s --split-input-file --verify-diagnostics

func.func @broadcasts(%x: tensor<4xf32>) {
  // expected-error@+1 {{broadcast_i2: broadcast_sizes (-1,) are not all at least 0}}
  %0 = hlo.broadcast %x, sizes = [-1] : (tensor<4xf32>) -> tensor<1x4xf32>
  // expected-error@+1 {{broadcast_c1: result has type tensor<3x4xf32>, expected tensor<2x4xf32>}}
  %1 = hlo.broadcast %x, sizes = [2] : (tensor<4xf32>) -> tensor<3x4xf32>
  // expected-error@+1 {{broadcast_c1: result has type tensor<2x4xf64>, expected tensor<2x4xf32>}}
  %2 = hlo.broadcast %x, sizes = [2] : (tensor<4xf32>) -> tensor<2x4xf64>
  return
}
