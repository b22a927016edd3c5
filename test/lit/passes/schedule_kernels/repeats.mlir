// RUN: hlo-opt %s -p 'schedule-kernels{worth=2}' --split-input-file | filecheck %s
// RUN: hlo-opt %s -p 'schedule-kernels{worth=2}' --split-input-file --fuse-remarks --verify-diagnostics
// RUN: hlo-opt %s -p 'schedule-kernels{worth=2}' --split-input-file --max-memory=4500K | filecheck %s --check-prefix=ANY
// RUN: hlo-opt %s -p 'schedule-kernels{worth=1}' --split-input-file | filecheck %s --check-prefix=ANY

// A value that is computed from a row is computed again for its late reader, not kept while %p and %q are alive: the
// program takes a quarter less, and moves a tenth more.

// CHECK-LABEL: func.func @main
// CHECK:         %[[E:.*]] = func.call @row(%x)
// CHECK-NEXT:    %p = func.call @product(%e)
// CHECK-NEXT:    %q = func.call @product(%p)
// CHECK-NEXT:    %r = func.call @both(%p, %q)
// CHECK-NEXT:    %[[AGAIN:.*]] = func.call @row(%x)
// CHECK-NEXT:    %s = func.call @both(%r, %[[AGAIN]])
func.func @main(%x: tensor<512xf32>) -> tensor<512xf32> {
  // expected-remark@+1 {{row runs again for late readers: 1 MiB (25.0%) less memory for 8.3% more work in its block}}
  %e = func.call @row(%x) : (tensor<512xf32>) -> tensor<512x512xf32>
  %p = func.call @product(%e) : (tensor<512x512xf32>) -> tensor<512x512xf32>
  %q = func.call @product(%p) : (tensor<512x512xf32>) -> tensor<512x512xf32>
  %r = func.call @both(%p, %q) : (tensor<512x512xf32>, tensor<512x512xf32>) -> tensor<512x512xf32>
  %s = func.call @both(%r, %e) : (tensor<512x512xf32>, tensor<512x512xf32>) -> tensor<512x512xf32>
  %t = func.call @sum(%s) : (tensor<512x512xf32>) -> tensor<512xf32>
  func.return %t : tensor<512xf32>
}
func.func private @row(%x: tensor<512xf32>) -> tensor<512x512xf32> attributes {hlo.kernel = "loop"} {
  %0 = tensor.empty() : tensor<512x512xf32>
  %1 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d1)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%x : tensor<512xf32>) outs(%0 : tensor<512x512xf32>) {
  ^bb0(%a: f32, %b: f32):
    %c = arith.addf %a, %a : f32
    linalg.yield %c : f32
  } -> tensor<512x512xf32>
  func.return %1 : tensor<512x512xf32>
}
func.func private @product(%x: tensor<512x512xf32>) -> tensor<512x512xf32> attributes {hlo.kernel = "dot"} {
  %0 = tensor.empty() : tensor<512x512xf32>
  %1 = linalg.generic {indexing_maps = [affine_map<(i, j, k) -> (i, k)>, affine_map<(i, j, k) -> (k, j)>, affine_map<(i, j, k) -> (i, j)>], iterator_types = ["parallel", "parallel", "reduction"]} ins(%x, %x : tensor<512x512xf32>, tensor<512x512xf32>) outs(%0 : tensor<512x512xf32>) attrs = {xhlo.contraction} {
  ^bb0(%a: f32, %b: f32, %c: f32):
    %d = arith.mulf %a, %b : f32
    %e = arith.addf %c, %d : f32
    linalg.yield %e : f32
  } -> tensor<512x512xf32>
  func.return %1 : tensor<512x512xf32>
}
func.func private @both(%x: tensor<512x512xf32>, %y: tensor<512x512xf32>) -> tensor<512x512xf32> attributes {hlo.kernel = "dot"} {
  func.return %x : tensor<512x512xf32>
}
func.func private @sum(%x: tensor<512x512xf32>) -> tensor<512xf32> attributes {hlo.kernel = "reduce"} {
  %0 = tensor.empty() : tensor<512xf32>
  func.return %0 : tensor<512xf32>
}

// -----

// A value of as many elements as it is computed from costs too much, unless the program does not fit otherwise.

// CHECK-LABEL: func.func @main
// CHECK:         func.call @twice(%x)
// CHECK-NOT:     func.call @twice

