// RUN: hlo-opt %s --outline-loops | filecheck %s

// The inner loop takes %w, which its first kernel reads, and its counter %q as one buffer, because they overlap. The outer
// loop writes %w by itself: the stack has one buffer for all of these, too.

// CHECK: func.func private @loop_1(
// CHECK: %[[BOTH:.*]] = memref.alloca() {alignment = 64 : i64} : memref<4xi8>
// CHECK: %[[W:w.*]] = memref.view %[[BOTH]][%{{.*}}][] : memref<4xi8> to memref<i8>
// CHECK: %[[WHOLE:.*]] = memref.view %[[BOTH]][%{{.*}}][] : memref<4xi8> to memref<4xi8>
// CHECK: memref.store %{{.*}}, %[[W]][] : memref<i8>
// CHECK: %[[READ:.*]] = memref.view %[[WHOLE]][%{{.*}}][] : memref<4xi8> to memref<i8>
// CHECK: memref.load %[[READ]][] : memref<i8>
builtin.module attributes {xhlo.program = {entry = @main, inputs = [tensor<i32>], outputs = [tensor<i32>], kernels = [{name = @goes_on, kind = "loop", ops = 1 : i64, bytes = 5 : i64, flops = 0 : i64, sites = 2 : i64}, {name = @write, kind = "loop", ops = 1 : i64, bytes = 5 : i64, flops = 0 : i64, sites = 1 : i64}, {name = @read, kind = "loop", ops = 1 : i64, bytes = 5 : i64, flops = 0 : i64, sites = 1 : i64}, {name = @add, kind = "loop", ops = 1 : i64, bytes = 12 : i64, flops = 0 : i64, sites = 1 : i64}, {name = @next, kind = "loop", ops = 1 : i64, bytes = 8 : i64, flops = 0 : i64, sites = 2 : i64}]}, xhlo.after = "plan-buffers", xhlo.arena_size = 256 : i64} {
  "memref.global"() <{sym_name = "zero", type = memref<i32>, initial_value = dense<0> : tensor<i32>, sym_visibility = "private", constant, alignment = 64 : i64}> : () -> ()
  func.func @main(%x: memref<i32>, %0: memref<i32>, %arena: memref<256xi8>) {
    %1 = arith.constant 0 : index
    %2 = arith.constant 64 : index
    %3 = arith.constant 128 : index
    %4 = arith.constant 192 : index
    %5 = memref.get_global @zero : memref<i32>
    %r = memref.view %arena[%1][] : memref<256xi8> to memref<i32>
    "memref.copy"(%5, %r) : (memref<i32>, memref<i32>) -> ()
    "memref.copy"(%x, %0) : (memref<i32>, memref<i32>) -> ()
    scf.while () : () -> () {
      %go = memref.view %arena[%2][] : memref<256xi8> to memref<i1>
      func.call @goes_on(%r, %go) : (memref<i32>, memref<i1>) -> ()
      %6 = memref.load %go[] : memref<i1>
      scf.condition(%6)
    } do {
      %7 = memref.get_global @zero : memref<i32>
      %w = memref.view %arena[%2][] : memref<256xi8> to memref<i8>
      func.call @write(%r, %w) : (memref<i32>, memref<i8>) -> ()
      %v = memref.view %arena[%3][] : memref<256xi8> to memref<i32>
      func.call @read(%w, %v) : (memref<i8>, memref<i32>) -> ()
      %q = memref.view %arena[%2][] : memref<256xi8> to memref<i32>
      "memref.copy"(%7, %q) : (memref<i32>, memref<i32>) -> ()
      scf.while () : () -> () {
        %go_1 = memref.view %arena[%4][] : memref<256xi8> to memref<i1>
        func.call @goes_on(%q, %go_1) : (memref<i32>, memref<i1>) -> ()
        %8 = memref.load %go_1[] : memref<i1>
        scf.condition(%8)
      } do {
        func.call @add(%0, %v, %0) : (memref<i32>, memref<i32>, memref<i32>) -> ()
        func.call @next(%q, %q) : (memref<i32>, memref<i32>) -> ()
        scf.yield
      } attributes {xhlo.trip_count = 7 : i64}
      func.call @next(%r, %r) : (memref<i32>, memref<i32>) -> ()
      scf.yield
    } attributes {xhlo.trip_count = 7 : i64}
    func.return
  }
  func.func private @goes_on(%i: memref<i32>, %0: memref<i1>) attributes {hlo.kernel = "loop"} {
    %1 = arith.constant 7 : i32
    %2 = memref.load %i[] : memref<i32>
    %3 = arith.cmpi slt, %2, %1 : i32
    memref.store %3, %0[] : memref<i1>
    func.return
  }
  func.func private @write(%i: memref<i32>, %0: memref<i8>) attributes {hlo.kernel = "loop"} {
    %1 = memref.load %i[] : memref<i32>
    %2 = arith.trunci %1 : i32 to i8
    memref.store %2, %0[] : memref<i8>
    func.return
  }
  func.func private @read(%w: memref<i8>, %0: memref<i32>) attributes {hlo.kernel = "loop"} {
    %1 = memref.load %w[] : memref<i8>
    %2 = arith.extsi %1 : i8 to i32
    memref.store %2, %0[] : memref<i32>
    func.return
  }
  func.func private @add(%x: memref<i32>, %y: memref<i32>, %0: memref<i32>) attributes {hlo.kernel = "loop"} {
    %1 = memref.load %x[] : memref<i32>
    %2 = memref.load %y[] : memref<i32>
    %3 = arith.addi %1, %2 : i32
    memref.store %3, %0[] : memref<i32>
    func.return
  }
  func.func private @next(%i: memref<i32>, %0: memref<i32>) attributes {hlo.kernel = "loop"} {
    %1 = arith.constant 1 : i32
    %2 = memref.load %i[] : memref<i32>
    %3 = arith.addi %2, %1 : i32
    memref.store %3, %0[] : memref<i32>
    func.return
  }
}
