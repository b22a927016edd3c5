// RUN: hlo-opt %s --split-input-file --verify-diagnostics

// expected-error@+1 {{the module has an attribute 'num_replicas' whose name has no dialect's prefix}}
module attributes {num_replicas = 1 : i32} {}

// -----

// expected-error@+1 {{argument 1 has an attribute 'donated' whose name has no dialect's prefix}}
func.func @f(%a: tensor<f32>, %b: tensor<f32> {donated}) { return }

// -----

// expected-error@+1 {{there are 1 bounds for 2 dimensions}}
func.func private @bounds(tensor<?x3xf32, #hlo.bounds<4>>)

// -----

// expected-error@+1 {{dimension 0 of size 3 has the bound 4, expected '?'}}
func.func private @bounded_static_dimension(tensor<3xf32, #hlo.bounds<4>>)

// -----

func.func @blanks_between_digits() {
  // expected-error@+1 {{the string holds something else than pairs of hexadecimal digits}}
  %0 = hlo.constant dense<"0x01 02"> : tensor<2xi8>
  return
}

// -----

func.func @constant_of_other_storage() {
  // expected-error@+1 {{constant_c1: result has type tensor<1x!quant.uniform<i8:f32, 0.5>>, the value tensor<1xi16>}}
  %0 = hlo.constant() <{value = dense<1> : tensor<1xi16>}> : () -> tensor<1x!quant.uniform<i8:f32, 0.5>>
  return
}

// -----

func.func @casts(%a: tensor<2xindex>, %b: tensor<2xf32>) {
  // expected-error@+1 {{casts between index and integers of one shape, not tensor<2xindex> to tensor<3xi32>}}
  %0 = arith.index_cast %a : tensor<2xindex> to tensor<3xi32>
  // expected-error@+1 {{casts between index and integers of one shape, not tensor<2xf32> to tensor<2xindex>}}
  %1 = arith.index_cast %b : tensor<2xf32> to tensor<2xindex>
  return
}

// -----

func.func @top_k(%a: tensor<*xf32>) {
  // expected-error@+1 {{top_k_c4: result 1 has type tensor<?xi64>, expected tensor<8xi32>}}
  %0:2 = chlo.top_k(%a, k = 8) : tensor<*xf32> -> (tensor<*xf32>, tensor<*xi64>)
  return
}

// -----

func.func @unknown_sizes(%x: tensor<?xf32>, %s: tensor<2xui64>) {
  // expected-error@+1 {{iota_o1: result has type tensor<?xf32>, expected known sizes, or one unknown with a bound}}
  %0 = hlo.iota dim = 0 : tensor<?xf32>
  // expected-error@+1 {{iota_o1: result has type tensor<?xf32, #hlo.bounds<?>>}}
  %5 = hlo.iota dim = 0 : tensor<?xf32, #hlo.bounds<?>>
  // expected-error@+1 {{reshape_o1: result has type tensor<?x2xf32>}}
  %1 = hlo.reshape %x : (tensor<?xf32>) -> tensor<?x2xf32>
  // expected-error@+1 {{broadcast_in_dim_o1: result has type tensor<?x?xf32, #hlo.bounds<3, 4>>}}
  %2 = hlo.broadcast_in_dim %x, dims = [0] : (tensor<?xf32>) -> tensor<?x?xf32, #hlo.bounds<3, 4>>
  // expected-error@+1 {{rng_bit_generator_o2: result has type tensor<?xui32>}}
  %3:2 = hlo.rng_bit_generator %s, algorithm = DEFAULT : (tensor<2xui64>) -> (tensor<2xui64>, tensor<?xui32>)
  %4 = hlo.reshape %x : (tensor<?xf32>) -> tensor<?x2xf32, #hlo.bounds<3, ?>>
  return
}

// -----

func.func @elements(%s: tensor<2xsi32>, %f: tensor<2xf80>) {
  // expected-error@+1 {{add_i1: StableHLO has no tensors of si32}}
  %0 = hlo.add %s, %s : tensor<2xsi32>
  // expected-error@+1 {{transpose_i1: StableHLO has no tensors of f80}}
  %1 = hlo.transpose %f, dims = [0] : (tensor<2xf80>) -> tensor<2xf80>
  return
}

// -----

func.func @groups(%x: tensor<4xf32>, %n: tensor<0xf32>) {
  // expected-error@+1 {{all_gather_c5: use_global_device_ids needs replica_groups that name processes}}
  %0 = "hlo.all_gather"(%x) {all_gather_dim = 0 : i64, replica_groups = dense<> : tensor<0x2xi64>, channel_handle = #hlo.channel_handle<handle = 1, type = 0>, use_global_device_ids} : (tensor<4xf32>) -> tensor<8xf32>
  // expected-error@+1 {{all_gather_c6: the result has size 0 along all_gather_dim}}
  %1 = "hlo.all_gather"(%n) {all_gather_dim = 0 : i64, replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>} : (tensor<0xf32>) -> tensor<0xf32>
  // expected-error@+1 {{reduce_scatter_c8: the operand's size 0 is no multiple of the result's 0}}
  %2 = "hlo.reduce_scatter"(%n) ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    hlo.return %a : tensor<f32>
  }) {scatter_dimension = 0 : i64, replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>} : (tensor<0xf32>) -> tensor<0xf32>
  return
}

// -----

func.func @any_rank(%a: tensor<*xf32>, %b: tensor<2x3xf32>, %c: tensor<*xi32>) {
  // expected-error@+1 {{operand #0 has no rank, which only chlo and custom calls take}}
  %0 = hlo.abs %a : tensor<*xf32>
  // expected-error@+1 {{result #0 has no rank, which only chlo and custom calls take}}
  %1 = hlo.reshape %b : (tensor<2x3xf32>) -> tensor<*xf32>
  // expected-error@+1 {{tan_c1: some operands and results have a rank, and some do not}}
  %2 = chlo.tan %b : tensor<2x3xf32> -> tensor<*xf32>
  // expected-error@+1 {{erf_i1: operand has element type i32, expected float}}
  %3 = chlo.erf %c : tensor<*xi32> -> tensor<*xi32>
  // expected-error@+1 {{broadcast_add_c1}}
  %4 = chlo.broadcast_add %a, %c : (tensor<*xf32>, tensor<*xi32>) -> tensor<*xf32>
  // expected-error@+1 {{broadcast_add_c5: result has type tensor<?xi32>}}
  %5 = chlo.broadcast_add %b, %b : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<*xi32>
  return
}

// -----

func.func @sizes(%x: tensor<4x4xf32>, %n: tensor<?xi32>, %i: tensor<2xindex>, %p: tensor<2x2xindex>, %token: !hlo.token) {
  // expected-error@+1 {{dynamic_reshape_i2: tensor<?xi32> has an unknown size, expected a static shape}}
  %0 = hlo.dynamic_reshape %x, %n : (tensor<4x4xf32>, tensor<?xi32>) -> tensor<?x?xf32>
  // expected-error@+1 {{dynamic_iota_i1: tensor<?xi32> has an unknown size, expected a static shape}}
  %1 = hlo.dynamic_iota %n, dim = 0 : (tensor<?xi32>) -> tensor<?x?xf32>
  %2 = hlo.dynamic_reshape %x, %i : (tensor<4x4xf32>, tensor<2xindex>) -> tensor<?x?xf32>
  // expected-error@+1 {{transpose_i1: StableHLO has no tensors of index}}
  %3 = hlo.transpose %p, dims = [1, 0] : (tensor<2x2xindex>) -> tensor<2x2xindex>
  // expected-error@+1 {{constant_o1: StableHLO has no tensors of index}}
  %4 = hlo.constant dense<1> : tensor<2xindex>
  // expected-error@+1 {{infeed_o1: result has type tensor<?xf32>, expected known sizes, or one unknown with a bound}}
  %5:2 = "hlo.infeed"(%token) {infeed_config = ""} : (!hlo.token) -> (tensor<?xf32>, !hlo.token)
  return
}

// -----

func.func @bounds(%three: tensor<3xf32>, %two: tensor<?xf32, #hlo.bounds<2>>, %x: tensor<3x?xi32, #hlo.bounds<?, 4>>, %zero: tensor<i32>) {
  // expected-error@+1 {{add_c1: lhs and rhs have different shapes}}
  %0 = hlo.add %three, %two : (tensor<3xf32>, tensor<?xf32, #hlo.bounds<2>>) -> tensor<?xf32>
  // expected-error@+1 {{abs_c1: result has type tensor<?xf32, #hlo.bounds<2>>, expected tensor<3xf32>}}
  %1 = hlo.abs %three : (tensor<3xf32>) -> tensor<?xf32, #hlo.bounds<2>>
  // expected-error@+1 {{slice_c3: range [0:5] of dimension 1 does not lie in [0:4]}}
  %2 = hlo.slice %x [1:2, 0:5] : (tensor<3x?xi32, #hlo.bounds<?, 4>>) -> tensor<1x5xi32>
  // expected-error@+1 {{pad_c4: result dimension 1 would have -6 elements}}
  %3 = hlo.pad %x, %zero, low = [0, -10], high = [0, 0], interior = [0, 0] : (tensor<3x?xi32, #hlo.bounds<?, 4>>, tensor<i32>) -> tensor<3x?xi32>
  return
}

// -----

// expected-error@+1 {{constants of element type !quant.uniform<i4:f32, 0.5> are not supported}}
func.func private @constant() attributes {value = dense<0> : tensor<2x!quant.uniform<i4:f32, 0.5>>}
