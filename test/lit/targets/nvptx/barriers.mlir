// RUN: hlo-opt %s --lower --target=nvptx --emit=llvm | filecheck %s
// RUN: hlo-opt %s --lower --target=nvptx --emit=ptx | filecheck %s --check-prefix=PTX

// A buffer through which threads of a block communicate is not noalias: LLVM would assume that elements keep the values
// that this thread read, and remove its stores as dead. A buffer that is only written, or only read, is noalias.

// CHECK: define ptx_kernel void @global(ptr addrspace(1) align 16 %{{.*}}, ptr addrspace(1) noalias align 16 %{{.*}})
// CHECK: define ptx_kernel void @no_barrier(ptr addrspace(1) noalias align 16 %{{.*}}, ptr addrspace(1) noalias align 16 %{{.*}})

// PTX-LABEL: .entry global(
// PTX:         st.global.b32
// PTX:         bar.sync 0;
// PTX:         ld.global.b32
// PTX:         bar.sync 0;
// PTX:         st.global.b32
// PTX:         bar.sync 0;
// PTX:         ld.global.b32
// PTX:         add.rn.f32
// PTX-LABEL: .entry no_barrier(
// PTX:         ld.global.nc.b32
// PTX-LABEL: .entry workgroup(
// PTX:         st.shared.b32
// PTX:         bar.sync 0;
// PTX:         ld.shared.b32
// PTX:         bar.sync 0;
// PTX:         st.shared.b32
// PTX:         bar.sync 0;
// PTX:         ld.shared.b32
// PTX:         add.rn.f32
gpu.module @kernels {
  gpu.func @global(%x: memref<64xf32>, %y: memref<64xf32>) kernel attributes {known_block_size = array<i32: 32, 1, 1>, known_grid_size = array<i32: 1, 1, 1>} {
    %t = gpu.thread_id x
    %one = arith.constant 1 : index
    %next = arith.addi %t, %one : index
    %f = arith.constant 1.0 : f32
    %g = arith.constant 2.0 : f32
    memref.store %f, %x[%t] : memref<64xf32>
    gpu.barrier
    %a = memref.load %x[%next] : memref<64xf32>
    gpu.barrier
    memref.store %g, %x[%t] : memref<64xf32>
    gpu.barrier
    %b = memref.load %x[%next] : memref<64xf32>
    %sum = arith.addf %a, %b : f32
    memref.store %sum, %y[%t] : memref<64xf32>
    gpu.return
  }

  gpu.func @no_barrier(%x: memref<64xf32>, %y: memref<64xf32>) kernel attributes {known_block_size = array<i32: 32, 1, 1>, known_grid_size = array<i32: 1, 1, 1>} {
    %t = gpu.thread_id x
    %a = memref.load %x[%t] : memref<64xf32>
    %b = memref.load %y[%t] : memref<64xf32>
    %e = math.exp %b : f32
    %sum = arith.addf %a, %e : f32
    memref.store %sum, %y[%t] : memref<64xf32>
    gpu.return
  }

  gpu.func @workgroup(%y: memref<64xf32>) workgroup(%x: memref<64xf32, #gpu.address_space<workgroup>>) kernel attributes {known_block_size = array<i32: 32, 1, 1>, known_grid_size = array<i32: 1, 1, 1>} {
    %t = gpu.thread_id x
    %one = arith.constant 1 : index
    %next = arith.addi %t, %one : index
    %f = arith.constant 1.0 : f32
    %g = arith.constant 2.0 : f32
    memref.store %f, %x[%t] : memref<64xf32, #gpu.address_space<workgroup>>
    gpu.barrier
    %a = memref.load %x[%next] : memref<64xf32, #gpu.address_space<workgroup>>
    gpu.barrier
    memref.store %g, %x[%t] : memref<64xf32, #gpu.address_space<workgroup>>
    gpu.barrier
    %b = memref.load %x[%next] : memref<64xf32, #gpu.address_space<workgroup>>
    %sum = arith.addf %a, %b : f32
    memref.store %sum, %y[%t] : memref<64xf32>
    gpu.return
  }
}
