// RUN: hlo-opt %s -p 'bufferize{in-place=true donate=true}' --split-input-file | filecheck %s
// RUN: hlo-opt %s -p bufferize --split-input-file | filecheck %s --check-prefix=PLAIN

// The kernel that reads the old value is moved before the update, which is done in the argument's memory.
// CHECK:       builtin.module attributes {xhlo.donated = array<i64: 0, -2>} {
// CHECK-LABEL: func.func @main
// CHECK-SAME:  (%[[X:.*]]: memref<64x64xf32> {tf.aliasing_output = 0 : i32}, %[[Y:.*]]: memref<64x64xf32>, %{{.*}}: memref<64x64xf32>, %[[OUT:.*]]: memref<64x64xf32>)
// CHECK-NEXT:  func.call @add(%[[X]], %[[Y]], %[[OUT]])
// CHECK-NEXT:  func.call @update(%[[X]], %[[Y]])
// CHECK-NEXT:  func.return
// PLAIN-NOT:   xhlo.donated
// PLAIN:       "memref.copy"(%{{.*}}, %[[OUT:[^)]*]])
// PLAIN-NEXT:  func.call @update(%[[OUT]]
func.func @main(%x: tensor<64x64xf32> {tf.aliasing_output = 0 : i32}, %y: tensor<64x64xf32>) -> (tensor<64x64xf32>, tensor<64x64xf32>) {
  %0 = func.call @update(%x, %y) : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
  %1 = func.call @add(%x, %y) : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
  func.return %0, %1 : tensor<64x64xf32>, tensor<64x64xf32>
}
func.func private @update(%x: tensor<64x64xf32>, %y: tensor<64x64xf32>) -> tensor<64x64xf32> attributes {hlo.kernel = "custom", hlo.tied = array<i64: 0>} {
  %c = arith.constant 3 : index
  %v = tensor.extract %y[%c, %c] : tensor<64x64xf32>
  %0 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} outs(%x : tensor<64x64xf32>) {
  ^bb0(%o: f32):
    %s = arith.addf %o, %v : f32
    linalg.yield %s : f32
  } -> tensor<64x64xf32>
  func.return %0 : tensor<64x64xf32>
}
func.func private @add(%x: tensor<64x64xf32>, %y: tensor<64x64xf32>) -> tensor<64x64xf32> attributes {hlo.kernel = "loop"} {
  %e = tensor.empty() : tensor<64x64xf32>
  %0 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d1, d0)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%x, %y : tensor<64x64xf32>, tensor<64x64xf32>) outs(%e : tensor<64x64xf32>) {
  ^bb0(%a: f32, %b: f32, %o: f32):
    %s = arith.addf %a, %b : f32
    linalg.yield %s : f32
  } -> tensor<64x64xf32>
  func.return %0 : tensor<64x64xf32>
}

// -----

// An elementwise kernel writes over the argument that it reads at the same indices (0), never over the one that it reads
// transposed (1): its parameters 0 and 2 may be one buffer.
// CHECK:       builtin.module attributes {xhlo.donated = array<i64: 0, -2>} {
// CHECK-LABEL: func.func @main
// CHECK-NEXT:  func.call @add(%[[X:.*]], %[[Y:.*]], %[[X]])
// CHECK:       hlo.kernel = "loop", xhlo.shared_buffers = array<i64: 0, 2>
func.func @main(%x: tensor<64x64xf32> {jax.buffer_donor = true}, %y: tensor<64x64xf32> {jax.buffer_donor = true}) -> tensor<64x64xf32> {
  %1 = func.call @add(%x, %y) : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
  func.return %1 : tensor<64x64xf32>
}
func.func private @add(%x: tensor<64x64xf32>, %y: tensor<64x64xf32>) -> tensor<64x64xf32> attributes {hlo.kernel = "loop"} {
  %e = tensor.empty() : tensor<64x64xf32>
  %0 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d1, d0)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%x, %y : tensor<64x64xf32>, tensor<64x64xf32>) outs(%e : tensor<64x64xf32>) {
  ^bb0(%a: f32, %b: f32, %o: f32):
    %s = arith.addf %a, %b : f32
    linalg.yield %s : f32
  } -> tensor<64x64xf32>
  func.return %0 : tensor<64x64xf32>
}

// -----

// A branch updates what the other one leaves as it is.
// CHECK-LABEL: func.func @main
// CHECK-SAME:  (%[[X:[^:]*]]: memref<64x64xf32>
// CHECK-NOT:   memref.copy
// CHECK:       scf.if
// CHECK-NEXT:  func.call @double(%[[X]], %[[X]])
// CHECK-NOT:   memref.copy
// CHECK:       func.return
func.func @main(%x: tensor<64x64xf32> {tf.aliasing_output = 0 : i32}, %p: tensor<i1>) -> tensor<64x64xf32> {
  %c = tensor.extract %p[] : tensor<i1>
  %1 = scf.if %c -> (tensor<64x64xf32>) {
    %0 = func.call @double(%x) : (tensor<64x64xf32>) -> tensor<64x64xf32>
    scf.yield %0 : tensor<64x64xf32>
  } else {
    scf.yield %x : tensor<64x64xf32>
  }
  func.return %1 : tensor<64x64xf32>
}
func.func private @double(%x: tensor<64x64xf32>) -> tensor<64x64xf32> attributes {hlo.kernel = "loop"} {
  %e = tensor.empty() : tensor<64x64xf32>
  %0 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%x : tensor<64x64xf32>) outs(%e : tensor<64x64xf32>) {
  ^bb0(%a: f32, %o: f32):
    %s = arith.addf %a, %a : f32
    linalg.yield %s : f32
  } -> tensor<64x64xf32>
  func.return %0 : tensor<64x64xf32>
}

