// RUN: hlo-opt %s --verify-roundtrip | filecheck %s
// RUN: hlo-opt %s --stablehlo | filecheck %s --check-prefix=STABLEHLO

// CHECK-LABEL: func.func @tokens
// CHECK-SAME:    !hlo.token
// STABLEHLO:   !stablehlo.token
func.func @tokens(%t: !stablehlo.token, %a: tensor<4x4xf32>) {
  // CHECK:     hlo.after_all %{{.*}}, %{{.*}} : !hlo.token
  // STABLEHLO: stablehlo.after_all %{{.*}}, %{{.*}} : !stablehlo.token
  %0 = "stablehlo.after_all"(%t, %t) : (!stablehlo.token, !stablehlo.token) -> !stablehlo.token
  // CHECK:     hlo.after_all {x = 1 : i64} : !hlo.token
  // STABLEHLO: stablehlo.after_all {x = 1 : i64} : !stablehlo.token
  %1 = stablehlo.after_all {x = 1 : i64} : !stablehlo.token
  // CHECK:     hlo.create_token : !hlo.token
  // STABLEHLO: stablehlo.create_token : !stablehlo.token
  %2 = "stablehlo.create_token"() : () -> !stablehlo.token
  // CHECK:     hlo.create_token {x = 1 : i64} : !hlo.token
  %3 = stablehlo.create_token {x = 1 : i64} : !stablehlo.token
  // CHECK:     "hlo.infeed"(%{{.*}}) <{infeed_config = "foo", layout = {{\[\[0 : i64, 1 : i64\], \[0 : i64\]\]}}}> : (!hlo.token) -> (tensor<3x3xi32>, tensor<i1>, !hlo.token)
  // STABLEHLO: "stablehlo.infeed"(%{{.*}}) <{{.*}}> : (!stablehlo.token) -> (tensor<3x3xi32>, tensor<i1>, !stablehlo.token)
  %4:3 = "stablehlo.infeed"(%t) {infeed_config = "foo", layout = [[0, 1], [0]]} : (!stablehlo.token) -> (tensor<3x3xi32>, tensor<i1>, !stablehlo.token)
  // CHECK:     "hlo.infeed"(%{{.*}}) : (!hlo.token) -> !hlo.token
  %5 = "stablehlo.infeed"(%t) : (!stablehlo.token) -> !stablehlo.token
  // CHECK:     "hlo.outfeed"(%{{.*}}, %{{.*}}) <{outfeed_config = "foo"}> : (tensor<4x4xf32>, !hlo.token) -> !hlo.token
  %6 = "stablehlo.outfeed"(%a, %t) {outfeed_config = "foo"} : (tensor<4x4xf32>, !stablehlo.token) -> !stablehlo.token
  // CHECK:     "hlo.outfeed"(%{{.*}}) : (!hlo.token) -> !hlo.token
  %7 = "stablehlo.outfeed"(%t) : (!stablehlo.token) -> !stablehlo.token
  // CHECK:     "hlo.send"(%{{.*}}, %{{.*}}) <{channel_handle = #hlo.channel_handle<handle = 5, type = 2>, is_host_transfer = true}> : (tensor<4x4xf32>, !hlo.token) -> !hlo.token
  // STABLEHLO: "stablehlo.send"({{.*}}) <{channel_handle = #stablehlo.channel_handle<handle = 5, type = 2>, is_host_transfer = true}>
  %8 = "stablehlo.send"(%a, %t) {channel_handle = #stablehlo.channel_handle<handle = 5, type = 2>, is_host_transfer = true} : (tensor<4x4xf32>, !stablehlo.token) -> !stablehlo.token
  // CHECK:     "hlo.send"({{.*}}) <{channel_handle = #hlo.channel_handle<handle = 5, type = 1>, source_target_pairs = dense<{{\[\[0, 1\], \[1, 2\]\]}}> : tensor<2x2xi64>}>
  %9 = "stablehlo.send"(%a, %t) {channel_handle = #stablehlo.channel_handle<handle = 5, type = 1>, source_target_pairs = dense<[[0, 1], [1, 2]]> : tensor<2x2xi64>} : (tensor<4x4xf32>, !stablehlo.token) -> !stablehlo.token
  // CHECK:     "hlo.recv"(%{{.*}}) <{channel_handle = #hlo.channel_handle<handle = 5, type = 3>, is_host_transfer = true}> : (!hlo.token) -> (tensor<4x4xf32>, !hlo.token)
  %10:2 = "stablehlo.recv"(%t) {channel_handle = #stablehlo.channel_handle<handle = 5, type = 3>, is_host_transfer = true} : (!stablehlo.token) -> (tensor<4x4xf32>, !stablehlo.token)
  // CHECK:     "hlo.recv"(%{{.*}}) <{channel_handle = #hlo.channel_handle<handle = 5, type = 1>}> : (!hlo.token) -> !hlo.token
  %11 = "stablehlo.recv"(%t) {channel_handle = #stablehlo.channel_handle<handle = 5, type = 1>} : (!stablehlo.token) -> !stablehlo.token
  return
}
