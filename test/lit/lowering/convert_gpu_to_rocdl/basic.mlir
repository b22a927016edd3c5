// RUN: hlo-opt %s --convert-gpu-to-rocdl | filecheck %s

gpu.module @kernels [#rocdl.target<chip = "gfx90a">] {
  // CHECK:       sym_name = "k_shared_0", type = memref<256xf32, #gpu.address_space<workgroup>>
  // CHECK:       func.func @k(%{{.*}}: memref<256xf32>) attributes {rocdl.waves_per_eu = 2 : i32, rocdl.kernel, rocdl.reqd_work_group_size = array<i32: 256, 1, 1>, xhlo.index_bitwidth = 32 : i64}
  // CHECK:         memref.get_global @k_shared_0
  // CHECK:         rocdl.workitem.id.x range <i32, 0, 256> : i32
  // CHECK:         rocdl.workgroup.id.x range <i32, 0, 8> : i32
  // CHECK:         rocdl.barrier
  gpu.func @k(%x: memref<256xf32>) workgroup(%s: memref<256xf32, #gpu.address_space<workgroup>>) kernel attributes {known_block_size = array<i32: 256, 1, 1>, known_grid_size = array<i32: 8, 1, 1>, rocdl.waves_per_eu = 2 : i32} {
    %t = gpu.thread_id x
    %b = gpu.block_id x
    %i = arith.addi %t, %b : index
    %v = memref.load %x[%i] : memref<256xf32>
    memref.store %v, %s[%t] : memref<256xf32, #gpu.address_space<workgroup>>
    gpu.barrier
    gpu.return
  }

  // CHECK-LABEL: func.func @sizes
  // CHECK:         rocdl.workgroup.dim.x : i32
  // CHECK:         rocdl.grid.dim.y : i32
  // CHECK:         rocdl.mbcnt.lo
  // CHECK:         rocdl.mbcnt.hi
  gpu.func @sizes() -> (index, index, index) {
    %n = gpu.block_dim x
    %m = gpu.grid_dim y
    %l = gpu.lane_id
    gpu.return %n, %m, %l : index, index, index
  }

  // The lane that differs in bit 0: a permutation of four lanes.
  // CHECK-LABEL: func.func @neighbour
  // CHECK:         %[[BITS:.*]] = arith.bitcast %{{.*}} : f32 to i32
  // CHECK:         %[[MOVED:.*]] = rocdl.update.dpp %[[BITS]], %[[BITS]] with 177, 15, 15, false : i32
  // CHECK:         arith.bitcast %[[MOVED]] : i32 to f32
  gpu.func @neighbour(%x: f32) -> f32 {
    %one = arith.constant 1 : i32
    %width = arith.constant 64 : i32
    %y, %valid = gpu.shuffle xor %x, %one, %width : f32
    gpu.return %y : f32
  }

  // In bit 4: within half a wave, two halves of 64 bits.
  // CHECK-LABEL: func.func @sixteenth
  // CHECK:         %[[SWAP:.*]] = arith.constant 16415 : i32
  // CHECK:         rocdl.ds_swizzle %{{.*}}, %[[SWAP]] : (i32, i32) -> i32
  // CHECK:         rocdl.ds_swizzle
  gpu.func @sixteenth(%x: f64) -> f64 {
    %sixteen = arith.constant 16 : i32
    %width = arith.constant 64 : i32
    %y, %valid = gpu.shuffle xor %x, %sixteen, %width : f64
    gpu.return %y : f64
  }

  // In bit 5, between the halves of a wave: the lane's number times 4 is the address.
  // CHECK-LABEL: func.func @half
  // CHECK:         %[[LOW:.*]] = rocdl.mbcnt.lo
  // CHECK:         %[[LANE:.*]] = rocdl.mbcnt.hi %{{.*}}, %[[LOW]]
  // CHECK:         %[[WANTED:.*]] = arith.xori %[[LANE]], %{{.*}} : i32
  // CHECK:         %[[VALID:.*]] = arith.cmpi ult
  // CHECK:         %[[FROM:.*]] = arith.select %[[VALID]], %[[WANTED]], %[[LANE]] : i32
  // CHECK:         %[[ADDRESS:.*]] = arith.shli %[[FROM]]
  // CHECK:         rocdl.ds_bpermute %[[ADDRESS]], %{{.*}} : (i32, i32) -> i32
  gpu.func @half(%x: i32) -> i32 {
    %bit = arith.constant 32 : i32
    %width = arith.constant 64 : i32
    %y, %valid = gpu.shuffle xor %x, %bit, %width : i32
    gpu.return %y : i32
  }
}

// Waves of 32 threads have no upper half.
gpu.module @narrow [#rocdl.target<chip = "gfx1100">] {
  // CHECK-LABEL: func.func @lane
  // CHECK:         rocdl.mbcnt.lo
  // CHECK-NOT:     rocdl.mbcnt.hi
  gpu.func @lane() -> index {
    %l = gpu.lane_id
    gpu.return %l : index
  }
}
