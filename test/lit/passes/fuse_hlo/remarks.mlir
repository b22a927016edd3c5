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
