// RUN: hlo-opt %s --pass-pipeline='simplify-hlo{math=fast}' | filecheck %s
// RUN: hlo-opt %s --pass-pipeline='simplify-hlo{also=divide-by-constant,merge-sums}' | filecheck %s --check-prefix=SOME
// RUN: hlo-opt %s --simplify-hlo | filecheck %s --check-prefix=EXACT

// Rules that may change results of floats: with math=fast all apply, with also=.. those that are named, else none.

// CHECK-LABEL: func.func @multiply_by_zero(
// CHECK: hlo.constant dense<0.0
// CHECK-NOT: hlo.multiply
// EXACT-LABEL: func.func @multiply_by_zero(
// EXACT: hlo.multiply
func.func @multiply_by_zero(%x: tensor<8xf32>, %y: tensor<8xf32>, %w: tensor<8xf32>) -> tensor<8xf32> {
  %z = hlo.constant dense<0.0> : tensor<8xf32>
  %0 = hlo.multiply %x, %z : tensor<8xf32>
  return %0 : tensor<8xf32>
}

// CHECK-LABEL: func.func @subtract_itself(
// CHECK: hlo.constant dense<0.0
// CHECK-NOT: hlo.subtract
// EXACT-LABEL: func.func @subtract_itself(
// EXACT: hlo.subtract
func.func @subtract_itself(%x: tensor<8xf32>, %y: tensor<8xf32>, %w: tensor<8xf32>) -> tensor<8xf32> {
  %0 = hlo.subtract %x, %x : tensor<8xf32>
  return %0 : tensor<8xf32>
}

// CHECK-LABEL: func.func @divide_by_itself(
// CHECK: hlo.constant dense<1.0
// CHECK-NOT: hlo.divide
// EXACT-LABEL: func.func @divide_by_itself(
// EXACT: hlo.divide
func.func @divide_by_itself(%x: tensor<8xf32>, %y: tensor<8xf32>, %w: tensor<8xf32>) -> tensor<8xf32> {
  %0 = hlo.divide %x, %x : tensor<8xf32>
  return %0 : tensor<8xf32>
}

// CHECK-LABEL: func.func @add_zero(
// CHECK: return %x
// CHECK-NOT: hlo.add
// EXACT-LABEL: func.func @add_zero(
// EXACT: hlo.add
func.func @add_zero(%x: tensor<8xf32>, %y: tensor<8xf32>, %w: tensor<8xf32>) -> tensor<8xf32> {
  %z = hlo.constant dense<0.0> : tensor<8xf32>
  %1 = hlo.add %z, %x : tensor<8xf32>
  %0 = hlo.subtract %1, %z : tensor<8xf32>
  return %0 : tensor<8xf32>
}

// CHECK-LABEL: func.func @divide_by_constant(
// CHECK: hlo.multiply %x
// CHECK-NOT: hlo.divide
// EXACT-LABEL: func.func @divide_by_constant(
// EXACT: hlo.divide
// SOME-LABEL: func.func @divide_by_constant(
// SOME-NEXT: hlo.constant dense<3.3
// SOME-NEXT: hlo.multiply
func.func @divide_by_constant(%x: tensor<8xf32>, %y: tensor<8xf32>, %w: tensor<8xf32>) -> tensor<8xf32> {
  %c = hlo.constant dense<3.0> : tensor<8xf32>
  %0 = hlo.divide %x, %c : tensor<8xf32>
  return %0 : tensor<8xf32>
}

// CHECK-LABEL: func.func @reassociate_constants(
// CHECK: dense<7.0
// CHECK: hlo.add %x
// CHECK: dense<1.2
// CHECK: hlo.multiply
// CHECK-NOT: hlo.add
// EXACT-LABEL: func.func @reassociate_constants(
// EXACT: hlo.multiply
func.func @reassociate_constants(%x: tensor<8xf32>, %y: tensor<8xf32>, %w: tensor<8xf32>) -> tensor<8xf32> {
  %a = hlo.constant dense<3.0> : tensor<8xf32>
  %b = hlo.constant dense<4.0> : tensor<8xf32>
  %1 = hlo.add %x, %a : tensor<8xf32>
  %2 = hlo.add %b, %1 : tensor<8xf32>
  %3 = hlo.multiply %2, %a : tensor<8xf32>
  %0 = hlo.multiply %3, %b : tensor<8xf32>
  return %0 : tensor<8xf32>
}

