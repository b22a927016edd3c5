// RUN: hlo-opt %s --fuse-hlo --split-input-file | filecheck %s

// Elementwise operations and index maps are one kernel; splat constants are cloned into it.

// CHECK-LABEL: func.func @chain
// CHECK: %[[R:.*]] = hlo.fusion loop (%[[X:.*]] = %{{.*}} : tensor<4x8xf32>, %[[V:.*]] = %{{.*}} : tensor<4xf32>) -> tensor<8x4xf32> {
// CHECK-NEXT: %[[T:.*]] = hlo.transpose %[[X]]
// CHECK-NEXT: %[[B:.*]] = hlo.broadcast_in_dim %[[V]]
// CHECK-NEXT: %[[M:.*]] = hlo.multiply %[[T]], %[[B]]
// CHECK-NEXT: %[[TWO:.*]] = hlo.constant dense<2.0
// CHECK-NEXT: hlo.add %[[M]], %[[TWO]]
// CHECK: func.return %[[R]]
func.func @chain(%x: tensor<4x8xf32>, %v: tensor<4xf32>) -> tensor<8x4xf32> {
  %two = hlo.constant dense<2.0> : tensor<8x4xf32>
  %0 = hlo.transpose %x, dims = [1, 0] : (tensor<4x8xf32>) -> tensor<8x4xf32>
  %1 = hlo.broadcast_in_dim %v, dims = [1] : (tensor<4xf32>) -> tensor<8x4xf32>
  %2 = hlo.multiply %0, %1 : tensor<8x4xf32>
  %3 = hlo.add %2, %two : tensor<8x4xf32>
  return %3 : tensor<8x4xf32>
}

// -----

// A value with several users becomes one more result, when they can all be in one kernel.

// CHECK-LABEL: func.func @several_results
// CHECK: %[[R:.*]]:2 = hlo.fusion loop
// CHECK: hlo.exponential
// CHECK-NEXT: hlo.negate
// CHECK-NEXT: hlo.tanh
// CHECK: func.return %[[R]]#0, %[[R]]#1
func.func @several_results(%x: tensor<16xf32>) -> (tensor<16xf32>, tensor<16xf32>) {
  %0 = hlo.exponential %x : tensor<16xf32>
  %1 = hlo.negate %0 : tensor<16xf32>
  %2 = hlo.tanh %0 : tensor<16xf32>
  return %1, %2 : tensor<16xf32>, tensor<16xf32>
}

// -----

// A reshape at the border of a kernel stays outside, where it is free; a barrier separates kernels and is removed.

// CHECK-LABEL: func.func @borders
// CHECK-NEXT: %[[S:.*]] = hlo.reshape %{{.*}}
// CHECK-NEXT: %[[A:.*]] = hlo.fusion loop (%{{.*}} = %[[S]] :
// CHECK-NOT: hlo.optimization_barrier
// CHECK: hlo.fusion loop (%{{.*}} = %[[A]] :
func.func @borders(%x: tensor<16xf32>) -> tensor<4x4xf32> {
  %0 = hlo.reshape %x : (tensor<16xf32>) -> tensor<4x4xf32>
  %1 = hlo.exponential %0 : tensor<4x4xf32>
  %2 = hlo.optimization_barrier %1 : tensor<4x4xf32>
  %3 = hlo.negate %2 : tensor<4x4xf32>
  return %3 : tensor<4x4xf32>
}

// -----

// Operands of contractions and in-place updates are in memory: a splat is filled by a kernel of its own.

