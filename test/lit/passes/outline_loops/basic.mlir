// RUN: hlo-opt %s --outline-loops --split-input-file | filecheck %s
// RUN: hlo-opt %s --outline-loops --outline-loops --split-input-file | filecheck %s
// RUN: hlo-opt %s --outline-loops --fuse-remarks --split-input-file --verify-diagnostics

// CHECK: kernels = [{name = @loop_fusion_0, {{.*}}}, {name = @loop_fusion_1, {{.*}}}, {name = @loop_0, kind = "while", ops = 7 : i64, bytes = 812 : i64, flops = 2 : i64, sites = 1 : i64}]
// CHECK-LABEL: func.func @main(
// CHECK: scf.while () : () -> () {
// CHECK-NEXT: func.call @loop_0(%[[AT:.*]], %n, %1, %xs, %0)
// CHECK: func.call @loop_fusion_1(
// CHECK: } do {
// CHECK-NEXT: scf.yield
// CHECK: func.func private @loop_fusion_1
// CHECK-NOT: @loop_fusion_2
// CHECK: func.func private @loop_0(%[[I:.*]]: memref<i32>, %{{.*}}: memref<i32>, %[[S:.*]]: memref<f32>, %xs: memref<100xf32>, %{{.*}}: memref<100xf32>) attributes {hlo.kernel = "while"}
// CHECK: %[[GO:.*]] = memref.alloca() {alignment = 64 : i64} : memref<i1>
// CHECK: %[[NEXT:.*]] = memref.alloca() {alignment = 64 : i64} : memref<i32>
// CHECK: %[[MOST:.*]] = arith.constant 1048576 : index
// CHECK: scf.while (%[[N:.*]] = %{{.*}}) : (index) -> index {
// CHECK: memref.store %{{.*}}, %[[GO]]
// CHECK: %[[LESS:.*]] = arith.cmpi ult, %[[N]], %[[MOST]]
// CHECK: %[[BOTH:.*]] = arith.andi %{{.*}}, %[[LESS]]
// CHECK: scf.condition(%[[BOTH]]) %[[N]]
// CHECK: memref.store %{{.*}}, %[[S]][]
// CHECK: "memref.copy"(%[[NEXT]], %[[I]])

