module @jit_running_example attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<1048576xf32>, %arg1: tensor<1048576xf32>) -> (tensor<f32> {jax.result_info = "result"}) {
    %cst = stablehlo.constant dense<3.000000e+00> : tensor<f32>
    %0 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f32>) -> tensor<1048576xf32>
    %1 = stablehlo.multiply %0, %arg0 : tensor<1048576xf32>
    %2 = stablehlo.multiply %1, %arg0 : tensor<1048576xf32>
    %3 = stablehlo.add %2, %arg1 : tensor<1048576xf32>
    %cst_0 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %4 = stablehlo.reduce(%3 init: %cst_0) applies stablehlo.add across dimensions = [0] : (tensor<1048576xf32>, tensor<f32>) -> tensor<f32>
    %cst_1 = stablehlo.constant dense<0x49800000> : tensor<f32>
    %5 = stablehlo.divide %4, %cst_1 : tensor<f32>
    return %5 : tensor<f32>
  }
}
