// RUN: hlo-opt %s --hoist-loop-invariants --split-input-file | filecheck %s
// RUN: hlo-opt %s --hoist-loop-invariants --hoist-loop-invariants --split-input-file | filecheck %s
// RUN: hlo-opt %s --hoist-loop-invariants --fuse-remarks --split-input-file --verify-diagnostics

// The transpose is costly, and so are small values; the addition to a large one and the broadcast are not.

// CHECK-LABEL: func.func @costs
// CHECK-SAME: (%[[W:.*]]: tensor<80x80xf32>, %[[X:.*]]: tensor<80x80xf32>, %[[S:.*]]: tensor<f32>)
// CHECK: %[[T:.*]] = hlo.transpose %[[W]], dims = [1, 0]
// CHECK: %[[S2:.*]] = hlo.multiply %[[S]], %[[S]] : tensor<f32>
// CHECK: hlo.while
// CHECK: do {
// CHECK: hlo.broadcast_in_dim %[[S2]]
// CHECK: hlo.add %[[X]]
// CHECK: hlo.dot_general %{{.*}}, %[[T]]
func.func @costs(%w: tensor<80x80xf32>, %x: tensor<80x80xf32>, %s: tensor<f32>) -> tensor<80x80xf32> {
  %zero = hlo.constant dense<0> : tensor<i32>
  %0:2 = hlo.while(%i = %zero, %v = %x) : tensor<i32>, tensor<80x80xf32>
    cond {
      %n = hlo.constant dense<9> : tensor<i32>
      %1 = hlo.compare LT, %i, %n, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
      hlo.return %1 : tensor<i1>
    } do {
      // expected-remark@+1 {{hlo.transpose is computed once, before the loop}}
      %t = hlo.transpose %w, dims = [1, 0] : (tensor<80x80xf32>) -> tensor<80x80xf32>
      // expected-remark@+1 {{hlo.multiply is computed once, before the loop}}
      %s2 = hlo.multiply %s, %s : tensor<f32>
      %b = hlo.broadcast_in_dim %s2, dims = [] : (tensor<f32>) -> tensor<80x80xf32>
      %1 = hlo.add %x, %b : tensor<80x80xf32>
      %2 = hlo.dot_general %v, %t, contracting_dims = [1] x [0] : (tensor<80x80xf32>, tensor<80x80xf32>) -> tensor<80x80xf32>
      %3 = hlo.add %1, %2 : tensor<80x80xf32>
      %one = hlo.constant dense<1> : tensor<i32>
      %4 = hlo.add %i, %one : tensor<i32>
      hlo.return %4, %3 : tensor<i32>, tensor<80x80xf32>
    }
  return %0#1 : tensor<80x80xf32>
}

// -----

// Operations that leave the inner loop leave the outer one too; those that both regions compute are computed once.

// CHECK-LABEL: func.func @nested
// CHECK-SAME: (%[[X:.*]]: tensor<200xf32>, %[[N:.*]]: tensor<i32>)
// CHECK: %[[M:.*]] = hlo.multiply %[[N]], %[[N]]
// CHECK: %[[E:.*]] = hlo.exponential %[[X]]
// CHECK-NOT: hlo.multiply %[[N]]
// CHECK: hlo.while
// CHECK: do {
// CHECK: hlo.while
// CHECK: hlo.compare LT, %{{.*}}, %[[M]]
// CHECK: do {
// CHECK: hlo.add %{{.*}}, %[[E]]
// CHECK: hlo.add %{{.*}}, %[[M]]
func.func @nested(%x: tensor<200xf32>, %n: tensor<i32>) -> tensor<200xf32> {
  %zero = hlo.constant dense<0> : tensor<i32>
  %0:2 = hlo.while(%i = %zero, %v = %x) : tensor<i32>, tensor<200xf32>
    cond {
      %1 = hlo.compare LT, %i, %n, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
      hlo.return %1 : tensor<i1>
    } do {
      %1:2 = hlo.while(%j = %i, %w = %v) : tensor<i32>, tensor<200xf32>
        cond {
          // expected-remark@+2 {{hlo.multiply is computed once, before the loop}}
          // expected-remark@+1 {{hlo.multiply is computed once, before the loop}}
          %m = hlo.multiply %n, %n : tensor<i32>
          %2 = hlo.compare LT, %j, %m, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
          hlo.return %2 : tensor<i1>
        } do {
          // expected-remark@+2 {{hlo.exponential is computed once, before the loop}}
          // expected-remark@+1 {{hlo.exponential is computed once, before the loop}}
          %e = hlo.exponential %x : tensor<200xf32>
          %2 = hlo.add %w, %e : tensor<200xf32>
          %m = hlo.multiply %n, %n : tensor<i32>
          %3 = hlo.add %j, %m : tensor<i32>
          hlo.return %3, %2 : tensor<i32>, tensor<200xf32>
        }
      hlo.return %1#0, %1#1 : tensor<i32>, tensor<200xf32>
    }
  return %0#1 : tensor<200xf32>
}