// CHECK-LABEL: func.func @factor_products(
// CHECK: %[[D:.*]] = hlo.subtract %y, %w
// CHECK: hlo.multiply %x, %[[D]]
// CHECK-NOT: hlo.multiply
// EXACT-LABEL: func.func @factor_products(
// EXACT: hlo.subtract
func.func @factor_products(%x: tensor<8xf32>, %y: tensor<8xf32>, %w: tensor<8xf32>) -> tensor<8xf32> {
  %1 = hlo.multiply %x, %y : tensor<8xf32>
  %2 = hlo.multiply %w, %x : tensor<8xf32>
  %0 = hlo.subtract %1, %2 : tensor<8xf32>
  return %0 : tensor<8xf32>
}

// CHECK-LABEL: func.func @power_by_constant(
// CHECK: hlo.multiply %x, %x
// CHECK: hlo.multiply
// CHECK: hlo.rsqrt %y
// CHECK-NOT: hlo.power
// EXACT-LABEL: func.func @power_by_constant(
// EXACT: hlo.add
func.func @power_by_constant(%x: tensor<8xf32>, %y: tensor<8xf32>, %w: tensor<8xf32>) -> tensor<8xf32> {
  %c = hlo.constant dense<3.0> : tensor<8xf32>
  %h = hlo.constant dense<-0.5> : tensor<8xf32>
  %1 = hlo.power %x, %c : tensor<8xf32>
  %2 = hlo.power %y, %h : tensor<8xf32>
  %0 = hlo.add %1, %2 : tensor<8xf32>
  return %0 : tensor<8xf32>
}

// CHECK-LABEL: func.func @divide_by_root(
// CHECK: %[[R:.*]] = hlo.rsqrt %y
// CHECK: hlo.multiply %x, %[[R]]
// CHECK-NOT: hlo.divide
// EXACT-LABEL: func.func @divide_by_root(
// EXACT: hlo.divide
// SOME-LABEL: func.func @divide_by_root(
// SOME: hlo.divide
func.func @divide_by_root(%x: tensor<8xf32>, %y: tensor<8xf32>, %w: tensor<8xf32>) -> tensor<8xf32> {
  %1 = hlo.sqrt %y : tensor<8xf32>
  %0 = hlo.divide %x, %1 : tensor<8xf32>
  return %0 : tensor<8xf32>
}

// CHECK-LABEL: func.func @square_of_root(
// CHECK: return %y
// EXACT-LABEL: func.func @square_of_root(
// EXACT: hlo.multiply
func.func @square_of_root(%x: tensor<8xf32>, %y: tensor<8xf32>, %w: tensor<8xf32>) -> tensor<8xf32> {
  %1 = hlo.sqrt %y : tensor<8xf32>
  %0 = hlo.multiply %1, %1 : tensor<8xf32>
  return %0 : tensor<8xf32>
}

// CHECK-LABEL: func.func @log_of_exponential(
// CHECK: return %y
// EXACT-LABEL: func.func @log_of_exponential(
// EXACT: hlo.log
func.func @log_of_exponential(%x: tensor<8xf32>, %y: tensor<8xf32>, %w: tensor<8xf32>) -> tensor<8xf32> {
  %1 = hlo.exponential %y : tensor<8xf32>
  %0 = hlo.log %1 : tensor<8xf32>
  return %0 : tensor<8xf32>
}

// CHECK-LABEL: func.func @combine_exponentials(
// CHECK: %[[D:.*]] = hlo.subtract %x, %y
// CHECK: hlo.exponential %[[D]]
// CHECK-NOT: hlo.exponential
// EXACT-LABEL: func.func @combine_exponentials(
// EXACT: hlo.divide
func.func @combine_exponentials(%x: tensor<8xf32>, %y: tensor<8xf32>, %w: tensor<8xf32>) -> tensor<8xf32> {
  %1 = hlo.exponential %x : tensor<8xf32>
  %2 = hlo.exponential %y : tensor<8xf32>
  %0 = hlo.divide %1, %2 : tensor<8xf32>
  return %0 : tensor<8xf32>
}

