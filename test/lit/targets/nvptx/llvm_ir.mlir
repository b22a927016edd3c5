// RUN: hlo-opt %s --lower --target=nvptx --emit=llvm | filecheck %s
// RUN: hlo-opt %s --lower --target=nvptx --emit=ptx | filecheck %s --check-prefix=PTX

// CHECK:       target triple = "nvptx64-nvidia-cuda"
// CHECK:       @k_shared_0 = internal addrspace(3) global [64 x float] undef, align 16
// CHECK:       define ptx_kernel void @k(ptr addrspace(1) noalias align 16 %[[X:.*]], ptr addrspace(1) noalias align 16 %[[Y:.*]]) nounwind "nvvm.reqntid"="64,1,1" {
// CHECK:         call range(i32 0, 64) i32 @llvm.nvvm.read.ptx.sreg.tid.x()
// CHECK:         call void @llvm.nvvm.barrier0()
// CHECK:         call float @llvm.nvvm.shfl.sync.bfly.f32(i32 -1,
// CHECK:         ret void

// Memory that no thread of the kernel writes is read through the non-coherent cache.
// PTX:         .extern .shared .align 16 .b8 large_shared[];
// PTX:         .visible .entry k(
// PTX:         .reqntid 64, 1, 1
// PTX:         .shared .align 16 .b8 k_shared_0[256];
// PTX:         ld.global.nc.b32
// PTX:         st.shared.b32
// PTX:         bar.sync 0;
// PTX:         ld.shared.b32
// PTX:         shfl.sync.bfly.b32
// PTX:         st.global.b32
gpu.module @kernels {
  gpu.func @k(%x: memref<64xf32>, %y: memref<64xf32>) workgroup(%s: memref<64xf32, #gpu.address_space<workgroup>>) kernel
      attributes {known_block_size = array<i32: 64, 1, 1>, known_grid_size = array<i32: 1, 1, 1>} {
    %t = gpu.thread_id x
    %last = arith.constant 63 : index
    %v = memref.load %x[%t] : memref<64xf32>
    memref.store %v, %s[%t] : memref<64xf32, #gpu.address_space<workgroup>>
    gpu.barrier
    %other = arith.subi %last, %t : index
    %w = memref.load %s[%other] : memref<64xf32, #gpu.address_space<workgroup>>
    %offset = arith.constant 1 : i32
    %width = arith.constant 32 : i32
    %r, %valid = gpu.shuffle xor %w, %offset, %width : f32
    memref.store %r, %y[%t] : memref<64xf32>
    gpu.return
  }

  // One more than 48 KB: the launch says how much.
  // CHECK:       @large_shared = external addrspace(3) global [0 x i8], align 16
  gpu.func @large(%y: memref<64xf32>) workgroup(%s: memref<12289xf32, #gpu.address_space<workgroup>>) kernel
      attributes {known_block_size = array<i32: 64, 1, 1>, known_grid_size = array<i32: 1, 1, 1>} {
    %t = gpu.thread_id x
    %last = arith.constant 63 : index
    %v = memref.load %y[%t] : memref<64xf32>
    memref.store %v, %s[%t] : memref<12289xf32, #gpu.address_space<workgroup>>
    gpu.barrier
    %other = arith.subi %last, %t : index
    %w = memref.load %s[%other] : memref<12289xf32, #gpu.address_space<workgroup>>
    memref.store %w, %y[%t] : memref<64xf32>
    gpu.return
  }
}
