// RUN: hlo-opt %s --convert-gpu-to-rocdl --split-input-file --verify-diagnostics

gpu.module @kernels [#rocdl.target<chip = "gfx942">] {
  // expected-error@+1 {{has blocks of 2048 threads; AMD's GPUs run up to 1024 in a block}}
  gpu.func @k() kernel attributes {known_block_size = array<i32: 2048, 1, 1>} {
    gpu.return
  }
}

// -----

gpu.module @kernels [#rocdl.target<chip = "gfx942">] {
  // expected-error@+1 {{has 16777216 blocks of 256 threads along x; AMD's GPUs run 4294967295 threads at most}}
  gpu.func @k() kernel attributes {known_block_size = array<i32: 256, 1, 1>, known_grid_size = array<i32: 16777216, 1, 1>} {
    gpu.return
  }
}

// -----

gpu.module @kernels [#rocdl.target<chip = "gfx1100">] {
  // expected-error@+1 {{has 80000 bytes of memory of the block; gfx1100 has 65536}}
  gpu.func @k() workgroup(%s: memref<20000xf32, #gpu.address_space<workgroup>>) kernel {
    gpu.return
  }
}
