// RUN: hlo-opt %s --unroll-loops --split-input-file | filecheck %s
// RUN: hlo-opt %s --unroll-loops --fuse-remarks --split-input-file --verify-diagnostics

// Carried values that change places are renamed.

// CHECK-LABEL: func.func @swaps
// CHECK-SAME: (%[[X:.*]]: tensor<4096xui32>, %[[R:.*]]: tensor<ui32>, %[[S:.*]]: tensor<ui32>)
// CHECK-NOT: hlo.while
// CHECK: %[[BR:.*]] = hlo.broadcast_in_dim %[[R]]
// CHECK: %[[ONE:.*]] = hlo.add %[[X]], %[[BR]]
// CHECK: %[[BS:.*]] = hlo.broadcast_in_dim %[[S]]
// CHECK: %[[TWO:.*]] = hlo.add %[[ONE]], %[[BS]]
// CHECK: %[[BT:.*]] = hlo.broadcast_in_dim %[[R]]
// CHECK: %[[THREE:.*]] = hlo.add %[[TWO]], %[[BT]]
// CHECK: return %[[THREE]], %[[S]]
func.func @swaps(%x: tensor<4096xui32>, %r: tensor<ui32>, %s: tensor<ui32>) -> (tensor<4096xui32>, tensor<ui32>) {
  %zero = hlo.constant dense<0> : tensor<i32>
  // expected-remark@+1 {{unrolled the 3 iterations of the loop}}
  %0:4 = hlo.while(%i = %zero, %v = %x, %a = %r, %b = %s) : tensor<i32>, tensor<4096xui32>, tensor<ui32>, tensor<ui32>
    cond {
      %n = hlo.constant dense<3> : tensor<i32>
      %1 = hlo.compare LT, %i, %n, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
      hlo.return %1 : tensor<i1>
    } do {
      %1 = hlo.broadcast_in_dim %a, dims = [] : (tensor<ui32>) -> tensor<4096xui32>
      %2 = hlo.add %v, %1 : tensor<4096xui32>
      %one = hlo.constant dense<1> : tensor<i32>
      %3 = hlo.add %i, %one : tensor<i32>
      hlo.return %3, %2, %b, %a : tensor<i32>, tensor<4096xui32>, tensor<ui32>, tensor<ui32>
    }
  return %0#1, %0#2 : tensor<4096xui32>, tensor<ui32>
}

// -----

// A product gains nothing; nor do few elements.

// CHECK-LABEL: func.func @stay
// CHECK: hlo.while
// CHECK: hlo.while
func.func @stay(%x: tensor<64x64xf32>, %y: tensor<8xf32>) -> (tensor<64x64xf32>, tensor<8xf32>) {
  %zero = hlo.constant dense<0> : tensor<i32>
  %one = hlo.constant dense<1> : tensor<i32>
  %two = hlo.constant dense<2> : tensor<i32>
  %0:2 = hlo.while(%i = %zero, %v = %x) : tensor<i32>, tensor<64x64xf32>
    cond {
      %1 = hlo.compare LT, %i, %two, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
      hlo.return %1 : tensor<i1>
    } do {
      %1 = hlo.dot_general %v, %v, contracting_dims = [1] x [0] : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
      %2 = hlo.add %i, %one : tensor<i32>
      hlo.return %2, %1 : tensor<i32>, tensor<64x64xf32>
    }
  %3:2 = hlo.while(%i = %zero, %v = %y) : tensor<i32>, tensor<8xf32>
    cond {
      %1 = hlo.compare LT, %i, %two, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
      hlo.return %1 : tensor<i1>
    } do {
      %1 = hlo.negate %v : tensor<8xf32>
      %2 = hlo.add %i, %one : tensor<i32>
      hlo.return %2, %1 : tensor<i32>, tensor<8xf32>
    }
  return %0#1, %3#1 : tensor<64x64xf32>, tensor<8xf32>
}

// -----

// A special function counts as the operations that it becomes.

// CHECK-LABEL: func.func @special
// CHECK: hlo.while
func.func @special(%x: tensor<4096xf32>) -> tensor<4096xf32> {
  %zero = hlo.constant dense<0> : tensor<i32>
  %0:2 = hlo.while(%i = %zero, %v = %x) : tensor<i32>, tensor<4096xf32>
    cond {
      %n = hlo.constant dense<5> : tensor<i32>
      %1 = hlo.compare LT, %i, %n, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
      hlo.return %1 : tensor<i1>
    } do {
      %1 = chlo.lgamma %v : tensor<4096xf32> -> tensor<4096xf32>
      %one = hlo.constant dense<1> : tensor<i32>
      %2 = hlo.add %i, %one : tensor<i32>
      hlo.return %2, %1 : tensor<i32>, tensor<4096xf32>
    }
  return %0#1 : tensor<4096xf32>
}