// CHECK-LABEL: func.func @merge_sums(
// CHECK: hlo.reduce(%x init: %{{.*}}) applies hlo.add across dimensions = [0, 2] : (tensor<4x5x6xf32>, tensor<f32>) -> tensor<5xf32>
// CHECK-NOT: hlo.reduce
// SOME-LABEL: func.func @merge_sums(
// SOME: across dimensions = [0, 2]
// EXACT-LABEL: func.func @merge_sums(
// EXACT-COUNT-2: hlo.reduce
func.func @merge_sums(%x: tensor<4x5x6xf32>) -> tensor<5xf32> {
  %zero = hlo.constant dense<0.0> : tensor<f32>
  %0 = hlo.reduce(%x init: %zero) applies hlo.add across dimensions = [0] : (tensor<4x5x6xf32>, tensor<f32>) -> tensor<5x6xf32>
  %1 = hlo.reduce(%0 init: %zero) applies hlo.add across dimensions = [1] : (tensor<5x6xf32>, tensor<f32>) -> tensor<5xf32>
  return %1 : tensor<5xf32>
}

// CHECK-LABEL: func.func @factor_out_of_sum(
// CHECK: %[[S:.*]] = hlo.reduce(%x init
// CHECK: hlo.multiply %[[S]], %{{.*}} : tensor<5xf32>
// EXACT-LABEL: func.func @factor_out_of_sum(
// EXACT: hlo.multiply {{.*}} : tensor<4x5xf32>
func.func @factor_out_of_sum(%x: tensor<4x5xf32>) -> tensor<5xf32> {
  %zero = hlo.constant dense<0.0> : tensor<f32>
  %c = hlo.constant dense<3.0> : tensor<4x5xf32>
  %0 = hlo.multiply %c, %x : tensor<4x5xf32>
  %1 = hlo.reduce(%0 init: %zero) applies hlo.add across dimensions = [0] : (tensor<4x5xf32>, tensor<f32>) -> tensor<5xf32>
  return %1 : tensor<5xf32>
}

// A matrix product with a vector behind it: two products of a matrix and a vector.

// CHECK-LABEL: func.func @reassociate_products(
// CHECK: %[[V:.*]] = hlo.dot_general %b, %v
// CHECK: hlo.dot_general %a, %[[V]]
// EXACT-LABEL: func.func @reassociate_products(
// EXACT: hlo.dot_general %a, %b
func.func @reassociate_products(%a: tensor<64x64xf32>, %b: tensor<64x64xf32>, %v: tensor<64xf32>) -> tensor<64xf32> {
  %0 = hlo.dot_general %a, %b, contracting_dims = [1] x [0] : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
  %1 = hlo.dot_general %0, %v, contracting_dims = [1] x [0] : (tensor<64x64xf32>, tensor<64xf32>) -> tensor<64xf32>
  return %1 : tensor<64xf32>
}

// Not where flops would rise.

// CHECK-LABEL: func.func @dear_products(
// CHECK: hlo.dot_general %a, %b
func.func @dear_products(%a: tensor<2x64xf32>, %b: tensor<64x64xf32>, %c: tensor<64x64xf32>) -> tensor<2x64xf32> {
  %0 = hlo.dot_general %a, %b, contracting_dims = [1] x [0] : (tensor<2x64xf32>, tensor<64x64xf32>) -> tensor<2x64xf32>
  %1 = hlo.dot_general %0, %c, contracting_dims = [1] x [0] : (tensor<2x64xf32>, tensor<64x64xf32>) -> tensor<2x64xf32>
  return %1 : tensor<2x64xf32>
}

// CHECK-LABEL: func.func @scale_weights(
// CHECK: %[[W:.*]] = hlo.multiply %w, %{{.*}} : tensor<8x8xf32>
// CHECK: hlo.dot_general %x, %[[W]]
// EXACT-LABEL: func.func @scale_weights(
// EXACT: hlo.dot_general %x, %w
func.func @scale_weights(%x: tensor<256x8xf32>, %w: tensor<8x8xf32>, %s: tensor<8xf32>) -> tensor<256x8xf32> {
  %0 = hlo.dot_general %x, %w, contracting_dims = [1] x [0] : (tensor<256x8xf32>, tensor<8x8xf32>) -> tensor<256x8xf32>
  %1 = hlo.broadcast_in_dim %s, dims = [1] : (tensor<8xf32>) -> tensor<256x8xf32>
  %2 = hlo.multiply %0, %1 : tensor<256x8xf32>
  return %2 : tensor<256x8xf32>
}
