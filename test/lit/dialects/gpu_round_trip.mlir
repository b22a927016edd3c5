// RUN: hlo-opt %s --verify-roundtrip | filecheck %s

// The gpu dialect's syntax is MLIR's.

// CHECK-LABEL: func.func @main
// CHECK:         gpu.launch_func @kernels::@rotate blocks in (%[[ONE:.*]], %[[ONE]], %[[ONE]]) threads in (%[[N:.*]], %[[ONE]], %[[ONE]]) args(%{{.*}} : memref<64xf32>, %{{.*}} : memref<64xf32>)
// CHECK:         gpu.launch_func @kernels::@nothing blocks in (%[[ONE]], %[[ONE]], %[[ONE]]) threads in (%[[ONE]], %[[ONE]], %[[ONE]]){{$}}
func.func @main(%x: memref<64xf32>, %y: memref<64xf32>) {
  %one = arith.constant 1 : index
  %n = arith.constant 64 : index
  gpu.launch_func @kernels::@rotate blocks in (%one, %one, %one) threads in (%n, %one, %one) args(%x : memref<64xf32>, %y : memref<64xf32>)
  gpu.launch_func @kernels::@nothing blocks in (%one, %one, %one) threads in (%one, %one, %one)
  func.return
}

// CHECK-LABEL: gpu.module @kernels {
gpu.module @kernels {
  // CHECK: gpu.func @rotate(%{{.*}}: memref<64xf32>, %{{.*}}: memref<64xf32>) workgroup(%{{.*}}: memref<64xf32, #gpu.address_space<workgroup>>, %{{.*}}: memref<2xi32, #gpu.address_space<workgroup>>) kernel attributes {known_block_size = array<i32: 64, 1, 1>, known_grid_size = array<i32: 1, 1, 1>, mark = 3 : i64} {
  gpu.func @rotate(%x: memref<64xf32>, %y: memref<64xf32>)
      workgroup(%s: memref<64xf32, #gpu.address_space<workgroup>>, %t: memref<2xi32, #gpu.address_space<workgroup>>)
      kernel attributes {known_block_size = array<i32: 64, 1, 1>, known_grid_size = array<i32: 1, 1, 1>, mark = 3 : i64} {
    // CHECK-NEXT: %[[T:.*]] = gpu.thread_id x
    %thread = gpu.thread_id x
    // CHECK-NEXT: gpu.block_id y {some}
    %block = gpu.block_id y {some}
    // CHECK-NEXT: gpu.block_dim z
    %threads = gpu.block_dim z
    // CHECK-NEXT: gpu.grid_dim x
    %blocks = gpu.grid_dim x
    // CHECK-NEXT: gpu.lane_id
    %lane = gpu.lane_id
    %value = memref.load %x[%thread] : memref<64xf32>
    %offset = arith.constant 1 : i32
    %width = arith.constant 32 : i32
    // CHECK: %{{.*}}, %{{.*}} = gpu.shuffle xor %{{.*}}, %{{.*}}, %{{.*}} : f32
    %other, %valid = gpu.shuffle xor %value, %offset, %width : f32
    memref.store %other, %s[%thread] : memref<64xf32, #gpu.address_space<workgroup>>
    // CHECK: gpu.barrier{{$}}
    gpu.barrier
    %result = memref.load %s[%thread] : memref<64xf32, #gpu.address_space<workgroup>>
    memref.store %result, %y[%thread] : memref<64xf32>
    // CHECK: gpu.return{{$}}
    gpu.return
  }

  // CHECK: gpu.func @nothing() kernel {
  gpu.func @nothing() kernel {
    gpu.return
  }

  // CHECK: gpu.func @twice(%{{.*}}: f32) -> (f32) {
  gpu.func @twice(%x: f32) -> f32 {
    %sum = arith.addf %x, %x : f32
    // CHECK: gpu.return %{{.*}} : f32
    gpu.return %sum : f32
  }
}

// CHECK-LABEL: gpu.module @nothing {
gpu.module @nothing {
}
