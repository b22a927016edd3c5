// RUN: hlo-opt %s --fuse-hlo --fuse-remarks --verify-diagnostics

func.func @main(%x: tensor<64xf32>, %w: tensor<64x512xf32>) -> (tensor<512xf32>, tensor<512x64xf32>) {
  // expected-remark@+1 {{fused hlo.negate into the loop fusion of hlo.exponential: saves 512 bytes}}
  %0 = hlo.negate %x : tensor<64xf32>
  // expected-remark@+2 {{not fused hlo.exponential with hlo.dot_general: would be recomputed 512x}}
  // expected-remark@+1 {{not fused hlo.exponential with hlo.broadcast_in_dim: would be recomputed 512x}}
  %1 = hlo.exponential %0 : tensor<64xf32>
  // expected-remark@+1 {{fused hlo.dot_general with hlo.tanh, its epilogue: saves 4096 bytes}}
  %2 = hlo.dot_general %1, %w, contracting_dims = [0] x [0] : (tensor<64xf32>, tensor<64x512xf32>) -> tensor<512xf32>
  %3 = hlo.tanh %2 : tensor<512xf32>
  // expected-remark@+1 {{fused hlo.broadcast_in_dim into the loop fusion of hlo.sine: saves 262.1 KB}}
  %4 = hlo.broadcast_in_dim %1, dims = [1] : (tensor<64xf32>) -> tensor<512x64xf32>
  %5 = hlo.sine %4 : tensor<512x64xf32>
  return %3, %5 : tensor<512xf32>, tensor<512x64xf32>
}

// A product that reads each element once computes nothing again.

func.func @once(%x: tensor<64xf32>, %w: tensor<64xf32>, %y: tensor<1x8x8x4xf32>, %k: tensor<3x3x4x4xf32>) -> (tensor<f32>, tensor<1x6x6x4xf32>) {
  // expected-remark@+1 {{not fused hlo.exponential with hlo.dot_general: hlo.dot_general is a kernel of its own, its operands are in memory}}
  %0 = hlo.exponential %x : tensor<64xf32>
  %1 = hlo.dot_general %0, %w, contracting_dims = [0] x [0] : (tensor<64xf32>, tensor<64xf32>) -> tensor<f32>
  // expected-remark@+1 {{not fused hlo.exponential with hlo.convolution: hlo.convolution is a kernel of its own, its operands are in memory}}
  %2 = hlo.exponential %y : tensor<1x8x8x4xf32>
  %3 = hlo.convolution(%2, %k) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], window = {} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<1x8x8x4xf32>, tensor<3x3x4x4xf32>) -> tensor<1x6x6x4xf32>
  return %1, %3 : tensor<f32>, tensor<1x6x6x4xf32>
}
