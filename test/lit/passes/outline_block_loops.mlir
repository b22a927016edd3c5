// RUN: hlo-opt %s --outline-block-loops --split-input-file | filecheck %s
// RUN: hlo-opt %s --outline-block-loops --outline-block-loops --split-input-file | filecheck %s
// RUN: hlo-opt %s --outline-block-loops --fuse-remarks --split-input-file --verify-diagnostics

// The state is in a buffer of the kernel until the loop ends; the counter begins there, and so does what the loop reads.

// CHECK: kernels = [{name = @loop_0, kind = "while", ops = 4 : i64, bytes = 512 : i64, flops = 61 : i64, sites = 1 : i64}]
// CHECK: func.func @main(%h0: memref<64xf32>, %0: memref<64xf32>) {
// CHECK-NOT: memref.get_global
// CHECK: func.call @loop_0(%h0, %0) : (memref<64xf32>, memref<64xf32>) -> ()
// CHECK-NEXT: func.return
// CHECK-NOT: func.func private @step
// CHECK: func.func private @loop_0(%h0: memref<64xf32>, %[[OUT:.*]]: memref<64xf32>) attributes {hlo.kernel = "while"}
// CHECK: math.exp
// CHECK: linalg.fill ins(%{{.*}} : i32) outs(%[[I:.*]] : memref<i32>)
// CHECK: "memref.copy"(%{{.*}}, %[[H:.*]]) : (memref<64xf32>, memref<64xf32>) -> ()
// CHECK: scf.while () : () -> () {
// CHECK: ins(%[[I]] : memref<i32>)
// CHECK: } do {
// CHECK: ins(%[[H]] : memref<64xf32>)
// CHECK: math.tanh
// CHECK: } attributes {xhlo.trip_count = 20 : i64}
// CHECK: "memref.copy"(%[[H]], %[[OUT]])
builtin.module attributes {xhlo.program = {entry = @main, inputs = [tensor<64xf32>], outputs = [tensor<64xf32>], kernels = [{name = @goes_on, kind = "loop", ops = 1 : i64, bytes = 5 : i64, flops = 1 : i64, sites = 1 : i64}, {name = @step, kind = "loop", ops = 1 : i64, bytes = 512 : i64, flops = 1 : i64, sites = 1 : i64}, {name = @next, kind = "loop", ops = 1 : i64, bytes = 8 : i64, flops = 1 : i64, sites = 1 : i64}, {name = @before, kind = "loop", ops = 1 : i64, bytes = 512 : i64, flops = 1 : i64, sites = 1 : i64}]}, xhlo.after = "bufferize"} {
  "memref.global"() <{sym_name = "zero", type = memref<i32>, initial_value = dense<0> : tensor<i32>, sym_visibility = "private", constant, alignment = 64 : i64}> : () -> ()
  func.func @main(%h0: memref<64xf32>, %0: memref<64xf32>) {
    %zero = memref.get_global @zero : memref<i32>
    %i = memref.alloc() : memref<i32>
    %b = memref.alloc() : memref<64xf32>
    func.call @before(%h0, %b) : (memref<64xf32>, memref<64xf32>) -> ()
    "memref.copy"(%zero, %i) : (memref<i32>, memref<i32>) -> ()
    "memref.copy"(%b, %0) : (memref<64xf32>, memref<64xf32>) -> ()
    // expected-remark@+1 {{one block runs the whole loop, and 3 operations before it}}
    scf.while () : () -> () {
      %go = memref.alloc() : memref<i1>
      func.call @goes_on(%i, %go) : (memref<i32>, memref<i1>) -> ()
      %1 = memref.load %go[] : memref<i1>
      scf.condition(%1)
    } do {
      %h = memref.alloc() : memref<64xf32>
      %n = memref.alloc() : memref<i32>
      func.call @step(%0, %h) : (memref<64xf32>, memref<64xf32>) -> ()
      func.call @next(%i, %n) : (memref<i32>, memref<i32>) -> ()
      "memref.copy"(%n, %i) : (memref<i32>, memref<i32>) -> ()
      "memref.copy"(%h, %0) : (memref<64xf32>, memref<64xf32>) -> ()
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
  func.func private @before(%h: memref<64xf32>, %0: memref<64xf32>) attributes {hlo.kernel = "loop"} {
    linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]} ins(%h : memref<64xf32>) outs(%0 : memref<64xf32>) {
    ^bb0(%1: f32, %2: f32):
      %3 = math.exp %1 : f32
      linalg.yield %3 : f32
    }
    func.return
  }
}

// -----

// Iterations of a loop over tiles are blocks; each has a counter and buffers of its own.

