// RUN: hlo-opt %s --outline-loops | filecheck %s
// RUN: hlo-opt %s --outline-loops --outline-loops | filecheck %s
// RUN: hlo-opt %s --outline-loops --place-safepoints | filecheck %s --check-prefix=PLACED
// RUN: hlo-opt %s --outline-loops --place-safepoints --place-safepoints | filecheck %s --check-prefix=PLACED
// RUN: hlo-opt %s --outline-loops --fuse-remarks --verify-diagnostics

// Nobody knows how often the inner loop runs: a call of the kernel with both asks whether the run goes on. Iterations of
// the outer loop are short, so that it asks once in eight; the inner one asks where its kernel has made as many as it may.

// CHECK-LABEL: func.func @main(
// CHECK-NOT: scf.while
// CHECK: func.call @loop_1(%0, %n, %arena) : (memref<i32>, memref<i32>, memref<192xi8>) -> ()
// CHECK-NEXT: func.return
// CHECK-NOT: @loop_0
// CHECK: func.func private @loop_1(%{{.*}}: memref<i32>, %n: memref<i32>, %arena: memref<192xi8>) attributes {xhlo.asks, hlo.kernel = "while"}
// CHECK: scf.while () : () -> () {
// CHECK: } do {
// CHECK: scf.while () : () -> () {
// CHECK: scf.while ({{.*}}) : (index) -> index {
// CHECK: } attributes {xhlo.asks = 1 : i64}
// CHECK: } attributes {xhlo.asks = 8 : i64}

// PLACED: func.func private @loop_1(
// PLACED-DAG: %[[COUNT:[0-9]+]] = memref.alloca() : memref<index>
// PLACED-DAG: memref.store %[[ZERO:[0-9]+]], %[[COUNT]][]
// PLACED: scf.while () : () -> () {
// PLACED: %[[GO:[0-9]+]] = memref.load %{{[a-z0-9_]+}}[] : memref<i1>
// PLACED: scf.if %[[GO]] -> (i1) {
// PLACED: %[[MORE:[0-9]+]] = arith.addi
// PLACED: %[[DUE:[0-9]+]] = arith.cmpi uge, %[[MORE]],
// PLACED: scf.if %[[DUE]] -> (i1) {
// PLACED-NEXT: memref.store %[[ZERO]], %[[COUNT]][]
// PLACED-NEXT: cpu.safepoint(%arena : memref<192xi8>)
// PLACED: } else {
// PLACED-NEXT: memref.store %[[MORE]], %[[COUNT]][]
// PLACED: scf.while () : () -> () {
// PLACED: scf.while ({{.*}}) : (index) -> index {
// PLACED-NOT: cpu.safepoint
// PLACED: } do {
// PLACED: %[[AGAIN:[0-9]+]] = memref.load %{{.*}}[] : memref<i1>
// PLACED: scf.if %[[AGAIN]] -> (i1) {
// PLACED-NEXT: cpu.safepoint(%arena : memref<192xi8>)
// PLACED-NOT: cpu.safepoint
builtin.module attributes {xhlo.program = {entry = @main, inputs = [tensor<i32>], outputs = [tensor<i32>], kernels = [{name = @less, kind = "loop", ops = 1 : i64, bytes = 9 : i64, flops = 0 : i64, sites = 2 : i64}, {name = @next, kind = "loop", ops = 1 : i64, bytes = 8 : i64, flops = 1 : i64, sites = 2 : i64}]}, xhlo.arena_size = 192 : i64} {
  func.func @main(%n: memref<i32>, %0: memref<i32>, %arena: memref<192xi8>) {
    %1 = arith.constant 0 : index
    %2 = arith.constant 64 : index
    %3 = arith.constant 128 : index
    // expected-remark@+1 {{one kernel runs the whole loop}}
    scf.while () : () -> () {
      %go = memref.view %arena[%1][] : memref<192xi8> to memref<i1>
      func.call @less(%0, %n, %go) : (memref<i32>, memref<i32>, memref<i1>) -> ()
      %4 = memref.load %go[] : memref<i1>
      scf.condition(%4)
    } do {
      %i = memref.view %arena[%2][] : memref<192xi8> to memref<i32>
      "memref.copy"(%0, %i) : (memref<i32>, memref<i32>) -> ()
      // expected-remark@+1 {{one kernel runs up to 1048576 iterations}}
      scf.while () : () -> () {
        %go_1 = memref.view %arena[%3][] : memref<192xi8> to memref<i1>
        func.call @less(%i, %n, %go_1) : (memref<i32>, memref<i32>, memref<i1>) -> ()
        %5 = memref.load %go_1[] : memref<i1>
        scf.condition(%5)
      } do {
        func.call @next(%i) : (memref<i32>) -> ()
        scf.yield
      }
      func.call @next(%0) : (memref<i32>) -> ()
      scf.yield
    }
    func.return
  }
  func.func private @less(%i: memref<i32>, %n: memref<i32>, %go: memref<i1>) attributes {hlo.kernel = "loop"} {
    %1 = memref.load %i[] : memref<i32>
    %2 = memref.load %n[] : memref<i32>
    %3 = arith.cmpi slt, %1, %2 : i32
    memref.store %3, %go[] : memref<i1>
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
