// RUN: hlo-opt %s --outline-loops | filecheck %s
// RUN: hlo-opt %s --outline-loops --outline-loops | filecheck %s
// RUN: hlo-opt %s --outline-loops --fuse-remarks --verify-diagnostics

// A loop whose inner loop has become a kernel becomes one too, with that inside. Nothing but the condition ends a loop that one
// call runs whole, and the inner counter, which only the inner loop uses, begins there.

// CHECK-LABEL: func.func @main(
// CHECK-NOT: scf.while
// CHECK: func.call @loop_1(%0) : (memref<8x8xf32>) -> ()
// CHECK-NEXT: func.return
// CHECK-NOT: @loop_0
// CHECK: func.func private @loop_1(%{{.*}}: memref<8x8xf32>) attributes {hlo.kernel = "while"}
// CHECK-DAG: %[[I:r.*]] = memref.alloca() {alignment = 64 : i64} : memref<i32>
// CHECK-DAG: %[[J:q.*]] = memref.alloca() {alignment = 64 : i64} : memref<i32>
// CHECK: scf.while () : () -> () {
// CHECK: } do {
// CHECK: "memref.copy"(%{{.*}}, %{{.*}}) : (memref<i32>, memref<i32>) -> ()
// CHECK-NEXT: scf.while () : () -> () {
// CHECK: scf.condition(%{{[^)]*}})
// CHECK: } attributes {xhlo.trip_count = 7 : i64}
// CHECK: } attributes {xhlo.trip_count = 7 : i64}
builtin.module attributes {xhlo.program = {entry = @main, inputs = [tensor<8x8xf32>], outputs = [tensor<8x8xf32>], kernels = [{name = @loop_fusion_0, kind = "loop", ops = 1 : i64, bytes = 5 : i64, flops = 0 : i64, sites = 2 : i64}, {name = @loop_fusion_1, kind = "loop", ops = 4 : i64, bytes = 20 : i64, flops = 1 : i64, sites = 1 : i64}, {name = @update_0, kind = "update", ops = 1 : i64, bytes = 16 : i64, flops = 0 : i64, sites = 1 : i64}, {name = @loop_fusion_2, kind = "loop", ops = 1 : i64, bytes = 8 : i64, flops = 0 : i64, sites = 2 : i64}]}, xhlo.after = "plan-buffers", xhlo.arena_size = 192 : i64} {
  "memref.global"() <{sym_name = "xhlo_constant_0", type = memref<i32>, initial_value = dense<1> : tensor<i32>, sym_visibility = "private", constant, alignment = 64 : i64}> : () -> ()
  func.func @main(%x: memref<8x8xf32>, %0: memref<8x8xf32>, %arena: memref<192xi8>) {
    %1 = arith.constant 0 : index
    %2 = arith.constant 64 : index
    %3 = arith.constant 128 : index
    %4 = memref.get_global @xhlo_constant_0 : memref<i32>
    %r = memref.view %arena[%1][] : memref<192xi8> to memref<i32>
    "memref.copy"(%4, %r) : (memref<i32>, memref<i32>) -> ()
    "memref.copy"(%x, %0) : (memref<8x8xf32>, memref<8x8xf32>) -> ()
    // expected-remark@+1 {{one kernel runs the whole loop}}
    scf.while () : () -> () {
      %go = memref.view %arena[%2][] : memref<192xi8> to memref<i1>
      func.call @loop_fusion_0(%r, %go) : (memref<i32>, memref<i1>) -> ()
      %5 = memref.load %go[] : memref<i1>
      scf.condition(%5)
    } do {
      %6 = memref.get_global @xhlo_constant_0 : memref<i32>
      %q = memref.view %arena[%2][] : memref<192xi8> to memref<i32>
      "memref.copy"(%6, %q) : (memref<i32>, memref<i32>) -> ()
      // expected-remark@+1 {{one kernel runs the whole loop}}
      scf.while () : () -> () {
        %go_1 = memref.view %arena[%3][] : memref<192xi8> to memref<i1>
        func.call @loop_fusion_0(%q, %go_1) : (memref<i32>, memref<i1>) -> ()
        %7 = memref.load %go_1[] : memref<i1>
        scf.condition(%7)
      } do {
        %g = memref.view %arena[%3][] : memref<192xi8> to memref<1x1xf32>
        func.call @loop_fusion_1(%0, %r, %q, %g) : (memref<8x8xf32>, memref<i32>, memref<i32>, memref<1x1xf32>) -> ()
        func.call @update_0(%0, %g, %r, %q) : (memref<8x8xf32>, memref<1x1xf32>, memref<i32>, memref<i32>) -> ()
        func.call @loop_fusion_2(%q, %q) : (memref<i32>, memref<i32>) -> ()
        scf.yield
      } attributes {xhlo.trip_count = 7 : i64}
      func.call @loop_fusion_2(%r, %r) : (memref<i32>, memref<i32>) -> ()
      scf.yield
    } attributes {xhlo.trip_count = 7 : i64}
    func.return
  }
  func.func private @loop_fusion_0(%i: memref<i32>, %0: memref<i1>) attributes {hlo.kernel = "loop"} {
    %1 = arith.constant 8 : i32
    %2 = memref.load %i[] : memref<i32>
    %3 = arith.cmpi slt, %2, %1 : i32
    memref.store %3, %0[] : memref<i1>
    func.return
  }
  func.func private @loop_fusion_1(%b: memref<8x8xf32>, %i: memref<i32>, %j: memref<i32>, %0: memref<1x1xf32>) attributes {hlo.kernel = "loop"} {
    %1 = arith.constant 0 : index
    %2 = memref.load %i[] : memref<i32>
    %3 = arith.extsi %2 : i32 to i64
    %4 = arith.index_cast %3 : i64 to index
    %5 = memref.load %j[] : memref<i32>
    %6 = arith.extsi %5 : i32 to i64
    %7 = arith.index_cast %6 : i64 to index
    %8 = memref.load %i[] : memref<i32>
    %9 = arith.extsi %8 : i32 to i64
    %10 = arith.index_cast %9 : i64 to index
    %11 = arith.constant 1 : i32
    %12 = memref.load %j[] : memref<i32>
    %13 = arith.subi %12, %11 : i32
    %14 = arith.extsi %13 : i32 to i64
    %15 = arith.index_cast %14 : i64 to index
    %16 = memref.reinterpret_cast %0 to offset: [0], sizes: [], strides: [] : memref<1x1xf32> to memref<f32>
    %17 = arith.addi %1, %4 : index
    %18 = arith.addi %1, %7 : index
    %19 = memref.load %b[%17, %18] : memref<8x8xf32>
    %20 = arith.addi %1, %10 : index
    %21 = arith.addi %1, %15 : index
    %22 = memref.load %b[%20, %21] : memref<8x8xf32>
    %23 = arith.addf %19, %22 : f32
    memref.store %23, %16[] : memref<f32>
    func.return
  }
  func.func private @update_0(%b: memref<8x8xf32>, %g: memref<1x1xf32>, %i: memref<i32>, %j: memref<i32>) attributes {hlo.kernel = "update", hlo.tied = array<i64: 0>} {
    %0 = arith.constant 8 : index
    %1 = memref.load %i[] : memref<i32>
    %2 = arith.extsi %1 : i32 to i64
    %3 = arith.index_cast %2 : i64 to index
    %4 = memref.load %j[] : memref<i32>
    %5 = arith.extsi %4 : i32 to i64
    %6 = arith.index_cast %5 : i64 to index
    %7 = memref.reinterpret_cast %g to offset: [0], sizes: [], strides: [] : memref<1x1xf32> to memref<f32>
    %8 = arith.muli %3, %0 : index
    %9 = arith.addi %8, %6 : index
    %10 = memref.reinterpret_cast %b to offset: [%9], sizes: [], strides: [] : memref<8x8xf32> to memref<f32, strided<[], offset: ?>>
    %11 = memref.load %7[] : memref<f32>
    memref.store %11, %10[] : memref<f32, strided<[], offset: ?>>
    func.return
  }
  func.func private @loop_fusion_2(%j: memref<i32>, %0: memref<i32>) attributes {hlo.kernel = "loop", xhlo.shared_buffers = array<i64: 0, 1>} {
    %1 = arith.constant 1 : i32
    %2 = memref.load %j[] : memref<i32>
    %3 = arith.addi %2, %1 : i32
    memref.store %3, %0[] : memref<i32>
    func.return
  }
}

