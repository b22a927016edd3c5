// RUN: hlo-opt %s --map-kernels-to-gpu | filecheck %s
// Plans written by hand decide the launches, in place of those that would be chosen.

#i = affine_map<(i) -> (i)>
#ij = affine_map<(i, j) -> (i, j)>
#ji = affine_map<(i, j) -> (j, i)>
#row = affine_map<(i, j) -> (i)>
#mk = affine_map<(m, n, k) -> (m, k)>
#nk = affine_map<(m, n, k) -> (n, k)>
#mn = affine_map<(m, n, k) -> (m, n)>

// 64 threads, two vectors of 2 elements each: 1024 / (64 * 2 * 2) blocks.
// CHECK-LABEL: gpu.func @vectors
// CHECK-SAME:    known_block_size = array<i32: 64, 1, 1>, known_grid_size = array<i32: 4, 1, 1>
// CHECK-COUNT-2: vector.load {{.*}} vector<2xf32>
func.func private @vectors(%a: memref<1024xf32>, %o: memref<1024xf32>) attributes {hlo.kernel = "loop"} {
  linalg.generic {indexing_maps = [#i, #i], iterator_types = ["parallel"]} ins(%a : memref<1024xf32>) outs(%o : memref<1024xf32>) attrs = {gpu.plan = #gpu.elementwise<width = 2, items = 2, threads = 64>} {
  ^bb(%x: f32, %z: f32):
    %s = arith.addf %x, %x : f32
    linalg.yield %s : f32
  }
  func.return
}

// A transposition element by element, and one in tiles of 16 x 32 by 128 threads.
// CHECK-LABEL: gpu.func @plain_transpose
// CHECK-NOT:     workgroup
// CHECK:         gpu.return
func.func private @plain_transpose(%a: memref<128x256xf32>, %o: memref<256x128xf32>) attributes {hlo.kernel = "loop"} {
  linalg.generic {indexing_maps = [#ji, #ij], iterator_types = ["parallel", "parallel"]} ins(%a : memref<128x256xf32>) outs(%o : memref<256x128xf32>) attrs = {gpu.plan = #gpu.elementwise} {
  ^bb(%x: f32, %z: f32):
    linalg.yield %x : f32
  }
  func.return
}
// CHECK-LABEL: gpu.func @tiled_transpose
// CHECK-SAME:    workgroup({{.*}}memref<32x17xf32, #gpu.address_space<workgroup>>)
// CHECK-SAME:    known_block_size = array<i32: 128, 1, 1>, known_grid_size = array<i32: 64, 1, 1>
func.func private @tiled_transpose(%a: memref<128x256xf32>, %o: memref<256x128xf32>) attributes {hlo.kernel = "loop"} {
  linalg.generic {indexing_maps = [#ji, #ij], iterator_types = ["parallel", "parallel"]} ins(%a : memref<128x256xf32>) outs(%o : memref<256x128xf32>) attrs = {gpu.plan = #gpu.transpose<16x32, loop = 0, inputs = [0], threads = 128>} {
  ^bb(%x: f32, %z: f32):
    linalg.yield %x : f32
  }
  func.return
}

// Without `gpu.joined`, the operation after a reduction has its own launch, and the sums go through memory.
// CHECK-LABEL: gpu.func @apart(
// CHECK-SAME:    known_block_size = array<i32: 64, 1, 1>, known_grid_size = array<i32: 32, 1, 1>
// CHECK-LABEL: gpu.func @apart_1(
// CHECK-SAME:    known_block_size = array<i32: 32, 1, 1>, known_grid_size = array<i32: 2, 1, 1>
func.func private @apart(%a: memref<64x1024xf32>, %o: memref<64xf32>) attributes {hlo.kernel = "reduction"} {
  %zero = arith.constant 0.0 : f32
  %sum = memref.alloc() : memref<64xf32>
  linalg.fill ins(%zero : f32) outs(%sum : memref<64xf32>)
  linalg.generic {indexing_maps = [#ij, #row], iterator_types = ["parallel", "reduction"]} ins(%a : memref<64x1024xf32>) outs(%sum : memref<64xf32>) attrs = {gpu.plan = #gpu.rows<threads = 32, rows = 2, width = 2>} {
  ^bb(%x: f32, %acc: f32):
    %s = arith.addf %acc, %x : f32
    linalg.yield %s : f32
  }
  linalg.generic {indexing_maps = [#i, #i], iterator_types = ["parallel"]} ins(%sum : memref<64xf32>) outs(%o : memref<64xf32>) attrs = {gpu.plan = #gpu.elementwise<threads = 32>} {
  ^bb(%x: f32, %z: f32):
    %s = math.sqrt %x : f32
    linalg.yield %s : f32
  }
  func.return
}

// A row in four parts, combined by a second launch; by columns, though rows are contiguous; a thread per result.
// CHECK-LABEL: gpu.func @parts(
// CHECK-SAME:    known_block_size = array<i32: 32, 1, 1>, known_grid_size = array<i32: 256, 1, 1>
// CHECK-LABEL: gpu.func @parts_1(
// CHECK-SAME:    known_block_size = array<i32: 32, 1, 1>, known_grid_size = array<i32: 8, 1, 1>
func.func private @parts(%a: memref<64x1024xf32>, %o: memref<64xf32>) attributes {hlo.kernel = "reduction"} {
  %zero = arith.constant 0.0 : f32
  linalg.fill ins(%zero : f32) outs(%o : memref<64xf32>)
  linalg.generic {indexing_maps = [#ij, #row], iterator_types = ["parallel", "reduction"]} ins(%a : memref<64x1024xf32>) outs(%o : memref<64xf32>) attrs = {gpu.plan = #gpu.rows<threads = 32, width = 4, part = 64, then = #gpu.rows<threads = 4, rows = 8>>} {
  ^bb(%x: f32, %acc: f32):
    %s = arith.addf %acc, %x : f32
    linalg.yield %s : f32
  }
  func.return
}
// CHECK-LABEL: gpu.func @across(
// CHECK-SAME:    known_block_size = array<i32: 128, 1, 1>, known_grid_size = array<i32: 2, 1, 1>
func.func private @across(%a: memref<64x1024xf32>, %o: memref<64xf32>) attributes {hlo.kernel = "reduction"} {
  %zero = arith.constant 0.0 : f32
  linalg.fill ins(%zero : f32) outs(%o : memref<64xf32>)
  linalg.generic {indexing_maps = [#ij, #row], iterator_types = ["parallel", "reduction"]} ins(%a : memref<64x1024xf32>) outs(%o : memref<64xf32>) attrs = {gpu.plan = #gpu.columns<32x4>} {
  ^bb(%x: f32, %acc: f32):
    %s = arith.addf %acc, %x : f32
    linalg.yield %s : f32
  }
  func.return
}
// CHECK-LABEL: gpu.func @results(
// CHECK-SAME:    known_block_size = array<i32: 32, 1, 1>, known_grid_size = array<i32: 2, 1, 1>
func.func private @results(%a: memref<64x1024xf32>, %o: memref<64xf32>) attributes {hlo.kernel = "reduction"} {
  %zero = arith.constant 0.0 : f32
  linalg.fill ins(%zero : f32) outs(%o : memref<64xf32>)
  linalg.generic {indexing_maps = [#ij, #row], iterator_types = ["parallel", "reduction"]} ins(%a : memref<64x1024xf32>) outs(%o : memref<64xf32>) attrs = {gpu.plan = #gpu.points<threads = 32>} {
  ^bb(%x: f32, %acc: f32):
    %s = arith.addf %acc, %x : f32
    linalg.yield %s : f32
  }
  func.return
}

// Another tile, in 4 splits: 2 x 2 tiles, 4 blocks each. Without tensor cores, or with them and two stages.
// CHECK-LABEL: gpu.func @split(
// CHECK-SAME:    known_block_size = array<i32: 64, 1, 1>, known_grid_size = array<i32: 16, 1, 1>
// CHECK:         memref.view {{.*}} to memref<2x32x36xf32, #gpu.address_space<workgroup>>
// CHECK-LABEL: gpu.func @split_1(
func.func private @split(%a: memref<64x256xf16>, %b: memref<64x256xf16>, %c: memref<64x64xf32>) attributes {hlo.kernel = "dot"} {
  %zero = arith.constant 0.0 : f32
  linalg.fill ins(%zero : f32) outs(%c : memref<64x64xf32>)
  linalg.generic {indexing_maps = [#mk, #nk, #mn], iterator_types = ["parallel", "parallel", "reduction"]} ins(%a, %b : memref<64x256xf16>, memref<64x256xf16>) outs(%c : memref<64x64xf32>) attrs = {xhlo.contraction, gpu.plan = #gpu.tile<32x32x32, thread = 4x4, splits = 4>} {
  ^bb0(%x: f16, %y: f16, %sum: f32):
    %l = arith.extf %x : f16 to f32
    %r = arith.extf %y : f16 to f32
    %p = arith.mulf %l, %r fastmath<reassoc,contract> : f32
    %s = arith.addf %sum, %p fastmath<reassoc,contract> : f32
    linalg.yield %s : f32
  }
  func.return
}
// CHECK-LABEL: gpu.func @two_stages(
// CHECK-SAME:    known_block_size = array<i32: 64, 1, 1>, known_grid_size = array<i32: 2, 1, 1>
// CHECK:         memref.view {{.*}} to memref<2x64x40xf16, #gpu.address_space<workgroup>>
// CHECK:         nvgpu.mma.sync
func.func private @two_stages(%a: memref<64x256xf16>, %b: memref<64x256xf16>, %c: memref<64x64xf32>) attributes {hlo.kernel = "dot"} {
  %zero = arith.constant 0.0 : f32
  linalg.fill ins(%zero : f32) outs(%c : memref<64x64xf32>)
  linalg.generic {indexing_maps = [#mk, #nk, #mn], iterator_types = ["parallel", "parallel", "reduction"]} ins(%a, %b : memref<64x256xf16>, memref<64x256xf16>) outs(%c : memref<64x64xf32>) attrs = {xhlo.contraction, gpu.plan = #gpu.tensor_tile<64x32x32, warp = 32x32, copies>} {
  ^bb0(%x: f16, %y: f16, %sum: f32):
    %l = arith.extf %x : f16 to f32
    %r = arith.extf %y : f16 to f32
    %p = arith.mulf %l, %r fastmath<reassoc,contract> : f32
    %s = arith.addf %sum, %p fastmath<reassoc,contract> : f32
    linalg.yield %s : f32
  }
  func.return
}

// A row of 100 elements in tiles of 32, which are merged twice.
// CHECK-LABEL: gpu.func @sorted(
// CHECK-SAME:    known_block_size = array<i32: 16, 1, 1>, known_grid_size = array<i32: 4, 1, 1>
// CHECK:       gpu.func @sorted_4(
func.func private @sorted(%y: memref<100xf32>) attributes {hlo.kernel = "loop"} {
  linalg_ext.sort_by_key {gpu.plan = #gpu.sort<tile = 32>, dimension = 0 : i64} outs(%y : memref<100xf32>) ({
  ^bb0(%a: f32):
    %k = arith.bitcast %a : f32 to i32
    linalg.yield %k : i32
  })
  func.return
}

// A loop in one thread, though its iterations are parallel.
// CHECK-LABEL: gpu.func @one_thread(
// CHECK-SAME:    known_block_size = array<i32: 1, 1, 1>, known_grid_size = array<i32: 1, 1, 1>
// CHECK:         scf.for
func.func private @one_thread(%x: memref<100xf32>) attributes {hlo.kernel = "loop"} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c100 = arith.constant 100 : index
  %one = arith.constant 1.0 : f32
  "scf.parallel"(%c0, %c100, %c1) <{operandSegmentSizes = array<i32: 1, 1, 1, 0>}> ({
  ^bb0(%i: index):
    memref.store %one, %x[%i] : memref<100xf32>
    scf.reduce
  }) {gpu.plan = #gpu.serial} : (index, index, index) -> ()
  func.return
}