// ANY-LABEL:   func.func @main(%x: tensor<512x512xf32>)
// ANY:           func.call @twice(%x)
// ANY:           func.call @twice(%x)
func.func @main(%x: tensor<512x512xf32>) -> tensor<512xf32> {
  // expected-remark@+1 {{twice does not run again for late readers: 1 MiB (20.0%) less memory for 15.4% more work in its block}}
  %e = func.call @twice(%x) : (tensor<512x512xf32>) -> tensor<512x512xf32>
  %p = func.call @product(%e) : (tensor<512x512xf32>) -> tensor<512x512xf32>
  %q = func.call @product(%p) : (tensor<512x512xf32>) -> tensor<512x512xf32>
  %r = func.call @both(%p, %q) : (tensor<512x512xf32>, tensor<512x512xf32>) -> tensor<512x512xf32>
  %s = func.call @both(%r, %e) : (tensor<512x512xf32>, tensor<512x512xf32>) -> tensor<512x512xf32>
  %t = func.call @sum(%s) : (tensor<512x512xf32>) -> tensor<512xf32>
  func.return %t : tensor<512xf32>
}
func.func private @twice(%x: tensor<512x512xf32>) -> tensor<512x512xf32> attributes {hlo.kernel = "loop"} {
  %0 = tensor.empty() : tensor<512x512xf32>
  %1 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%x : tensor<512x512xf32>) outs(%0 : tensor<512x512xf32>) {
  ^bb0(%a: f32, %b: f32):
    %c = arith.addf %a, %a : f32
    linalg.yield %c : f32
  } -> tensor<512x512xf32>
  func.return %1 : tensor<512x512xf32>
}
func.func private @product(%x: tensor<512x512xf32>) -> tensor<512x512xf32> attributes {hlo.kernel = "dot"} {
  %0 = tensor.empty() : tensor<512x512xf32>
  %1 = linalg.generic {indexing_maps = [affine_map<(i, j, k) -> (i, k)>, affine_map<(i, j, k) -> (k, j)>, affine_map<(i, j, k) -> (i, j)>], iterator_types = ["parallel", "parallel", "reduction"]} ins(%x, %x : tensor<512x512xf32>, tensor<512x512xf32>) outs(%0 : tensor<512x512xf32>) attrs = {xhlo.contraction} {
  ^bb0(%a: f32, %b: f32, %c: f32):
    %d = arith.mulf %a, %b : f32
    %e = arith.addf %c, %d : f32
    linalg.yield %e : f32
  } -> tensor<512x512xf32>
  func.return %1 : tensor<512x512xf32>
}
func.func private @both(%x: tensor<512x512xf32>, %y: tensor<512x512xf32>) -> tensor<512x512xf32> attributes {hlo.kernel = "dot"} {
  func.return %x : tensor<512x512xf32>
}
func.func private @sum(%x: tensor<512x512xf32>) -> tensor<512xf32> attributes {hlo.kernel = "reduce"} {
  %0 = tensor.empty() : tensor<512xf32>
  func.return %0 : tensor<512xf32>
}

// -----

// In a loop, where the program takes most memory.

// CHECK-LABEL: func.func @main
// CHECK:       scf.while
// CHECK:         func.call @row
// CHECK:         func.call @row
func.func @main(%x: tensor<512xf32>, %n: i32) -> tensor<512xf32> {
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  %i, %l = scf.while (%j = %zero, %y = %x) : (i32, tensor<512xf32>) -> (i32, tensor<512xf32>) {
    %more = arith.cmpi slt, %j, %n : i32
    scf.condition(%more) %j, %y : i32, tensor<512xf32>
  } do {
  ^bb0(%j: i32, %y: tensor<512xf32>):
    // expected-remark@+1 {{row runs again for late readers: 1 MiB (25.0%) less memory for 8.3% more work in its block}}
    %e = func.call @row(%x) : (tensor<512xf32>) -> tensor<512x512xf32>
    %p = func.call @product(%e) : (tensor<512x512xf32>) -> tensor<512x512xf32>
    %q = func.call @product(%p) : (tensor<512x512xf32>) -> tensor<512x512xf32>
    %r = func.call @both(%p, %q) : (tensor<512x512xf32>, tensor<512x512xf32>) -> tensor<512x512xf32>
    %s = func.call @both(%r, %e) : (tensor<512x512xf32>, tensor<512x512xf32>) -> tensor<512x512xf32>
    %t = func.call @sum(%s) : (tensor<512x512xf32>) -> tensor<512xf32>
    %k = arith.addi %j, %one : i32
    scf.yield %k, %t : i32, tensor<512xf32>
  }
  func.return %l : tensor<512xf32>
}
func.func private @row(%x: tensor<512xf32>) -> tensor<512x512xf32> attributes {hlo.kernel = "loop"} {
  %0 = tensor.empty() : tensor<512x512xf32>
  %1 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d1)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%x : tensor<512xf32>) outs(%0 : tensor<512x512xf32>) {
  ^bb0(%a: f32, %b: f32):
    %c = arith.addf %a, %a : f32
    linalg.yield %c : f32
  } -> tensor<512x512xf32>
  func.return %1 : tensor<512x512xf32>
}
func.func private @product(%x: tensor<512x512xf32>) -> tensor<512x512xf32> attributes {hlo.kernel = "dot"} {
  %0 = tensor.empty() : tensor<512x512xf32>
  %1 = linalg.generic {indexing_maps = [affine_map<(i, j, k) -> (i, k)>, affine_map<(i, j, k) -> (k, j)>, affine_map<(i, j, k) -> (i, j)>], iterator_types = ["parallel", "parallel", "reduction"]} ins(%x, %x : tensor<512x512xf32>, tensor<512x512xf32>) outs(%0 : tensor<512x512xf32>) attrs = {xhlo.contraction} {
  ^bb0(%a: f32, %b: f32, %c: f32):
    %d = arith.mulf %a, %b : f32
    %e = arith.addf %c, %d : f32
    linalg.yield %e : f32
  } -> tensor<512x512xf32>
  func.return %1 : tensor<512x512xf32>
}
func.func private @both(%x: tensor<512x512xf32>, %y: tensor<512x512xf32>) -> tensor<512x512xf32> attributes {hlo.kernel = "dot"} {
  func.return %x : tensor<512x512xf32>
}
func.func private @sum(%x: tensor<512x512xf32>) -> tensor<512xf32> attributes {hlo.kernel = "reduce"} {
  %0 = tensor.empty() : tensor<512xf32>
  func.return %0 : tensor<512xf32>
}