// CHECK-LABEL: func.func @from_memory
// CHECK: %[[Z:.*]] = hlo.fusion loop () -> tensor<8xf32>
// CHECK: hlo.fusion update (%[[A:.*]] = %[[Z]] : tensor<8xf32>, %[[U:.*]] = %{{.*}} : tensor<2xf32>) -> tensor<8xf32>
// CHECK-NEXT: %[[I:.*]] = hlo.constant dense<3> : tensor<i32>
// CHECK-NEXT: hlo.dynamic_update_slice %[[A]], %[[U]], %[[I]]
func.func @from_memory(%u: tensor<2xf32>) -> tensor<8xf32> {
  %zeros = hlo.constant dense<0.0> : tensor<8xf32>
  %three = hlo.constant dense<3> : tensor<i32>
  %0 = hlo.dynamic_update_slice %zeros, %u, %three : (tensor<8xf32>, tensor<2xf32>, tensor<i32>) -> tensor<8xf32>
  return %0 : tensor<8xf32>
}

// -----

// The bodies of control flow are partitioned like the function's.

// CHECK-LABEL: func.func @in_a_loop
// CHECK: hlo.while
// CHECK-NEXT: cond {
// CHECK-NEXT: %[[P:.*]] = hlo.fusion loop
// CHECK: hlo.return %[[P]]
// CHECK: do {
// CHECK-NEXT: %[[N:.*]]:2 = hlo.fusion loop
// CHECK: hlo.return %[[N]]#0, %[[N]]#1
func.func @in_a_loop(%x: tensor<f32>) -> tensor<f32> {
  %zero = hlo.constant dense<0> : tensor<i32>
  %one = hlo.constant dense<1> : tensor<i32>
  %ten = hlo.constant dense<10> : tensor<i32>
  %0:2 = hlo.while(%i = %zero, %v = %x) : tensor<i32>, tensor<f32>
    cond {
      %1 = hlo.compare LT, %i, %ten, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
      hlo.return %1 : tensor<i1>
    } do {
      %1 = hlo.add %i, %one : tensor<i32>
      %2 = hlo.convert %1 : (tensor<i32>) -> tensor<f32>
      %3 = hlo.multiply %v, %2 : tensor<f32>
      hlo.return %1, %3 : tensor<i32>, tensor<f32>
    }
  return %0#1 : tensor<f32>
}

// -----

// Loops over parts of one value that is in memory are one kernel, as for the queries, keys and values of attention.

// CHECK-LABEL: func.func @parts
// CHECK:         hlo.fusion loop (%{{.*}} = %x : tensor<8x32xf32>) -> (tensor<8x16xf32>, tensor<8x16xf32>) {
// CHECK-NOT:     hlo.fusion
// CHECK:         return
func.func @parts(%x: tensor<8x32xf32>) -> (tensor<8x16xf32>, tensor<8x16xf32>) {
  %0 = hlo.slice %x [0:8, 0:16] : (tensor<8x32xf32>) -> tensor<8x16xf32>
  %1 = hlo.tanh %0 : tensor<8x16xf32>
  %2 = hlo.slice %x [0:8, 16:32] : (tensor<8x32xf32>) -> tensor<8x16xf32>
  %3 = hlo.exponential %2 : tensor<8x16xf32>
  return %1, %3 : tensor<8x16xf32>, tensor<8x16xf32>
}

// -----

// A smaller value that two loops read is no reason: they have their own traffic.

// CHECK-LABEL: func.func @bias
// CHECK-COUNT-2: hlo.fusion loop
func.func @bias(%x: tensor<8x16xf32>, %y: tensor<8x16xf32>, %b: tensor<16xf32>) -> (tensor<8x16xf32>, tensor<8x16xf32>) {
  %0 = hlo.broadcast_in_dim %b, dims = [1] : (tensor<16xf32>) -> tensor<8x16xf32>
  %1 = hlo.add %x, %0 : tensor<8x16xf32>
  %2 = hlo.broadcast_in_dim %b, dims = [1] : (tensor<16xf32>) -> tensor<8x16xf32>
  %3 = hlo.subtract %y, %2 : tensor<8x16xf32>
  return %1, %3 : tensor<8x16xf32>, tensor<8x16xf32>
}

// -----

// Each loop follows a product of its own, whose epilogue it can be.

