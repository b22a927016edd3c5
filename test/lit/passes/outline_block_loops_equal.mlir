// RUN: hlo-opt %s --outline-block-loops | filecheck %s

// The first two loops differ only in their buffers; the third one calls another kernel.

// CHECK: kernels = [{name = @loop_0, kind = "while", {{[^}]*}}, sites = 2 : i64}, {name = @loop_2, kind = "while", {{[^}]*}}, sites = 1 : i64}]
// CHECK-LABEL: func.func @main(
// CHECK: func.call @loop_0(%a, %0)
// CHECK: func.call @loop_0(%b, %1)
// CHECK: func.call @loop_2(%a, %2)
// CHECK: func.func private @loop_0(
// CHECK: math.tanh
// CHECK-NOT: func.func private @loop_1(
// CHECK: func.func private @loop_2(
// CHECK: math.exp

builtin.module attributes {xhlo.program = {entry = @main, inputs = [tensor<64xf32>, tensor<64xf32>], outputs = [tensor<64xf32>, tensor<64xf32>, tensor<64xf32>], kernels = [{name = @goes_on, kind = "loop", ops = 1 : i64, bytes = 5 : i64, flops = 1 : i64, sites = 3 : i64}, {name = @next, kind = "loop", ops = 1 : i64, bytes = 8 : i64, flops = 1 : i64, sites = 3 : i64}, {name = @step, kind = "loop", ops = 1 : i64, bytes = 512 : i64, flops = 1 : i64, sites = 2 : i64}, {name = @other, kind = "loop", ops = 1 : i64, bytes = 512 : i64, flops = 1 : i64, sites = 1 : i64}]}} {
  "memref.global"() <{sym_name = "zero", type = memref<i32>, initial_value = dense<0> : tensor<i32>, sym_visibility = "private", constant, alignment = 64 : i64}> : () -> ()
  func.func @main(%a: memref<64xf32>, %b: memref<64xf32>, %0: memref<64xf32>, %1: memref<64xf32>, %2: memref<64xf32>) {
    %zero = memref.get_global @zero : memref<i32>
    %i0 = memref.alloc() : memref<i32>
    "memref.copy"(%zero, %i0) : (memref<i32>, memref<i32>) -> ()
    "memref.copy"(%a, %0) : (memref<64xf32>, memref<64xf32>) -> ()
    scf.while () : () -> () {
      %go = memref.alloc() : memref<i1>
      func.call @goes_on(%i0, %go) : (memref<i32>, memref<i1>) -> ()
      %c = memref.load %go[] : memref<i1>
      scf.condition(%c)
    } do {
      %h = memref.alloc() : memref<64xf32>
      %n = memref.alloc() : memref<i32>
      func.call @step(%0, %h) : (memref<64xf32>, memref<64xf32>) -> ()
      func.call @next(%i0, %n) : (memref<i32>, memref<i32>) -> ()
      "memref.copy"(%n, %i0) : (memref<i32>, memref<i32>) -> ()
      "memref.copy"(%h, %0) : (memref<64xf32>, memref<64xf32>) -> ()
      scf.yield
    } attributes {xhlo.trip_count = 20 : i64}
    %i1 = memref.alloc() : memref<i32>
    "memref.copy"(%zero, %i1) : (memref<i32>, memref<i32>) -> ()
    "memref.copy"(%b, %1) : (memref<64xf32>, memref<64xf32>) -> ()
    scf.while () : () -> () {
      %go = memref.alloc() : memref<i1>
      func.call @goes_on(%i1, %go) : (memref<i32>, memref<i1>) -> ()
      %c = memref.load %go[] : memref<i1>
      scf.condition(%c)
    } do {
      %h = memref.alloc() : memref<64xf32>
      %n = memref.alloc() : memref<i32>
      func.call @step(%1, %h) : (memref<64xf32>, memref<64xf32>) -> ()
      func.call @next(%i1, %n) : (memref<i32>, memref<i32>) -> ()
      "memref.copy"(%n, %i1) : (memref<i32>, memref<i32>) -> ()
      "memref.copy"(%h, %1) : (memref<64xf32>, memref<64xf32>) -> ()
      scf.yield
    } attributes {xhlo.trip_count = 20 : i64}
    %i2 = memref.alloc() : memref<i32>
    "memref.copy"(%zero, %i2) : (memref<i32>, memref<i32>) -> ()
    "memref.copy"(%a, %2) : (memref<64xf32>, memref<64xf32>) -> ()
    scf.while () : () -> () {
      %go = memref.alloc() : memref<i1>
      func.call @goes_on(%i2, %go) : (memref<i32>, memref<i1>) -> ()
      %c = memref.load %go[] : memref<i1>
      scf.condition(%c)
    } do {
      %h = memref.alloc() : memref<64xf32>
      %n = memref.alloc() : memref<i32>
      func.call @other(%2, %h) : (memref<64xf32>, memref<64xf32>) -> ()
      func.call @next(%i2, %n) : (memref<i32>, memref<i32>) -> ()
      "memref.copy"(%n, %i2) : (memref<i32>, memref<i32>) -> ()
      "memref.copy"(%h, %2) : (memref<64xf32>, memref<64xf32>) -> ()
      scf.yield
    } attributes {xhlo.trip_count = 20 : i64}
    func.return
  }
  func.func private @next(%i: memref<i32>, %0: memref<i32>) attributes {hlo.kernel = "loop"} {
    linalg.generic {indexing_maps = [affine_map<() -> ()>, affine_map<() -> ()>], iterator_types = []} ins(%i : memref<i32>) outs(%0 : memref<i32>) {
    ^bb0(%1: i32, %2: i32):
      %3 = arith.constant 1 : i32
      %4 = arith.addi %1, %3 : i32
      linalg.yield %4 : i32
    }
    func.return
  }
  func.func private @goes_on(%i: memref<i32>, %0: memref<i1>) attributes {hlo.kernel = "loop"} {
    linalg.generic {indexing_maps = [affine_map<() -> ()>, affine_map<() -> ()>], iterator_types = []} ins(%i : memref<i32>) outs(%0 : memref<i1>) {
    ^bb0(%1: i32, %2: i1):
      %3 = arith.constant 20 : i32
      %4 = arith.cmpi slt, %1, %3 : i32
      linalg.yield %4 : i1
    }
    func.return
  }
  func.func private @step(%h: memref<64xf32>, %0: memref<64xf32>) attributes {hlo.kernel = "loop"} {
    linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]} ins(%h : memref<64xf32>) outs(%0 : memref<64xf32>) {
    ^bb0(%1: f32, %2: f32):
      %3 = math.tanh %1 : f32
      linalg.yield %3 : f32
    }
    func.return
  }
  func.func private @other(%h: memref<64xf32>, %0: memref<64xf32>) attributes {hlo.kernel = "loop"} {
    linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]} ins(%h : memref<64xf32>) outs(%0 : memref<64xf32>) {
    ^bb0(%1: f32, %2: f32):
      %3 = math.exp %1 : f32
      linalg.yield %3 : f32
    }
    func.return
  }
}
