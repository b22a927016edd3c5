// RUN: hlo-opt %s --fuse --lower=loops | filecheck %s
// RUN: hlo-opt %s --fuse --lower=loops --fuse-remarks 2>&1 | filecheck %s --check-prefix=REMARK

// REMARK: remark: one kernel runs 3 tiles on several threads, with their loops

// Two tiles run at once, and the third after them. A tile's own buffers are in a part of the arena for each thread, or on
// its stack.

// CHECK-LABEL: func.func @main
// CHECK: %[[PART:.*]] = memref.view %arena[%{{.*}}][] : memref<{{.*}}xi8> to memref<4992xi8>
// CHECK: func.call @loop_0(%[[PART]]
// CHECK-NEXT: func.return
// CHECK: func.func private @loop_0(
// CHECK: cpu.parallel_for @loop_0_body({{.*}}) {count = 2 : i64}
// CHECK: %[[LAST:.*]] = arith.constant 2 : index
// CHECK-NEXT: func.call @loop_0_body({{.*}}, %[[LAST]], %[[LAST]]) :
// CHECK: func.func private @loop_0_body(%[[OWN:.*]]: memref<4992xi8>, {{.*}}%[[TILE:.*]]: index, %slot: index) attributes {xhlo.parallel_body}
// CHECK: memref.alloca() {{.*}} : memref<i32>
// CHECK: %[[AT:.*]] = arith.muli %slot, %{{.*}} : index
// CHECK: memref.view %{{.*}}[%{{.*}}][] : memref<{{.*}}xi8> to memref<13x32xf32>
// CHECK: arith.index_cast %[[TILE]] : index to i32
// CHECK: scf.while () : () -> () {
// CHECK: func.call @dot_0_block(
// CHECK: memref.store
func.func @main(%w: tensor<32x32xf32>, %xs: tensor<20x37x32xf32>, %h0: tensor<37x32xf32>) -> (tensor<37x32xf32>, tensor<20x37x32xf32>) {
  %zero = hlo.constant dense<0> : tensor<i32>
  %one = hlo.constant dense<1> : tensor<i32>
  %none = hlo.constant dense<0.0> : tensor<20x37x32xf32>
  %0:3 = hlo.while(%i = %zero, %h = %h0, %ys = %none) : tensor<i32>, tensor<37x32xf32>, tensor<20x37x32xf32>
    cond {
      %n = hlo.constant dense<20> : tensor<i32>
      %1 = hlo.compare LT, %i, %n, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
      hlo.return %1 : tensor<i1>
    } do {
      %1 = hlo.dynamic_slice %xs, %i, %zero, %zero, sizes = [1, 37, 32] : (tensor<20x37x32xf32>, tensor<i32>, tensor<i32>, tensor<i32>) -> tensor<1x37x32xf32>
      %2 = hlo.reshape %1 : (tensor<1x37x32xf32>) -> tensor<37x32xf32>
      %3 = hlo.dot_general %h, %w, contracting_dims = [1] x [0] : (tensor<37x32xf32>, tensor<32x32xf32>) -> tensor<37x32xf32>
      %4 = hlo.add %2, %3 : tensor<37x32xf32>
      %5 = hlo.tanh %4 : tensor<37x32xf32>
      %6 = hlo.reshape %5 : (tensor<37x32xf32>) -> tensor<1x37x32xf32>
      %7 = hlo.dynamic_update_slice %ys, %6, %i, %zero, %zero : (tensor<20x37x32xf32>, tensor<1x37x32xf32>, tensor<i32>, tensor<i32>, tensor<i32>) -> tensor<20x37x32xf32>
      %8 = hlo.add %i, %one : tensor<i32>
      hlo.return %8, %5, %7 : tensor<i32>, tensor<37x32xf32>, tensor<20x37x32xf32>
    }
  return %0#1, %0#2 : tensor<37x32xf32>, tensor<20x37x32xf32>
}
