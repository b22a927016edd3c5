// RUN: hlo-opt %s --split-input-file --verify-diagnostics

func.func @after_all_of_a_tensor(%t: !stablehlo.token, %a: tensor<4x4xf32>) {
  // expected-error@+1 {{after_all_i1: input 0 has type tensor<4x4xf32>, expected !hlo.token}}
  %0 = "stablehlo.after_all"(%a) : (tensor<4x4xf32>) -> !stablehlo.token
  return
}

// -----

func.func @after_all_gives_a_tensor(%t: !stablehlo.token, %a: tensor<4x4xf32>) {
  // expected-error@+1 {{after_all_o1: result has type tensor<i1>}}
  %0 = "stablehlo.after_all"(%t) : (!stablehlo.token) -> tensor<i1>
  return
}

// -----

func.func @create_token_gives_a_tensor(%t: !stablehlo.token, %a: tensor<4x4xf32>) {
  // expected-error@+1 {{create_token_o1: result has type tensor<i1>}}
  %0 = stablehlo.create_token : tensor<i1>
  return
}

// -----

func.func @infeed_of_no_token(%t: !stablehlo.token, %a: tensor<4x4xf32>) {
  // expected-error@+1 {{infeed_i1: token has type tensor<4x4xf32>}}
  %0 = "stablehlo.infeed"(%a) : (tensor<4x4xf32>) -> !stablehlo.token
  return
}

// -----

func.func @infeed_without_results(%t: !stablehlo.token, %a: tensor<4x4xf32>) {
  // expected-error@+1 {{infeed_c1: there are no results}}
  "stablehlo.infeed"(%t) : (!stablehlo.token) -> ()
  return
}

// -----

func.func @infeed_of_two_tokens(%t: !stablehlo.token, %a: tensor<4x4xf32>) {
  // expected-error@+1 {{infeed_c2: the results before the last have types (!hlo.token), expected tensors}}
  %0:2 = "stablehlo.infeed"(%t) : (!stablehlo.token) -> (!stablehlo.token, !stablehlo.token)
  return
}

// -----

func.func @infeed_without_a_last_token(%t: !stablehlo.token, %a: tensor<4x4xf32>) {
  // expected-error@+1 {{infeed_c3: the last result has type tensor<4xi32>}}
  %0 = "stablehlo.infeed"(%t) : (!stablehlo.token) -> tensor<4xi32>
  return
}

// -----

func.func @infeed_layouts(%t: !stablehlo.token, %a: tensor<4x4xf32>) {
  // expected-error@+1 {{infeed_layout: there are 2 layouts for 1 tensors}}
  %0:2 = "stablehlo.infeed"(%t) {layout = [[0], [0]]} : (!stablehlo.token) -> (tensor<4xi32>, !stablehlo.token)
  return
}

// -----

func.func @infeed_layout_of_no_integers(%t: !stablehlo.token, %a: tensor<4x4xf32>) {
  // expected-error@+1 {{infeed_layout: layout 0 is no array of integers}}
  %0:2 = "stablehlo.infeed"(%t) {layout = ["x"]} : (!stablehlo.token) -> (tensor<4xi32>, !stablehlo.token)
  return
}

// -----

func.func @outfeed_of_a_token(%t: !stablehlo.token, %a: tensor<4x4xf32>) {
  // expected-error@+1 {{outfeed_i1: inputs have types (!hlo.token), expected tensors}}
  %0 = "stablehlo.outfeed"(%t, %t) : (!stablehlo.token, !stablehlo.token) -> !stablehlo.token
  return
}

// -----

func.func @outfeed_without_token(%t: !stablehlo.token, %a: tensor<4x4xf32>) {
  // expected-error@+1 {{outfeed_i2: token has type tensor<4x4xf32>}}
  %0 = "stablehlo.outfeed"(%a) : (tensor<4x4xf32>) -> !stablehlo.token
  return
}

// -----