// The input of a step is at the counter, which is copied at the end; nobody knows how many iterations there are.
builtin.module attributes {xhlo.program = {entry = @main, inputs = [tensor<100xf32>, tensor<i32>], outputs = [tensor<100xf32>, tensor<f32>], kernels = [{name = @loop_fusion_0, kind = "loop", ops = 0 : i64, bytes = 400 : i64, flops = 0 : i64, sites = 1 : i64}, {name = @loop_fusion_1, kind = "loop", ops = 1 : i64, bytes = 9 : i64, flops = 0 : i64, sites = 1 : i64}, {name = @loop_fusion_2, kind = "loop", ops = 5 : i64, bytes = 20 : i64, flops = 2 : i64, sites = 1 : i64}, {name = @update_0, kind = "update", ops = 1 : i64, bytes = 12 : i64, flops = 0 : i64, sites = 1 : i64}]}, xhlo.after = "plan-buffers", xhlo.arena_size = 128 : i64} {
  "memref.global"() <{sym_name = "xhlo_constant_1", type = memref<f32>, initial_value = dense<0.000000e+00> : tensor<f32>, sym_visibility = "private", constant, alignment = 64 : i64}> : () -> ()
  "memref.global"() <{sym_name = "xhlo_constant_0", type = memref<i32>, initial_value = dense<0> : tensor<i32>, sym_visibility = "private", constant, alignment = 64 : i64}> : () -> ()
  func.func @main(%xs: memref<100xf32>, %n: memref<i32>, %0: memref<100xf32>, %1: memref<f32>, %arena: memref<128xi8>) {
    %2 = arith.constant 0 : index
    %3 = arith.constant 64 : index
    %4 = memref.get_global @xhlo_constant_0 : memref<i32>
    %5 = memref.get_global @xhlo_constant_1 : memref<f32>
    func.call @loop_fusion_0(%0) : (memref<100xf32>) -> ()
    %6 = memref.view %arena[%2][] : memref<128xi8> to memref<i32>
    "memref.copy"(%4, %6) : (memref<i32>, memref<i32>) -> ()
    "memref.copy"(%5, %1) : (memref<f32>, memref<f32>) -> ()
    // expected-remark@+1 {{one kernel runs up to 1048576 iterations}}
    scf.while () : () -> () {
      %7 = memref.view %arena[%3][] : memref<128xi8> to memref<i1>
      func.call @loop_fusion_1(%6, %n, %7) : (memref<i32>, memref<i32>, memref<i1>) -> ()
      %8 = memref.load %7[] : memref<i1>
      scf.condition(%8)
    } do {
      %9 = memref.view %arena[%3][] : memref<128xi8> to memref<i32>
      func.call @loop_fusion_2(%xs, %6, %1, %1, %9) : (memref<100xf32>, memref<i32>, memref<f32>, memref<f32>, memref<i32>) -> ()
      %10 = memref.reinterpret_cast %1 to offset: [0], sizes: [1], strides: [1] : memref<f32> to memref<1xf32>
      func.call @update_0(%0, %10, %6) : (memref<100xf32>, memref<1xf32>, memref<i32>) -> ()
      "memref.copy"(%9, %6) : (memref<i32>, memref<i32>) -> ()
      scf.yield
    }
    func.return
  }
  func.func private @loop_fusion_0(%0: memref<100xf32>) attributes {hlo.kernel = "loop"} {
    %1 = arith.constant 0.000000e+00 : f32
    %2 = arith.constant 1 : index
    %3 = arith.constant 100 : index
    %4 = arith.constant 0 : index
    scf.for %5 = %4 to %3 step %2 {
      memref.store %1, %0[%5] : memref<100xf32>
    } {xhlo.parallel}
    func.return
  }
  func.func private @loop_fusion_1(%i: memref<i32>, %n: memref<i32>, %0: memref<i1>) attributes {hlo.kernel = "loop"} {
    %1 = memref.load %i[] : memref<i32>
    %2 = memref.load %n[] : memref<i32>
    %3 = arith.cmpi slt, %1, %2 : i32
    memref.store %3, %0[] : memref<i1>
    func.return
  }
  func.func private @loop_fusion_2(%xs: memref<100xf32>, %i: memref<i32>, %s: memref<f32>, %0: memref<f32>, %1: memref<i32>) attributes {hlo.kernel = "loop", xhlo.shared_buffers = array<i64: 2, 3>} {
    %2 = arith.constant 1 : i32
    %3 = arith.constant 5.000000e-01 : f32
    %4 = arith.constant 0 : index
    %5 = memref.load %i[] : memref<i32>
    %6 = arith.extsi %5 : i32 to i64
    %7 = arith.constant 0 : i64
    %8 = arith.maxsi %6, %7 : i64
    %9 = arith.constant 99 : i64
    %10 = arith.minsi %8, %9 : i64
    %11 = arith.index_cast %10 : i64 to index
    %12 = memref.load %s[] : memref<f32>
    %13 = memref.load %i[] : memref<i32>
    %14 = arith.addi %4, %11 : index
    %15 = memref.load %xs[%14] : memref<100xf32>
    %16 = arith.mulf %12, %3 : f32
    %17 = arith.addf %15, %16 : f32
    %18 = arith.addi %13, %2 : i32
    memref.store %17, %0[] : memref<f32>
    memref.store %18, %1[] : memref<i32>
    func.return
  }
  func.func private @update_0(%ys: memref<100xf32>, %0: memref<1xf32>, %i: memref<i32>) attributes {hlo.kernel = "update", hlo.tied = array<i64: 0>} {
    %1 = memref.load %i[] : memref<i32>
    %2 = arith.extsi %1 : i32 to i64
    %3 = arith.constant 0 : i64
    %4 = arith.maxsi %2, %3 : i64
    %5 = arith.constant 99 : i64
    %6 = arith.minsi %4, %5 : i64
    %7 = arith.index_cast %6 : i64 to index
    %8 = memref.reinterpret_cast %0 to offset: [0], sizes: [], strides: [] : memref<1xf32> to memref<f32>
    %9 = memref.reinterpret_cast %ys to offset: [%7], sizes: [], strides: [] : memref<100xf32> to memref<f32, strided<[], offset: ?>>
    %10 = memref.load %8[] : memref<f32>
    memref.store %10, %9[] : memref<f32, strided<[], offset: ?>>
    func.return
  }
}

// -----

// Eight iterations are one call, and no loop of the entry. The buffers of an iteration are on the stack, or, if large,
// in the arena: those that overlap are one parameter.