// -----

// A value that a result overwrites is computed in the result's memory, too: no buffer is allocated.

// CHECK-LABEL: func.func @main(
// CHECK-SAME:  %[[X:.*]]: memref<64x64xf32>, %[[OUT:.*]]: memref<64x64xf32>)
// CHECK-NEXT:  func.call @reversed(%[[X]], %[[OUT]])
// CHECK-NEXT:  func.call @twice(%[[OUT]], %[[OUT]])
// CHECK-NEXT:  func.call @twice(%[[OUT]], %[[OUT]])
// CHECK-NEXT:  func.return
// PLAIN:       memref.alloc
// PLAIN:       memref.alloc
func.func @main(%x: tensor<64x64xf32>) -> tensor<64x64xf32> {
  %0 = func.call @reversed(%x) : (tensor<64x64xf32>) -> tensor<64x64xf32>
  %1 = func.call @twice(%0) : (tensor<64x64xf32>) -> tensor<64x64xf32>
  %2 = func.call @twice(%1) : (tensor<64x64xf32>) -> tensor<64x64xf32>
  func.return %2 : tensor<64x64xf32>
}
func.func private @reversed(%x: tensor<64x64xf32>) -> tensor<64x64xf32> attributes {hlo.kernel = "loop"} {
  %e = tensor.empty() : tensor<64x64xf32>
  %0 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (63 - d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%x : tensor<64x64xf32>) outs(%e : tensor<64x64xf32>) {
  ^bb0(%a: f32, %o: f32):
    linalg.yield %a : f32
  } -> tensor<64x64xf32>
  func.return %0 : tensor<64x64xf32>
}
func.func private @twice(%x: tensor<64x64xf32>) -> tensor<64x64xf32> attributes {hlo.kernel = "loop"} {
  %e = tensor.empty() : tensor<64x64xf32>
  %0 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%x : tensor<64x64xf32>) outs(%e : tensor<64x64xf32>) {
  ^bb0(%a: f32, %o: f32):
    %b = arith.addf %a, %a : f32
    linalg.yield %b : f32
  } -> tensor<64x64xf32>
  func.return %0 : tensor<64x64xf32>
}

// -----

// Not a value that is read later under another shape: the result would have to be copied.

// CHECK-LABEL: func.func @main(
// CHECK-SAME:  %[[X:.*]]: memref<64x64xf32>, %[[OUT:.*]]: memref<64x64xf32>, %[[LAST:.*]]: memref<4096xf32>)
// CHECK:       %[[A:.*]] = memref.alloc() : memref<64x64xf32>
// CHECK-NEXT:  func.call @twice(%[[X]], %[[A]])
// CHECK:       func.call @twice(%[[A]], %[[OUT]])
// CHECK-NEXT:  func.call @flat(%{{.*}}, %[[LAST]])
// CHECK-NEXT:  func.return
func.func @main(%x: tensor<64x64xf32>) -> (tensor<64x64xf32>, tensor<4096xf32>) {
  %0 = func.call @twice(%x) : (tensor<64x64xf32>) -> tensor<64x64xf32>
  %1 = tensor.collapse_shape %0 [[0, 1]] : tensor<64x64xf32> into tensor<4096xf32>
  %2 = func.call @twice(%0) : (tensor<64x64xf32>) -> tensor<64x64xf32>
  %3 = func.call @flat(%1) : (tensor<4096xf32>) -> tensor<4096xf32>
  func.return %2, %3 : tensor<64x64xf32>, tensor<4096xf32>
}
func.func private @flat(%x: tensor<4096xf32>) -> tensor<4096xf32> attributes {hlo.kernel = "loop"} {
  %e = tensor.empty() : tensor<4096xf32>
  %0 = linalg.generic {indexing_maps = [affine_map<(d0) -> (4095 - d0)>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]} ins(%x : tensor<4096xf32>) outs(%e : tensor<4096xf32>) {
  ^bb0(%a: f32, %o: f32):
    linalg.yield %a : f32
  } -> tensor<4096xf32>
  func.return %0 : tensor<4096xf32>
}
func.func private @twice(%x: tensor<64x64xf32>) -> tensor<64x64xf32> attributes {hlo.kernel = "loop"} {
  %e = tensor.empty() : tensor<64x64xf32>
  %0 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%x : tensor<64x64xf32>) outs(%e : tensor<64x64xf32>) {
  ^bb0(%a: f32, %o: f32):
    %b = arith.addf %a, %a : f32
    linalg.yield %b : f32
  } -> tensor<64x64xf32>
  func.return %0 : tensor<64x64xf32>
}
