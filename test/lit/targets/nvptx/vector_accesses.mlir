// RUN: hlo-opt %s --lower --target=nvptx --emit=ptx | filecheck %s
// RUN: hlo-opt %s --lower --target=nvptx --chip=sm_75 --emit=ptx | filecheck %s
// RUN: hlo-opt %s --lower --target=nvptx --chip=sm_100 --emit=ptx | filecheck %s

// Consecutive elements of a thread are one access of 128 bits, whatever their type; the loop is unrolled.

// CHECK-LABEL: .entry f64(
// CHECK:         ld.global.nc.v2.b64
// CHECK-NOT:     ld.global
// CHECK-NOT:     bra
// CHECK:         st.global.v2.b64
// CHECK-NOT:     st.global
// CHECK-LABEL: .entry f32(
// CHECK:         ld.global.nc.v4.b32
// CHECK-NOT:     ld.global
// CHECK-NOT:     bra
// CHECK:         st.global.v4.b32
// CHECK-NOT:     st.global
// CHECK-LABEL: .entry bf16(
// CHECK:         ld.global.nc.v4.b32
// CHECK-NOT:     ld.global
// CHECK-NOT:     bra
// CHECK:         st.global.v4.b32
// CHECK-NOT:     st.global
// CHECK-LABEL: .entry i8(
// CHECK:         ld.global.nc.v4.b32
// CHECK-NOT:     ld.global
// CHECK-NOT:     bra
// CHECK:         st.global.v4.b32
// CHECK-NOT:     st.global
gpu.module @kernels {
  gpu.func @f64(%x: memref<16384xf64>, %y: memref<16384xf64>) kernel attributes {known_block_size = array<i32: 256, 1, 1>, known_grid_size = array<i32: 4, 1, 1>} {
    %t = gpu.thread_id x
    %b = gpu.block_id x
    %threads = arith.constant 256 : index
    %zero = arith.constant 0 : index
    %one = arith.constant 1 : index
    %n = arith.constant 2 : index
    %start = arith.muli %b, %threads : index
    %number = arith.addi %start, %t : index
    %first = arith.muli %number, %n : index
    scf.for %i = %zero to %n step %one {
      %place = arith.addi %first, %i : index
      %v = memref.load %x[%place] : memref<16384xf64>
      %w = arith.addf %v, %v : f64
      memref.store %w, %y[%place] : memref<16384xf64>
    }
    gpu.return
  }
  gpu.func @f32(%x: memref<16384xf32>, %y: memref<16384xf32>) kernel attributes {known_block_size = array<i32: 256, 1, 1>, known_grid_size = array<i32: 4, 1, 1>} {
    %t = gpu.thread_id x
    %b = gpu.block_id x
    %threads = arith.constant 256 : index
    %zero = arith.constant 0 : index
    %one = arith.constant 1 : index
    %n = arith.constant 4 : index
    %start = arith.muli %b, %threads : index
    %number = arith.addi %start, %t : index
    %first = arith.muli %number, %n : index
    scf.for %i = %zero to %n step %one {
      %place = arith.addi %first, %i : index
      %v = memref.load %x[%place] : memref<16384xf32>
      %w = arith.addf %v, %v : f32
      memref.store %w, %y[%place] : memref<16384xf32>
    }
    gpu.return
  }
  gpu.func @bf16(%x: memref<16384xbf16>, %y: memref<16384xbf16>) kernel attributes {known_block_size = array<i32: 256, 1, 1>, known_grid_size = array<i32: 4, 1, 1>} {
    %t = gpu.thread_id x
    %b = gpu.block_id x
    %threads = arith.constant 256 : index
    %zero = arith.constant 0 : index
    %one = arith.constant 1 : index
    %n = arith.constant 8 : index
    %start = arith.muli %b, %threads : index
    %number = arith.addi %start, %t : index
    %first = arith.muli %number, %n : index
    scf.for %i = %zero to %n step %one {
      %place = arith.addi %first, %i : index
      %v = memref.load %x[%place] : memref<16384xbf16>
      %w = arith.addf %v, %v : bf16
      memref.store %w, %y[%place] : memref<16384xbf16>
    }
    gpu.return
  }
  gpu.func @i8(%x: memref<16384xi8>, %y: memref<16384xi8>) kernel attributes {known_block_size = array<i32: 256, 1, 1>, known_grid_size = array<i32: 4, 1, 1>} {
    %t = gpu.thread_id x
    %b = gpu.block_id x
    %threads = arith.constant 256 : index
    %zero = arith.constant 0 : index
    %one = arith.constant 1 : index
    %n = arith.constant 16 : index
    %start = arith.muli %b, %threads : index
    %number = arith.addi %start, %t : index
    %first = arith.muli %number, %n : index
    scf.for %i = %zero to %n step %one {
      %place = arith.addi %first, %i : index
      %v = memref.load %x[%place] : memref<16384xi8>
      %w = arith.addi %v, %v : i8
      memref.store %w, %y[%place] : memref<16384xi8>
    }
    gpu.return
  }
}
