// RUN: hlo-opt %s --fuse-hlo --verify-diagnostics

func.func @main(%x: tensor<f32>) -> tensor<f32> {
  // expected-error@+1 {{'hlo.tuple' op is not supported by fuse-hlo}}
  %0 = hlo.tuple %x, %x : tuple<tensor<f32>, tensor<f32>>
  %1 = hlo.get_tuple_element %0[0] : (tuple<tensor<f32>, tensor<f32>>) -> tensor<f32>
  return %1 : tensor<f32>
}