// CHECK-LABEL: func.func @main(
// CHECK: %[[WHOLE:.*]] = memref.view %arena[%{{.*}}][] : memref<2112xi8> to memref<2048xi8>
// CHECK: func.call @loop_0(
// CHECK-NEXT: func.return
// CHECK: func.func private @loop_0(%i: memref<i32>, %[[P:.*]]: memref<2048xi8>, %x: memref<256xf32>, %y: memref<512xf32>)
// CHECK-DAG: memref.view %[[P]][%{{.*}}][] : memref<2048xi8> to memref<512xf32>
// CHECK-DAG: memref.view %[[P]][%{{.*}}][] : memref<2048xi8> to memref<256xf32>
// CHECK: scf.while
builtin.module attributes {xhlo.program = {entry = @main, inputs = [tensor<256xf32>], outputs = [tensor<512xf32>], kernels = [{name = @less, kind = "loop", ops = 1 : i64, bytes = 5 : i64, flops = 0 : i64, sites = 1 : i64}, {name = @k, kind = "loop", ops = 1 : i64, bytes = 1024 : i64, flops = 0 : i64, sites = 1 : i64}, {name = @m, kind = "loop", ops = 1 : i64, bytes = 2048 : i64, flops = 0 : i64, sites = 1 : i64}, {name = @next, kind = "loop", ops = 1 : i64, bytes = 4 : i64, flops = 0 : i64, sites = 1 : i64}]}, xhlo.arena_size = 2112 : i64} {
  func.func @main(%x: memref<256xf32>, %y: memref<512xf32>, %arena: memref<2112xi8>) {
    %c0 = arith.constant 0 : index
    %c64 = arith.constant 64 : index
    %c1088 = arith.constant 1088 : index
    %i = memref.view %arena[%c0][] : memref<2112xi8> to memref<i32>
    // expected-remark@+1 {{one kernel runs the whole loop, with its kernels}}
    scf.while () : () -> () {
      %go = memref.view %arena[%c64][] : memref<2112xi8> to memref<i1>
      func.call @less(%i, %go) : (memref<i32>, memref<i1>) -> ()
      %1 = memref.load %go[] : memref<i1>
      scf.condition(%1)
    } do {
      %a = memref.view %arena[%c1088][] : memref<2112xi8> to memref<256xf32>
      func.call @k(%x, %a) : (memref<256xf32>, memref<256xf32>) -> ()
      %b = memref.view %arena[%c64][] : memref<2112xi8> to memref<512xf32>
      func.call @m(%b, %y) : (memref<512xf32>, memref<512xf32>) -> ()
      func.call @next(%i) : (memref<i32>) -> ()
      scf.yield
    } attributes {xhlo.trip_count = 8 : i64}
    func.return
  }
  func.func private @less(%i: memref<i32>, %go: memref<i1>) attributes {hlo.kernel = "loop"} {
    %n = arith.constant 8 : i32
    %1 = memref.load %i[] : memref<i32>
    %2 = arith.cmpi slt, %1, %n : i32
    memref.store %2, %go[] : memref<i1>
    func.return
  }
  func.func private @k(%x: memref<256xf32>, %a: memref<256xf32>) attributes {hlo.kernel = "loop"} {
    "memref.copy"(%x, %a) : (memref<256xf32>, memref<256xf32>) -> ()
    func.return
  }
  func.func private @m(%b: memref<512xf32>, %y: memref<512xf32>) attributes {hlo.kernel = "loop"} {
    "memref.copy"(%b, %y) : (memref<512xf32>, memref<512xf32>) -> ()
    func.return
  }
  func.func private @next(%i: memref<i32>) attributes {hlo.kernel = "loop"} {
    %one = arith.constant 1 : i32
    %1 = memref.load %i[] : memref<i32>
    %2 = arith.addi %1, %one : i32
    memref.store %2, %i[] : memref<i32>
    func.return
  }
}

// -----

// A loop around threads stays, and so does one around that.

// CHECK-LABEL: func.func @main(
// CHECK-COUNT-2: scf.while
// CHECK: func.call @forks
builtin.module attributes {xhlo.program = {entry = @main, inputs = [], outputs = [tensor<64xf32>], kernels = [{name = @forks, kind = "loop", ops = 1 : i64, bytes = 1024 : i64, flops = 0 : i64, sites = 1 : i64}]}, xhlo.arena_size = 64 : i64} {
  func.func @main(%y: memref<64xf32>, %arena: memref<64xi8>) {
    %c0 = arith.constant 0 : index
    %go = memref.view %arena[%c0][] : memref<64xi8> to memref<i1>
    // expected-remark@+1 {{the loop stays in the host program: @forks runs on several threads, or outside of the program}}
    scf.while () : () -> () {
      %1 = memref.load %go[] : memref<i1>
      scf.condition(%1)
    } do {
      // expected-remark@+1 {{the loop stays in the host program: @forks runs on several threads, or outside of the program}}
      scf.while () : () -> () {
        %1 = memref.load %go[] : memref<i1>
        scf.condition(%1)
      } do {
        func.call @forks(%y) : (memref<64xf32>) -> ()
        scf.yield
      }
      scf.yield
    }
    func.return
  }
  func.func private @forks(%y: memref<64xf32>) attributes {hlo.kernel = "loop"} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c64 = arith.constant 64 : index
    %v = arith.constant 1.0 : f32
    "scf.parallel"(%c0, %c64, %c1) <{operandSegmentSizes = array<i32: 1, 1, 1, 0>}> ({
    ^bb0(%i: index):
      memref.store %v, %y[%i] : memref<64xf32>
      scf.reduce
    }) : (index, index, index) -> ()
    func.return
  }
}
