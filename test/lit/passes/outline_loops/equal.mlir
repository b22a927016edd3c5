// RUN: hlo-opt %s --outline-loops | filecheck %s

// The first two loops differ only in their buffers; the third one calls another kernel.

// CHECK: kernels = [{{.*}}{name = @loop_0, kind = "while", {{[^}]*}}, sites = 2 : i64}, {name = @loop_2, kind = "while", {{[^}]*}}, sites = 1 : i64}]
// CHECK-LABEL: func.func @main(
// CHECK: func.call @loop_0(%{{.*}}, %n, %a)
// CHECK: func.call @loop_0(%{{.*}}, %n, %b)
// CHECK: func.call @loop_2(%{{.*}}, %n, %c)
// CHECK: func.func private @loop_0(
// CHECK-NOT: func.func private @loop_1(
// CHECK: func.func private @loop_2(

builtin.module attributes {xhlo.program = {entry = @main, inputs = [tensor<i32>], outputs = [tensor<f32>, tensor<f32>, tensor<f32>], kernels = [{name = @less, kind = "loop", ops = 1 : i64, bytes = 9 : i64, flops = 0 : i64, sites = 3 : i64}, {name = @double, kind = "loop", ops = 2 : i64, bytes = 16 : i64, flops = 1 : i64, sites = 2 : i64}, {name = @square, kind = "loop", ops = 2 : i64, bytes = 16 : i64, flops = 1 : i64, sites = 1 : i64}]}, xhlo.after = "plan-buffers", xhlo.arena_size = 256 : i64} {
  func.func @main(%n: memref<i32>, %a: memref<f32>, %b: memref<f32>, %c: memref<f32>, %arena: memref<256xi8>) {
    %0 = arith.constant 0 : index
    %1 = arith.constant 64 : index
    %2 = arith.constant 128 : index
    %3 = arith.constant 192 : index
    %4 = memref.view %arena[%0][] : memref<256xi8> to memref<i32>
    %5 = memref.view %arena[%1][] : memref<256xi8> to memref<i32>
    %6 = memref.view %arena[%2][] : memref<256xi8> to memref<i32>
    scf.while () : () -> () {
      %7 = memref.view %arena[%3][] : memref<256xi8> to memref<i1>
      func.call @less(%4, %n, %7) : (memref<i32>, memref<i32>, memref<i1>) -> ()
      %8 = memref.load %7[] : memref<i1>
      scf.condition(%8)
    } do {
      func.call @double(%4, %a) : (memref<i32>, memref<f32>) -> ()
      scf.yield
    }
    scf.while () : () -> () {
      %7 = memref.view %arena[%3][] : memref<256xi8> to memref<i1>
      func.call @less(%5, %n, %7) : (memref<i32>, memref<i32>, memref<i1>) -> ()
      %8 = memref.load %7[] : memref<i1>
      scf.condition(%8)
    } do {
      func.call @double(%5, %b) : (memref<i32>, memref<f32>) -> ()
      scf.yield
    }
    scf.while () : () -> () {
      %7 = memref.view %arena[%3][] : memref<256xi8> to memref<i1>
      func.call @less(%6, %n, %7) : (memref<i32>, memref<i32>, memref<i1>) -> ()
      %8 = memref.load %7[] : memref<i1>
      scf.condition(%8)
    } do {
      func.call @square(%6, %c) : (memref<i32>, memref<f32>) -> ()
      scf.yield
    }
    func.return
  }
  func.func private @less(%i: memref<i32>, %n: memref<i32>, %0: memref<i1>) attributes {hlo.kernel = "loop"} {
    %1 = memref.load %i[] : memref<i32>
    %2 = memref.load %n[] : memref<i32>
    %3 = arith.cmpi slt, %1, %2 : i32
    memref.store %3, %0[] : memref<i1>
    func.return
  }
  func.func private @double(%i: memref<i32>, %x: memref<f32>) attributes {hlo.kernel = "loop"} {
    %0 = arith.constant 1 : i32
    %1 = memref.load %i[] : memref<i32>
    %2 = arith.addi %1, %0 : i32
    memref.store %2, %i[] : memref<i32>
    %3 = memref.load %x[] : memref<f32>
    %4 = arith.addf %3, %3 : f32
    memref.store %4, %x[] : memref<f32>
    func.return
  }
  func.func private @square(%i: memref<i32>, %x: memref<f32>) attributes {hlo.kernel = "loop"} {
    %0 = arith.constant 1 : i32
    %1 = memref.load %i[] : memref<i32>
    %2 = arith.addi %1, %0 : i32
    memref.store %2, %i[] : memref<i32>
    %3 = memref.load %x[] : memref<f32>
    %4 = arith.mulf %3, %3 : f32
    memref.store %4, %x[] : memref<f32>
    func.return
  }
}
