// RUN: hlo-opt %s --convert-gpu-to-nvvm | filecheck %s

// The host program is not converted.

// CHECK-LABEL: func.func @main
// CHECK:         scf.for
// CHECK:           gpu.launch_func @kernels::@ids
func.func @main(%x: memref<1000xf32>) {
  %zero = arith.constant 0 : index
  %one = arith.constant 1 : index
  %four = arith.constant 4 : index
  %n = arith.constant 256 : index
  scf.for %i = %zero to %four step %one {
    gpu.launch_func @kernels::@ids blocks in (%four, %one, %one) threads in (%n, %one, %one) args(%x : memref<1000xf32>)
  }
  func.return
}

"memref.global"() <{sym_name = "table", sym_visibility = "private", type = memref<2xf32>, initial_value = dense<[1.0, 2.0]> : tensor<2xf32>, constant}> : () -> ()

// A constant of the enclosing module moves along with the functions that use it.
// CHECK-LABEL: gpu.module @kernels {
// CHECK-NEXT:    "memref.global"() <{{.*}}sym_name = "table"
gpu.module @kernels {
  // CHECK: func.func @ids(%{{.*}}: memref<1000xf32>) attributes {nvvm.kernel, nvvm.reqntid = array<i32: 256, 1, 1>, xhlo.index_bitwidth = 32 : i64} {
  gpu.func @ids(%x: memref<1000xf32>) kernel attributes {known_block_size = array<i32: 256, 1, 1>, known_grid_size = array<i32: 4, 1, 1>} {
    // CHECK: %[[T:.*]] = nvvm.read.ptx.sreg.tid.x range <i32, 0, 256> : i32
    // CHECK: %[[THREAD:.*]] = arith.index_cast %[[T]] : i32 to index
    %thread = gpu.thread_id x
    // CHECK: %[[B:.*]] = nvvm.read.ptx.sreg.ctaid.x range <i32, 0, 4> : i32
    // CHECK: %[[BLOCK:.*]] = arith.index_cast %[[B]] : i32 to index
    %block = gpu.block_id x
    // One block along y: its number is 0.
    // CHECK: %[[ZERO:.*]] = arith.constant 0 : index
    %none = gpu.block_id y
    // CHECK: %[[SIZE:.*]] = arith.constant 256 : index
    %size = gpu.block_dim x
    // CHECK: %[[START:.*]] = arith.muli %[[BLOCK]], %[[SIZE]] overflow<nsw,nuw> : index
    %start = arith.muli %block, %size : index
    // CHECK: arith.addi %[[START]], %[[THREAD]] overflow<nsw,nuw> : index
    %i = arith.addi %start, %thread : index
    %j = arith.addi %i, %none : index
    %table = memref.get_global @table : memref<2xf32>
    %value = memref.load %table[%none] : memref<2xf32>
    memref.store %value, %x[%j] : memref<1000xf32>
    // CHECK: func.return
    gpu.return
  }

  // Without sizes, the ranges of the numbers are unknown.
  // CHECK: func.func @free() attributes {nvvm.kernel, xhlo.index_bitwidth = 32 : i64} {
  gpu.func @free() kernel {
    // CHECK: nvvm.read.ptx.sreg.tid.z : i32
    %thread = gpu.thread_id z
    // CHECK: nvvm.read.ptx.sreg.ntid.y : i32
    %threads = gpu.block_dim y
    // CHECK: nvvm.read.ptx.sreg.nctaid.x : i32
    %blocks = gpu.grid_dim x
    // CHECK: nvvm.read.ptx.sreg.laneid range <i32, 0, 32> : i32
    %lane = gpu.lane_id
    gpu.return
  }

  // CHECK: "memref.global"() <{sym_name = "shared_shared_0", {{.*}}memref<32xf32, #gpu.address_space<workgroup>>{{.*}}alignment = 16
  // CHECK: func.func @shared
  gpu.func @shared() workgroup(%s: memref<32xf32, #gpu.address_space<workgroup>>) kernel {
    // CHECK: memref.get_global @shared_shared_0 : memref<32xf32, #gpu.address_space<workgroup>>
    // CHECK: nvvm.barrier0
    gpu.barrier
    gpu.return
  }

  // More than 48 KB: the launch says how much.
  // CHECK: "memref.global"() <{sym_name = "large_shared", {{.*}}memref<49184xi8, #gpu.address_space<workgroup>>{{.*}}{nvvm.dynamic_shared}
  // CHECK: func.func @large
  gpu.func @large() workgroup(%s: memref<5xf16, #gpu.address_space<workgroup>>, %t: memref<12290xf32, #gpu.address_space<workgroup>>) kernel {
    // CHECK: %[[ALL:.*]] = memref.get_global @large_shared
    // CHECK: %[[FIRST:.*]] = arith.constant 0 : index
    // CHECK: memref.view %[[ALL]][%[[FIRST]]][] : memref<49184xi8, {{.*}} to memref<5xf16, #gpu.address_space<workgroup>>
    // CHECK: %[[SECOND:.*]] = arith.constant 16 : index
    // CHECK: memref.view %[[ALL]][%[[SECOND]]][] : memref<49184xi8, {{.*}} to memref<12290xf32, #gpu.address_space<workgroup>>
    gpu.barrier
    gpu.return
  }
}