func.func @outfeed_gives_a_tensor(%t: !stablehlo.token, %a: tensor<4x4xf32>) {
  // expected-error@+1 {{outfeed_o1: result has type tensor<i1>}}
  %0 = "stablehlo.outfeed"(%t) : (!stablehlo.token) -> tensor<i1>
  return
}

// -----

func.func @send_of_a_token(%t: !stablehlo.token, %a: tensor<4x4xf32>) {
  // expected-error@+1 {{send_i1: inputs have types (!hlo.token)}}
  %0 = "stablehlo.send"(%t, %t) {channel_handle = #stablehlo.channel_handle<handle = 5, type = 1>} : (!stablehlo.token, !stablehlo.token) -> !stablehlo.token
  return
}

// -----

func.func @send_without_token(%t: !stablehlo.token, %a: tensor<4x4xf32>) {
  // expected-error@+1 {{send_i2: token has type tensor<4x4xf32>}}
  %0 = "stablehlo.send"(%a) {channel_handle = #stablehlo.channel_handle<handle = 5, type = 1>} : (tensor<4x4xf32>) -> !stablehlo.token
  return
}

// -----

func.func @send_gives_a_tensor(%t: !stablehlo.token, %a: tensor<4x4xf32>) {
  // expected-error@+1 {{send_o1: result has type tensor<i1>}}
  %0 = "stablehlo.send"(%t) {channel_handle = #stablehlo.channel_handle<handle = 5, type = 1>} : (!stablehlo.token) -> tensor<i1>
  return
}

// -----

func.func @send_to_the_host(%t: !stablehlo.token, %a: tensor<4x4xf32>) {
  // expected-error@+1 {{send_c5: the channel has type 1, expected 2 (DEVICE_TO_HOST) as is_host_transfer is true}}
  %0 = "stablehlo.send"(%t) {channel_handle = #stablehlo.channel_handle<handle = 5, type = 1>, is_host_transfer = true} : (!stablehlo.token) -> !stablehlo.token
  return
}

// -----

func.func @send_to_a_device(%t: !stablehlo.token, %a: tensor<4x4xf32>) {
  // expected-error@+1 {{send_c5: the channel has type 2, expected 1 (DEVICE_TO_DEVICE) as is_host_transfer is false}}
  %0 = "stablehlo.send"(%t) {channel_handle = #stablehlo.channel_handle<handle = 5, type = 2>} : (!stablehlo.token) -> !stablehlo.token
  return
}

// -----

func.func @send_twice_to_one(%t: !stablehlo.token, %a: tensor<4x4xf32>) {
  // expected-error@+1 {{send_c3: a process is the target of two pairs}}
  %0 = "stablehlo.send"(%t) {channel_handle = #stablehlo.channel_handle<handle = 5, type = 1>, source_target_pairs = dense<[[0, 1], [2, 1]]> : tensor<2x2xi64>} : (!stablehlo.token) -> !stablehlo.token
  return
}

// -----

func.func @send_without_channel(%t: !stablehlo.token, %a: tensor<4x4xf32>) {
  // expected-error@+1 {{channel_handle}}
  %0 = "stablehlo.send"(%t) : (!stablehlo.token) -> !stablehlo.token
  return
}

// -----

func.func @recv_without_token(%t: !stablehlo.token, %a: tensor<4x4xf32>) {
  // expected-error@+1 {{recv_i1: token has type tensor<4x4xf32>}}
  %0 = "stablehlo.recv"(%a) {channel_handle = #stablehlo.channel_handle<handle = 5, type = 1>} : (tensor<4x4xf32>) -> !stablehlo.token
  return
}

// -----

func.func @recv_from_the_host(%t: !stablehlo.token, %a: tensor<4x4xf32>) {
  // expected-error@+1 {{recv_c5: the channel has type 2, expected 3 (HOST_TO_DEVICE)}}
  %0 = "stablehlo.recv"(%t) {channel_handle = #stablehlo.channel_handle<handle = 5, type = 2>, is_host_transfer = true} : (!stablehlo.token) -> !stablehlo.token
  return
}

// -----

func.func @recv_without_results(%t: !stablehlo.token, %a: tensor<4x4xf32>) {
  // expected-error@+1 {{recv_c6: there are no results}}
  "stablehlo.recv"(%t) {channel_handle = #stablehlo.channel_handle<handle = 5, type = 1>} : (!stablehlo.token) -> ()
  return
}

// -----

func.func @recv_of_two_tokens(%t: !stablehlo.token, %a: tensor<4x4xf32>) {
  // expected-error@+1 {{recv_c7: the results before the last have types (!hlo.token)}}
  %0:2 = "stablehlo.recv"(%t) {channel_handle = #stablehlo.channel_handle<handle = 5, type = 1>} : (!stablehlo.token) -> (!stablehlo.token, !stablehlo.token)
  return
}

// -----

func.func @recv_without_a_last_token(%t: !stablehlo.token, %a: tensor<4x4xf32>) {
  // expected-error@+1 {{recv_c8: the last result has type tensor<4xf32>}}
  %0 = "stablehlo.recv"(%t) {channel_handle = #stablehlo.channel_handle<handle = 5, type = 1>} : (!stablehlo.token) -> tensor<4xf32>
  return
}

// -----

func.func @recv_of_a_negative_process(%t: !stablehlo.token, %a: tensor<4x4xf32>) {
  // expected-error@+1 {{recv_c4: source_target_pairs [[0, -2]] names a negative process}}
  %0 = "stablehlo.recv"(%t) {channel_handle = #stablehlo.channel_handle<handle = 5, type = 1>, source_target_pairs = dense<[[0, -2]]> : tensor<1x2xi64>} : (!stablehlo.token) -> !stablehlo.token
  return
}

// -----

func.func @pairs_of_channels(%t: !stablehlo.token) {
  // expected-error@+1 {{send_c1: source_target_pairs of type tensor<1x3xi64> is no list of pairs}}
  %0 = "stablehlo.send"(%t) {channel_handle = #stablehlo.channel_handle<handle = 5, type = 1>, source_target_pairs = dense<[[0, 1, 2]]> : tensor<1x3xi64>} : (!stablehlo.token) -> !stablehlo.token
  // expected-error@+1 {{send_c2: a process is the source of two pairs}}
  %1 = "stablehlo.send"(%t) {channel_handle = #stablehlo.channel_handle<handle = 5, type = 1>, source_target_pairs = dense<[[0, 1], [0, 2]]> : tensor<2x2xi64>} : (!stablehlo.token) -> !stablehlo.token
  // expected-error@+1 {{send_c4: source_target_pairs [[0, -2]] names a negative process}}
  %2 = "stablehlo.send"(%t) {channel_handle = #stablehlo.channel_handle<handle = 5, type = 1>, source_target_pairs = dense<[[0, -2]]> : tensor<1x2xi64>} : (!stablehlo.token) -> !stablehlo.token
  // expected-error@+1 {{recv_c1: source_target_pairs of type tensor<1x3xi64> is no list of pairs}}
  %3 = "stablehlo.recv"(%t) {channel_handle = #stablehlo.channel_handle<handle = 5, type = 1>, source_target_pairs = dense<[[0, 1, 2]]> : tensor<1x3xi64>} : (!stablehlo.token) -> !stablehlo.token
  // expected-error@+1 {{recv_c2: a process is the source of two pairs}}
  %4 = "stablehlo.recv"(%t) {channel_handle = #stablehlo.channel_handle<handle = 5, type = 1>, source_target_pairs = dense<[[0, 1], [0, 2]]> : tensor<2x2xi64>} : (!stablehlo.token) -> !stablehlo.token
  // expected-error@+1 {{recv_c3: a process is the target of two pairs}}
  %5 = "stablehlo.recv"(%t) {channel_handle = #stablehlo.channel_handle<handle = 5, type = 1>, source_target_pairs = dense<[[0, 1], [2, 1]]> : tensor<2x2xi64>} : (!stablehlo.token) -> !stablehlo.token
  return
}