// -----

// The program takes more memory after the loop.

// CHECK-LABEL: func.func @main
// CHECK:       scf.while
// CHECK:         func.call @row
// CHECK-NOT:     func.call @row
func.func @main(%x: tensor<512xf32>, %n: i32) -> tensor<512xf32> {
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  %i, %l = scf.while (%j = %zero, %y = %x) : (i32, tensor<512xf32>) -> (i32, tensor<512xf32>) {
    %more = arith.cmpi slt, %j, %n : i32
    scf.condition(%more) %j, %y : i32, tensor<512xf32>
  } do {
  ^bb0(%j: i32, %y: tensor<512xf32>):
    %e = func.call @row(%x) : (tensor<512xf32>) -> tensor<512x512xf32>
    %p = func.call @product(%e) : (tensor<512x512xf32>) -> tensor<512x512xf32>
    %q = func.call @product(%p) : (tensor<512x512xf32>) -> tensor<512x512xf32>
    %r = func.call @both(%p, %q) : (tensor<512x512xf32>, tensor<512x512xf32>) -> tensor<512x512xf32>
    %s = func.call @both(%r, %e) : (tensor<512x512xf32>, tensor<512x512xf32>) -> tensor<512x512xf32>
    %t = func.call @sum(%s) : (tensor<512x512xf32>) -> tensor<512xf32>
    %k = arith.addi %j, %one : i32
    scf.yield %k, %t : i32, tensor<512xf32>
  }
  %b = func.call @grown(%l) : (tensor<512xf32>) -> tensor<2048x2048xf32>
  %z = func.call @shrunk(%b) : (tensor<2048x2048xf32>) -> tensor<512xf32>
  func.return %z : tensor<512xf32>
}
func.func private @row(%x: tensor<512xf32>) -> tensor<512x512xf32> attributes {hlo.kernel = "loop"} {
  %0 = tensor.empty() : tensor<512x512xf32>
  %1 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d1)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%x : tensor<512xf32>) outs(%0 : tensor<512x512xf32>) {
  ^bb0(%a: f32, %b: f32):
    %c = arith.addf %a, %a : f32
    linalg.yield %c : f32
  } -> tensor<512x512xf32>
  func.return %1 : tensor<512x512xf32>
}
func.func private @product(%x: tensor<512x512xf32>) -> tensor<512x512xf32> attributes {hlo.kernel = "dot"} {
  %0 = tensor.empty() : tensor<512x512xf32>
  %1 = linalg.generic {indexing_maps = [affine_map<(i, j, k) -> (i, k)>, affine_map<(i, j, k) -> (k, j)>, affine_map<(i, j, k) -> (i, j)>], iterator_types = ["parallel", "parallel", "reduction"]} ins(%x, %x : tensor<512x512xf32>, tensor<512x512xf32>) outs(%0 : tensor<512x512xf32>) attrs = {xhlo.contraction} {
  ^bb0(%a: f32, %b: f32, %c: f32):
    %d = arith.mulf %a, %b : f32
    %e = arith.addf %c, %d : f32
    linalg.yield %e : f32
  } -> tensor<512x512xf32>
  func.return %1 : tensor<512x512xf32>
}
func.func private @both(%x: tensor<512x512xf32>, %y: tensor<512x512xf32>) -> tensor<512x512xf32> attributes {hlo.kernel = "dot"} {
  func.return %x : tensor<512x512xf32>
}
func.func private @sum(%x: tensor<512x512xf32>) -> tensor<512xf32> attributes {hlo.kernel = "reduce"} {
  %0 = tensor.empty() : tensor<512xf32>
  func.return %0 : tensor<512xf32>
}
func.func private @grown(%x: tensor<512xf32>) -> tensor<2048x2048xf32> attributes {hlo.kernel = "loop"} {
  %0 = tensor.empty() : tensor<2048x2048xf32>
  func.return %0 : tensor<2048x2048xf32>
}
func.func private @shrunk(%x: tensor<2048x2048xf32>) -> tensor<512xf32> attributes {hlo.kernel = "reduce"} {
  %0 = tensor.empty() : tensor<512xf32>
  func.return %0 : tensor<512xf32>
}
