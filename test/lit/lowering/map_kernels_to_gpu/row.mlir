// RUN: hlo-opt %s --map-kernels-to-gpu | filecheck %s
// RUN: hlo-opt %s --map-kernels-to-gpu | filecheck %s --check-prefix=LONG

#ij = affine_map<(i, j) -> (i, j)>
#row = affine_map<(i, j) -> (i)>

// A block for each row: the maximum, then the sum of what is stored in the end. The row is read once and stays in
// arrays of the thread's own; the two temporaries are no buffers of the launch.
// CHECK-LABEL: func.func private @normalized
// CHECK-NOT:     memref.alloc
// CHECK:         gpu.launch_func @kernels::@normalized {{.*}} args(%a : memref<32768x4096xf32>, %o : memref<32768x4096xf32>)
// CHECK-NEXT:    func.return
func.func private @normalized(%a: memref<32768x4096xf32>, %o: memref<32768x4096xf32>) attributes {hlo.kernel = "row", hlo.row_dims = 1 : i64} {
  %lowest = arith.constant 0xFF800000 : f32
  %zero = arith.constant 0.0 : f32
  %max = memref.alloc() : memref<32768xf32>
  linalg.fill ins(%lowest : f32) outs(%max : memref<32768xf32>)
  linalg.generic {indexing_maps = [#ij, #row], iterator_types = ["parallel", "reduction"]} ins(%a : memref<32768x4096xf32>) outs(%max : memref<32768xf32>) attrs = {gpu.plan = #gpu.rows<threads = 128, width = 4, keep, blocks = 7>} {
  ^bb(%x: f32, %acc: f32):
    %m = arith.maximumf %acc, %x : f32
    linalg.yield %m : f32
  }
  %shifted = memref.alloc() : memref<32768x4096xf32>
  linalg.generic {indexing_maps = [#row, #ij, #ij], iterator_types = ["parallel", "parallel"]} ins(%max, %a : memref<32768xf32>, memref<32768x4096xf32>) outs(%shifted : memref<32768x4096xf32>) attrs = {gpu.joined} {
  ^bb(%m: f32, %x: f32, %z: f32):
    %d = arith.subf %x, %m : f32
    linalg.yield %d : f32
  }
  %sum = memref.alloc() : memref<32768xf32>
  linalg.fill ins(%zero : f32) outs(%sum : memref<32768xf32>)
  linalg.generic {indexing_maps = [#ij, #row], iterator_types = ["parallel", "reduction"]} ins(%shifted : memref<32768x4096xf32>) outs(%sum : memref<32768xf32>) attrs = {gpu.joined} {
  ^bb(%x: f32, %acc: f32):
    %s = arith.addf %acc, %x : f32
    linalg.yield %s : f32
  }
  linalg.generic {indexing_maps = [#row, #ij, #ij], iterator_types = ["parallel", "parallel"]} ins(%sum, %shifted : memref<32768xf32>, memref<32768x4096xf32>) outs(%o : memref<32768x4096xf32>) attrs = {gpu.joined} {
  ^bb(%s: f32, %x: f32, %z: f32):
    %q = arith.divf %x, %s : f32
    linalg.yield %q : f32
  }
  func.return
}

// CHECK-LABEL: gpu.func @normalized(
// CHECK-SAME:    known_block_size = array<i32: 128, 1, 1>, known_grid_size = array<i32: 32768, 1, 1>
// CHECK:         vector.load %a
// CHECK-NOT:     vector.load
// CHECK:         arith.maximumf
// CHECK:         gpu.barrier
// CHECK:         %[[D:.*]] = arith.subf %{{.*}}, %[[MAX:.*]] : f32
// CHECK:         arith.addf %{{.*}}, %[[D]] : f32
// CHECK:         gpu.barrier
// CHECK-NOT:     gpu.barrier
// CHECK:         %[[Q:.*]] = arith.divf
// CHECK:         vector.insert %[[Q]]
// CHECK:         vector.store %{{.*}}, %o

// A row of 65536 elements: each pass reads it again and recomputes the values it needs.
func.func private @long(%a: memref<4096x65536xf32>, %o: memref<4096x65536xf32>) attributes {hlo.kernel = "row", hlo.row_dims = 1 : i64} {
  %lowest = arith.constant 0xFF800000 : f32
  %max = memref.alloc() : memref<4096xf32>
  linalg.fill ins(%lowest : f32) outs(%max : memref<4096xf32>)
  linalg.generic {indexing_maps = [#ij, #row], iterator_types = ["parallel", "reduction"]} ins(%a : memref<4096x65536xf32>) outs(%max : memref<4096xf32>) attrs = {gpu.plan = #gpu.rows<threads = 1024, width = 4, unroll = 2, partials = 2>} {
  ^bb(%x: f32, %acc: f32):
    %m = arith.maximumf %acc, %x : f32
    linalg.yield %m : f32
  }
  linalg.generic {indexing_maps = [#row, #ij, #ij], iterator_types = ["parallel", "parallel"]} ins(%max, %a : memref<4096xf32>, memref<4096x65536xf32>) outs(%o : memref<4096x65536xf32>) attrs = {gpu.joined} {
  ^bb(%m: f32, %x: f32, %z: f32):
    %d = arith.subf %x, %m : f32
    linalg.yield %d : f32
  }
  func.return
}

// LONG-LABEL: gpu.func @long(
// LONG-SAME:    known_block_size = array<i32: 1024, 1, 1>, known_grid_size = array<i32: 4096, 1, 1>
// LONG:         vector.load %a
// LONG:         gpu.barrier
// LONG:         vector.load %a
// LONG:         arith.subf
// LONG:         vector.store %{{.*}}, %o