// -----

// An invariant loop that may not end stays: it must not run if the outer loop does not.

// CHECK-LABEL: func.func @may_hang
// CHECK: hlo.while
// CHECK: do {
// CHECK: hlo.while
func.func @may_hang(%x: tensor<f32>, %n: tensor<i32>) -> tensor<f32> {
  %zero = hlo.constant dense<0> : tensor<i32>
  %one = hlo.constant dense<1> : tensor<i32>
  %0:2 = hlo.while(%i = %zero, %v = %x) : tensor<i32>, tensor<f32>
    cond {
      %1 = hlo.compare LT, %i, %n, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
      hlo.return %1 : tensor<i1>
    } do {
      %1 = hlo.while(%w = %x) : tensor<f32>
        cond {
          %2 = hlo.compare LT, %w, %x : (tensor<f32>, tensor<f32>) -> tensor<i1>
          hlo.return %2 : tensor<i1>
        } do {
          %2 = hlo.add %w, %w : tensor<f32>
          hlo.return %2 : tensor<f32>
        }
      %3 = hlo.add %v, %1 : tensor<f32>
      %4 = hlo.add %i, %one : tensor<i32>
      hlo.return %4, %3 : tensor<i32>, tensor<f32>
    }
  return %0#1 : tensor<f32>
}

// -----

// A product reads its operands from memory: what is computed for it would be written in each iteration.

// CHECK-LABEL: func.func @for_a_product
// CHECK: %[[M:.*]] = hlo.multiply %{{.*}}, %{{.*}} : tensor<80x80xf32>
// CHECK: hlo.while
// CHECK: hlo.dot_general %{{.*}}, %[[M]]
func.func @for_a_product(%w: tensor<80x80xf32>, %x: tensor<80x80xf32>) -> tensor<80x80xf32> {
  %zero = hlo.constant dense<0> : tensor<i32>
  %0:2 = hlo.while(%i = %zero, %v = %x) : tensor<i32>, tensor<80x80xf32>
    cond {
      %n = hlo.constant dense<9> : tensor<i32>
      %1 = hlo.compare LT, %i, %n, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
      hlo.return %1 : tensor<i1>
    } do {
      // expected-remark@+1 {{hlo.multiply is computed once, before the loop}}
      %m = hlo.multiply %w, %w : tensor<80x80xf32>
      %2 = hlo.dot_general %v, %m, contracting_dims = [1] x [0] : (tensor<80x80xf32>, tensor<80x80xf32>) -> tensor<80x80xf32>
      %one = hlo.constant dense<1> : tensor<i32>
      %3 = hlo.add %i, %one : tensor<i32>
      hlo.return %3, %2 : tensor<i32>, tensor<80x80xf32>
    }
  return %0#1 : tensor<80x80xf32>
}

// -----

// In the loop the index is below 8, before it nothing is known: the loop may not run.

// CHECK-LABEL: func.func @bounded_inside
// CHECK: hlo.dynamic_slice %{{.*}}, sizes = [1] : (tensor<8xf32>
// CHECK: hlo.while
func.func @bounded_inside(%x: tensor<8xf32>, %k: tensor<ui32>, %most: tensor<f32>) -> tensor<1xf32> {
  %zero = hlo.constant dense<0.0> : tensor<1xf32>
  %0:2 = hlo.while(%i = %k, %sum = %zero) : tensor<ui32>, tensor<1xf32>
    cond {
      %eight = hlo.constant dense<8> : tensor<ui32>
      %below = hlo.compare LT, %i, %eight : (tensor<ui32>, tensor<ui32>) -> tensor<i1>
      %s = hlo.reshape %sum : (tensor<1xf32>) -> tensor<f32>
      %less = hlo.compare LT, %s, %most : (tensor<f32>, tensor<f32>) -> tensor<i1>
      %go = hlo.and %below, %less : tensor<i1>
      hlo.return %go : tensor<i1>
    } do {
      %v = hlo.dynamic_slice %x, %k, sizes = [1] {xhlo.in_bounds} : (tensor<8xf32>, tensor<ui32>) -> tensor<1xf32>
      // expected-remark@+1 {{hlo.exponential is computed once, before the loop}}
      %e = hlo.exponential %v : tensor<1xf32>
      %next = hlo.add %sum, %e : tensor<1xf32>
      hlo.return %i, %next : tensor<ui32>, tensor<1xf32>
    }
  return %0#1 : tensor<1xf32>
}