// CHECK-LABEL: func.func @gates
// CHECK:         hlo.fusion dot
// CHECK:           hlo.add
// CHECK:         hlo.fusion dot
// CHECK:           hlo.add
func.func @gates(%x: tensor<8x64xf32>, %h: tensor<8x32xf32>, %u: tensor<32x32xf32>, %v: tensor<32x32xf32>) -> (tensor<8x32xf32>, tensor<8x32xf32>) {
  %0 = hlo.dot_general %h, %u, contracting_dims = [1] x [0] : (tensor<8x32xf32>, tensor<32x32xf32>) -> tensor<8x32xf32>
  %1 = hlo.slice %x [0:8, 0:32] : (tensor<8x64xf32>) -> tensor<8x32xf32>
  %2 = hlo.add %0, %1 : tensor<8x32xf32>
  %3 = hlo.dot_general %h, %v, contracting_dims = [1] x [0] : (tensor<8x32xf32>, tensor<32x32xf32>) -> tensor<8x32xf32>
  %4 = hlo.slice %x [0:8, 32:64] : (tensor<8x64xf32>) -> tensor<8x32xf32>
  %5 = hlo.add %3, %4 : tensor<8x32xf32>
  return %2, %5 : tensor<8x32xf32>, tensor<8x32xf32>
}

// -----

// A pad takes in what it surrounds, but not where that would be computed three times, where a pooling takes in the pad,
// or where few elements stay together.

// CHECK-LABEL: func.func @padded
// CHECK:         hlo.fusion loop
// CHECK:           hlo.multiply
// CHECK:           hlo.pad
// CHECK:           hlo.return
// CHECK-NEXT:    }
// CHECK-NEXT:    func.return
func.func @padded(%x: tensor<64x64xf32>) -> tensor<66x64xf32> {
  %zero = hlo.constant dense<0.0> : tensor<f32>
  %0 = hlo.multiply %x, %x : tensor<64x64xf32>
  %1 = hlo.pad %0, %zero, low = [1, 0], high = [1, 0], interior = [0, 0] : (tensor<64x64xf32>, tensor<f32>) -> tensor<66x64xf32>
  return %1 : tensor<66x64xf32>
}

// CHECK-LABEL: func.func @padded_apart
// CHECK:         hlo.fusion loop
// CHECK:           hlo.multiply
// CHECK-NEXT:      hlo.return
// CHECK:         hlo.fusion loop
// CHECK-NEXT:      hlo.constant
// CHECK-NEXT:      hlo.pad
func.func @padded_apart(%x: tensor<64x64xf32>, %y: tensor<64x64x3xf32>) -> (tensor<66x66xf32>, tensor<66x64x3xf32>) {
  %zero = hlo.constant dense<0.0> : tensor<f32>
  %0 = hlo.multiply %x, %x : tensor<64x64xf32>
  %1 = hlo.pad %0, %zero, low = [1, 0], high = [1, 2], interior = [0, 0] : (tensor<64x64xf32>, tensor<f32>) -> tensor<66x66xf32>
  %2 = hlo.pad %0, %zero, low = [1, 1], high = [1, 1], interior = [0, 0] : (tensor<64x64xf32>, tensor<f32>) -> tensor<66x66xf32>
  %3 = hlo.pad %0, %zero, low = [2, 2], high = [0, 0], interior = [0, 0] : (tensor<64x64xf32>, tensor<f32>) -> tensor<66x66xf32>
  %4 = hlo.add %1, %2 : tensor<66x66xf32>
  %5 = hlo.add %4, %3 : tensor<66x66xf32>
  %6 = hlo.exponential %y : tensor<64x64x3xf32>
  %7 = hlo.pad %6, %zero, low = [1, 0, 0], high = [1, 0, 0], interior = [0, 0, 0] : (tensor<64x64x3xf32>, tensor<f32>) -> tensor<66x64x3xf32>
  return %5, %7 : tensor<66x66xf32>, tensor<66x64x3xf32>
}
