// Sizes that no launch on the chip may have.
// RUN: hlo-opt %s --convert-gpu-to-nvvm --split-input-file --verify-diagnostics

gpu.module @kernels [#nvvm.target<chip = "sm_86">] {
  // expected-error@+1 {{'gpu.func' op has 131072 bytes of memory of the block; sm_86 has 101376}}
  gpu.func @much_shared(%x: memref<8xf32>) workgroup(%s: memref<32768xf32, #gpu.address_space<workgroup>>) kernel {
    gpu.return
  }
}

// -----

// More than 48 KB are requested at the launch: this is no error.
gpu.module @kernels [#nvvm.target<chip = "sm_90">] {
  gpu.func @dynamic(%x: memref<8xf32>) workgroup(%s: memref<32768xf32, #gpu.address_space<workgroup>>) kernel {
    gpu.return
  }
}

// -----

gpu.module @kernels {
  // expected-error@+1 {{'gpu.func' op has blocks of 2048 threads; NVIDIA's GPUs run up to 1024 in a block}}
  gpu.func @many_threads(%x: memref<8xf32>) kernel attributes {known_block_size = array<i32: 64, 32, 1>} {
    gpu.return
  }
}

// -----

gpu.module @kernels {
  // expected-error@+1 {{'gpu.func' op has a grid of 65536 blocks along y; NVIDIA's GPUs run 1 to 65535}}
  gpu.func @many_blocks(%x: memref<8xf32>) kernel attributes {known_grid_size = array<i32: 1, 65536, 1>} {
    gpu.return
  }
}