// CHECK: func.func @main(
// CHECK-NEXT: func.call @loop_0(
// CHECK-NEXT: func.return
// CHECK: func.func private @loop_0(
// CHECK: "scf.parallel"
// CHECK: ^bb0(%[[TILE:.*]]: index):
// CHECK: memref.alloc() : memref<64xf32>
// CHECK: %[[N:.*]] = arith.index_cast %[[TILE]] : index to i32
// CHECK: linalg.fill ins(%[[N]] : i32) outs(%[[I:.*]] : memref<i32>)
// CHECK: memref.load %[[I]]
builtin.module attributes {xhlo.program = {entry = @main, inputs = [tensor<6x64xf32>], outputs = [tensor<6x64xf32>], kernels = [{name = @goes_on, kind = "loop", ops = 1 : i64, bytes = 5 : i64, flops = 1 : i64, sites = 1 : i64}, {name = @part, kind = "loop", ops = 1 : i64, bytes = 3000 : i64, flops = 1 : i64, sites = 1 : i64}, {name = @write, kind = "update", ops = 1 : i64, bytes = 512 : i64, flops = 1 : i64, sites = 1 : i64}, {name = @next, kind = "loop", ops = 1 : i64, bytes = 8 : i64, flops = 1 : i64, sites = 1 : i64}]}, xhlo.after = "bufferize"} {
  "memref.global"() <{sym_name = "zero", type = memref<i32>, initial_value = dense<0> : tensor<i32>, sym_visibility = "private", constant, alignment = 64 : i64}> : () -> ()
  func.func @main(%x: memref<6x64xf32>, %0: memref<6x64xf32>) {
    %zero = memref.get_global @zero : memref<i32>
    %i = memref.alloc() : memref<i32>
    "memref.copy"(%zero, %i) : (memref<i32>, memref<i32>) -> ()
    // expected-remark@+1 {{6 blocks run a tile each, with its loop}}
    scf.while () : () -> () {
      %go = memref.alloc() : memref<i1>
      func.call @goes_on(%i, %go) : (memref<i32>, memref<i1>) -> ()
      %1 = memref.load %go[] : memref<i1>
      scf.condition(%1)
    } do {
      %h = memref.alloc() : memref<64xf32>
      %n = memref.alloc() : memref<i32>
      func.call @part(%x, %i, %h) : (memref<6x64xf32>, memref<i32>, memref<64xf32>) -> ()
      func.call @write(%0, %h, %i) : (memref<6x64xf32>, memref<64xf32>, memref<i32>) -> ()
      func.call @next(%i, %n) : (memref<i32>, memref<i32>) -> ()
      "memref.copy"(%n, %i) : (memref<i32>, memref<i32>) -> ()
      scf.yield
    } attributes {xhlo.independent = 6 : i64, xhlo.trip_count = 6 : i64}
    func.return
  }
  func.func private @part(%x: memref<6x64xf32>, %i: memref<i32>, %0: memref<64xf32>) attributes {hlo.kernel = "loop"} {
    %1 = memref.load %i[] : memref<i32>
    %2 = arith.index_cast %1 : i32 to index
    %3 = memref.subview %x[%2, 0] [1, 64] [1, 1] : memref<6x64xf32> to memref<64xf32, strided<[1], offset: ?>>
    "memref.copy"(%3, %0) : (memref<64xf32, strided<[1], offset: ?>>, memref<64xf32>) -> ()
    func.return
  }
  func.func private @write(%0: memref<6x64xf32>, %h: memref<64xf32>, %i: memref<i32>) attributes {hlo.kernel = "update", hlo.tied = array<i64: 0>} {
    %1 = memref.load %i[] : memref<i32>
    %2 = arith.index_cast %1 : i32 to index
    %3 = memref.subview %0[%2, 0] [1, 64] [1, 1] : memref<6x64xf32> to memref<64xf32, strided<[1], offset: ?>>
    "memref.copy"(%h, %3) : (memref<64xf32>, memref<64xf32, strided<[1], offset: ?>>) -> ()
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
}

// -----

// A block would take longer than launches that spread over the chip.

// CHECK: scf.while
// CHECK: func.call @step
builtin.module attributes {xhlo.program = {entry = @main, inputs = [tensor<1000000xf32>], outputs = [tensor<1000000xf32>], kernels = [{name = @goes_on, kind = "loop", ops = 1 : i64, bytes = 5 : i64, flops = 1 : i64, sites = 1 : i64}, {name = @step, kind = "loop", ops = 1 : i64, bytes = 8000000 : i64, flops = 1 : i64, sites = 1 : i64}, {name = @next, kind = "loop", ops = 1 : i64, bytes = 8 : i64, flops = 1 : i64, sites = 1 : i64}]}, xhlo.after = "bufferize"} {
  "memref.global"() <{sym_name = "zero", type = memref<i32>, initial_value = dense<0> : tensor<i32>, sym_visibility = "private", constant, alignment = 64 : i64}> : () -> ()
  func.func @main(%h0: memref<1000000xf32>, %0: memref<1000000xf32>) {
    %zero = memref.get_global @zero : memref<i32>
    %i = memref.alloc() : memref<i32>
    "memref.copy"(%zero, %i) : (memref<i32>, memref<i32>) -> ()
    "memref.copy"(%h0, %0) : (memref<1000000xf32>, memref<1000000xf32>) -> ()
    // expected-remark@+1 {{the loop stays in the host program: a block takes}}
    scf.while () : () -> () {
      %go = memref.alloc() : memref<i1>
      func.call @goes_on(%i, %go) : (memref<i32>, memref<i1>) -> ()
      %1 = memref.load %go[] : memref<i1>
      scf.condition(%1)
    } do {
      %h = memref.alloc() : memref<1000000xf32>
      %n = memref.alloc() : memref<i32>
      func.call @step(%0, %h) : (memref<1000000xf32>, memref<1000000xf32>) -> ()
      func.call @next(%i, %n) : (memref<i32>, memref<i32>) -> ()
      "memref.copy"(%n, %i) : (memref<i32>, memref<i32>) -> ()
      "memref.copy"(%h, %0) : (memref<1000000xf32>, memref<1000000xf32>) -> ()
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
  func.func private @step(%h: memref<1000000xf32>, %0: memref<1000000xf32>) attributes {hlo.kernel = "loop"} {
    linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]} ins(%h : memref<1000000xf32>) outs(%0 : memref<1000000xf32>) {
    ^bb0(%1: f32, %2: f32):
      %3 = math.tanh %1 : f32
      linalg.yield %3 : f32
    }
    func.return
  }
}

// -----

// CHECK: func.call @step
builtin.module attributes {xhlo.program = {entry = @main, inputs = [tensor<64xf32>], outputs = [tensor<64xf32>], kernels = [{name = @goes_on, kind = "loop", ops = 1 : i64, bytes = 5 : i64, flops = 1 : i64, sites = 1 : i64}, {name = @step, kind = "loop", ops = 1 : i64, bytes = 512 : i64, flops = 1 : i64, sites = 1 : i64}, {name = @next, kind = "loop", ops = 1 : i64, bytes = 8 : i64, flops = 1 : i64, sites = 1 : i64}]}, xhlo.after = "bufferize"} {
  "memref.global"() <{sym_name = "zero", type = memref<i32>, initial_value = dense<0> : tensor<i32>, sym_visibility = "private", constant, alignment = 64 : i64}> : () -> ()
  func.func @main(%h0: memref<64xf32>, %0: memref<64xf32>) {
    %zero = memref.get_global @zero : memref<i32>
    %i = memref.alloc() : memref<i32>
    "memref.copy"(%zero, %i) : (memref<i32>, memref<i32>) -> ()
    "memref.copy"(%h0, %0) : (memref<64xf32>, memref<64xf32>) -> ()
    // expected-remark@+1 {{the loop stays in the host program: it may not end}}
    scf.while () : () -> () {
      %go = memref.alloc() : memref<i1>
      func.call @goes_on(%i, %go) : (memref<i32>, memref<i1>) -> ()
      %1 = memref.load %go[] : memref<i1>
      scf.condition(%1)
    } do {
      %h = memref.alloc() : memref<64xf32>
      %n = memref.alloc() : memref<i32>
      func.call @step(%0, %h) : (memref<64xf32>, memref<64xf32>) -> ()
      func.call @next(%i, %n) : (memref<i32>, memref<i32>) -> ()
      "memref.copy"(%n, %i) : (memref<i32>, memref<i32>) -> ()
      "memref.copy"(%h, %0) : (memref<64xf32>, memref<64xf32>) -> ()
      scf.yield
    }
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
}

// -----

// CHECK: func.call @step
builtin.module attributes {xhlo.program = {entry = @main, inputs = [tensor<64xf32>], outputs = [tensor<64xf32>], kernels = [{name = @goes_on, kind = "loop", ops = 1 : i64, bytes = 5 : i64, flops = 1 : i64, sites = 1 : i64}, {name = @step, kind = "loop", ops = 1 : i64, bytes = 512 : i64, flops = 1 : i64, sites = 1 : i64}, {name = @next, kind = "loop", ops = 1 : i64, bytes = 8 : i64, flops = 1 : i64, sites = 1 : i64}]}, xhlo.after = "bufferize"} {
  "memref.global"() <{sym_name = "zero", type = memref<i32>, initial_value = dense<0> : tensor<i32>, sym_visibility = "private", constant, alignment = 64 : i64}> : () -> ()
  func.func @main(%h0: memref<64xf32>, %0: memref<64xf32>) {
    %zero = memref.get_global @zero : memref<i32>
    %i = memref.alloc() : memref<i32>
    "memref.copy"(%zero, %i) : (memref<i32>, memref<i32>) -> ()
    "memref.copy"(%h0, %0) : (memref<64xf32>, memref<64xf32>) -> ()
    // expected-remark@+1 {{the loop stays in the host program: @step is not for a block}}
    scf.while () : () -> () {
      %go = memref.alloc() : memref<i1>
      func.call @goes_on(%i, %go) : (memref<i32>, memref<i1>) -> ()
      %1 = memref.load %go[] : memref<i1>
      scf.condition(%1)
    } do {
      %h = memref.alloc() : memref<64xf32>
      %n = memref.alloc() : memref<i32>
      func.call @step(%0, %h) : (memref<64xf32>, memref<64xf32>) -> ()
      func.call @next(%i, %n) : (memref<i32>, memref<i32>) -> ()
      "memref.copy"(%n, %i) : (memref<i32>, memref<i32>) -> ()
      "memref.copy"(%h, %0) : (memref<64xf32>, memref<64xf32>) -> ()
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
    %a = arith.constant 0 : index
    %b = arith.constant 64 : index
    %c = arith.constant 1 : index
    scf.for %k = %a to %b step %c {
      %1 = memref.load %h[%k] : memref<64xf32>
      memref.store %1, %0[%k] : memref<64xf32>
    }
    func.return
  }
}

// -----

// A loop around tiles leaves them to several blocks.

// CHECK: func.func @main(
// CHECK: scf.while () : () -> () {
// CHECK: func.call @loop_0(
// CHECK: attributes {xhlo.trip_count = 20 : i64}
// CHECK: func.func private @loop_0(
// CHECK: "scf.parallel"
builtin.module attributes {xhlo.program = {entry = @main, inputs = [tensor<64xf32>], outputs = [], kernels = [{name = @goes_on, kind = "loop", ops = 1 : i64, bytes = 5 : i64, flops = 1 : i64, sites = 2 : i64}, {name = @step, kind = "loop", ops = 1 : i64, bytes = 512 : i64, flops = 1 : i64, sites = 1 : i64}, {name = @next, kind = "loop", ops = 1 : i64, bytes = 8 : i64, flops = 1 : i64, sites = 2 : i64}]}, xhlo.after = "bufferize"} {
  "memref.global"() <{sym_name = "zero", type = memref<i32>, initial_value = dense<0> : tensor<i32>, sym_visibility = "private", constant, alignment = 64 : i64}> : () -> ()
  func.func @main(%h0: memref<64xf32>) {
    %zero = memref.get_global @zero : memref<i32>
    %i = memref.alloc() : memref<i32>
    "memref.copy"(%zero, %i) : (memref<i32>, memref<i32>) -> ()
    // expected-remark@+1 {{the loop stays in the host program: it runs tiles, which have a block each}}
    scf.while () : () -> () {
      %go = memref.alloc() : memref<i1>
      func.call @goes_on(%i, %go) : (memref<i32>, memref<i1>) -> ()
      %1 = memref.load %go[] : memref<i1>
      scf.condition(%1)
    } do {
      %t = memref.alloc() : memref<i32>
      "memref.copy"(%zero, %t) : (memref<i32>, memref<i32>) -> ()
      // expected-remark@+1 {{20 blocks run a tile each, with its loop}}
      scf.while () : () -> () {
        %go = memref.alloc() : memref<i1>
        func.call @goes_on(%t, %go) : (memref<i32>, memref<i1>) -> ()
        %1 = memref.load %go[] : memref<i1>
        scf.condition(%1)
      } do {
        %h = memref.alloc() : memref<64xf32>
        %m = memref.alloc() : memref<i32>
        func.call @step(%h0, %h) : (memref<64xf32>, memref<64xf32>) -> ()
        func.call @next(%t, %m) : (memref<i32>, memref<i32>) -> ()
        "memref.copy"(%m, %t) : (memref<i32>, memref<i32>) -> ()
        scf.yield
      } attributes {xhlo.independent = 20 : i64, xhlo.trip_count = 20 : i64}
      %n = memref.alloc() : memref<i32>
      func.call @next(%i, %n) : (memref<i32>, memref<i32>) -> ()
      "memref.copy"(%n, %i) : (memref<i32>, memref<i32>) -> ()
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
}
