// RUN: hlo-opt %s --outline-loops | filecheck %s
// RUN: hlo-opt %s --outline-loops --fuse-remarks --verify-diagnostics

// The counter of tiles may be in the memory of a result, which is computed later: each tile has a number of its own all
// the same, and none writes to that memory.

// CHECK-LABEL: func.func @main(
// CHECK: func.call @loop_0(%x, %0) : (memref<6x64xf32>, memref<6x64xf32>) -> ()
// CHECK: func.func private @loop_0(%{{.*}}: memref<6x64xf32>, %{{.*}}: memref<6x64xf32>) attributes {hlo.kernel = "while"}
// CHECK: "scf.parallel"
// CHECK-NEXT: ^{{.*}}(%[[TILE:[0-9]+]]: index):
// CHECK-NEXT: %[[I:[0-9]+]] = memref.alloca() {alignment = 64 : i64} : memref<i32>
// CHECK: %[[NUMBER:[0-9]+]] = arith.index_cast %[[TILE]] : index to i32
// CHECK-NEXT: memref.store %[[NUMBER]], %[[I]][] : memref<i32>
// CHECK-COUNT-3: memref.load %[[I]][] : memref<i32>
// CHECK: memref.store %{{[0-9]+}}, %[[I]][] : memref<i32>
// CHECK-NEXT: scf.reduce
builtin.module attributes {xhlo.program = {entry = @main, inputs = [tensor<6x64xf32>], outputs = [tensor<6x64xf32>, tensor<i32>], kernels = [{name = @goes_on, kind = "loop", ops = 1 : i64, bytes = 5 : i64, flops = 1 : i64, sites = 1 : i64}, {name = @part, kind = "loop", ops = 1 : i64, bytes = 3000 : i64, flops = 1 : i64, sites = 1 : i64}, {name = @write, kind = "update", ops = 1 : i64, bytes = 512 : i64, flops = 1 : i64, sites = 1 : i64}, {name = @next, kind = "loop", ops = 1 : i64, bytes = 8 : i64, flops = 1 : i64, sites = 1 : i64}]}, xhlo.after = "plan-buffers", xhlo.arena_size = 256 : i64} {
  "memref.global"() <{sym_name = "zero", type = memref<i32>, initial_value = dense<0> : tensor<i32>, sym_visibility = "private", constant, alignment = 64 : i64}> : () -> ()
  func.func @main(%x: memref<6x64xf32>, %0: memref<6x64xf32>, %1: memref<i32>, %arena: memref<256xi8>) {
    %2 = arith.constant 0 : index
    %zero = memref.get_global @zero : memref<i32>
    %i = memref.reinterpret_cast %1 to offset: [0], sizes: [], strides: [] : memref<i32> to memref<i32>
    "memref.copy"(%zero, %i) : (memref<i32>, memref<i32>) -> ()
    // expected-remark@+1 {{one kernel runs 6 tiles on several threads, with their loops}}
    scf.while () : () -> () {
      %go = memref.view %arena[%2][] : memref<256xi8> to memref<i1>
      func.call @goes_on(%i, %go) : (memref<i32>, memref<i1>) -> ()
      %3 = memref.load %go[] : memref<i1>
      scf.condition(%3)
    } do {
      %h = memref.view %arena[%2][] : memref<256xi8> to memref<64xf32>
      func.call @part(%x, %i, %h) : (memref<6x64xf32>, memref<i32>, memref<64xf32>) -> ()
      func.call @write(%0, %h, %i) : (memref<6x64xf32>, memref<64xf32>, memref<i32>) -> ()
      func.call @next(%i, %i) : (memref<i32>, memref<i32>) -> ()
      scf.yield
    } attributes {xhlo.independent = 6 : i64, xhlo.trip_count = 6 : i64}
    "memref.copy"(%zero, %1) : (memref<i32>, memref<i32>) -> ()
    func.return
  }
  func.func private @goes_on(%i: memref<i32>, %0: memref<i1>) attributes {hlo.kernel = "loop"} {
    %1 = arith.constant 6 : i32
    %2 = memref.load %i[] : memref<i32>
    %3 = arith.cmpi slt, %2, %1 : i32
    memref.store %3, %0[] : memref<i1>
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
  func.func private @next(%i: memref<i32>, %0: memref<i32>) attributes {hlo.kernel = "loop", xhlo.shared_buffers = array<i64: 0, 1>} {
    %1 = arith.constant 1 : i32
    %2 = memref.load %i[] : memref<i32>
    %3 = arith.addi %2, %1 : i32
    memref.store %3, %0[] : memref<i32>
    func.return
  }
}
