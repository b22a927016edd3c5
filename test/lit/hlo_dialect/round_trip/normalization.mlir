// RUN: hlo-opt %s --verify-roundtrip | filecheck %s

func.func @main(%x: tensor<2x3x4xf32>, %u: tensor<?x?x4xf32>, %s: tensor<4xf32>) {
  // CHECK: "hlo.batch_norm_inference"(%x, %s, %s, %s, %s) <{epsilon = 1.000000e-03 : f32, feature_index = 2 : i64}> : (tensor<2x3x4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) -> tensor<2x3x4xf32>
  %0 = "stablehlo.batch_norm_inference"(%x, %s, %s, %s, %s) <{epsilon = 0.001 : f32, feature_index = 2 : i64}> : (tensor<2x3x4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) -> tensor<2x3x4xf32>
  // CHECK: "hlo.batch_norm_training"(%u, %s, %s) <{epsilon = 1.000000e-03 : f32, feature_index = 2 : i64}> : (tensor<?x?x4xf32>, tensor<4xf32>, tensor<4xf32>) -> (tensor<?x?x4xf32>, tensor<4xf32>, tensor<?xf32>)
  %1:3 = "stablehlo.batch_norm_training"(%u, %s, %s) {epsilon = 0.001 : f32, feature_index = 2 : i64} : (tensor<?x?x4xf32>, tensor<4xf32>, tensor<4xf32>) -> (tensor<?x?x4xf32>, tensor<4xf32>, tensor<?xf32>)
  // CHECK: "hlo.batch_norm_grad"(%x, %s, %s, %s, %x) <{epsilon = 1.000000e-03 : f32, feature_index = 2 : i64}> : (tensor<2x3x4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<2x3x4xf32>) -> (tensor<2x3x4xf32>, tensor<4xf32>, tensor<4xf32>)
  %2:3 = "stablehlo.batch_norm_grad"(%x, %s, %s, %s, %x) <{epsilon = 0.001 : f32, feature_index = 2 : i64}> : (tensor<2x3x4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<2x3x4xf32>) -> (tensor<2x3x4xf32>, tensor<4xf32>, tensor<4xf32>)
  return
}
