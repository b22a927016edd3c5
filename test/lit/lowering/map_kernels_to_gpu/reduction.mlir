// RUN: hlo-opt %s --map-kernels-to-gpu | filecheck %s
// Reductions by where the operands lie contiguous: threads share rows, or take columns; few long rows take two launches.

#i = affine_map<(i) -> (i)>
#none = affine_map<(i) -> ()>
#ij = affine_map<(i, j) -> (i, j)>
#row = affine_map<(i, j) -> (i)>
#column = affine_map<(i, j) -> (j)>
#scalar = affine_map<() -> ()>

// A warp per row, eight rows per block; the operations after the reduction are in the same launch, and one lane stores.
// CHECK-LABEL: func.func private @rows
// CHECK:         gpu.launch_func @kernels::@rows
// CHECK-NEXT:    func.return
func.func private @rows(%a: memref<65536x1024xf32>, %o: memref<65536xf32>) attributes {hlo.kernel = "reduce"} {
  %zero = arith.constant 0.0 : f32
  %sum = memref.alloc() : memref<65536xf32>
  linalg.fill ins(%zero : f32) outs(%sum : memref<65536xf32>)
  linalg.generic {indexing_maps = [#ij, #row], iterator_types = ["parallel", "reduction"]} ins(%a : memref<65536x1024xf32>) outs(%sum : memref<65536xf32>) attrs = {gpu.plan = #gpu.rows<threads = 32, rows = 8, width = 4, unroll = 4, partials = 4, blocks = 4>} {
  ^bb(%x: f32, %acc: f32):
    %s = arith.addf %acc, %x : f32
    linalg.yield %s : f32
  }
  linalg.generic {indexing_maps = [#i, #i], iterator_types = ["parallel"]} ins(%sum : memref<65536xf32>) outs(%o : memref<65536xf32>) attrs = {gpu.joined} {
  ^bb(%x: f32, %z: f32):
    %r = math.sqrt %x : f32
    linalg.yield %r : f32
  }
  func.return
}

// CHECK-LABEL: func.func private @all
// CHECK:         %[[PARTS:.*]] = memref.alloc() : memref<{{[0-9]+}}xf32>
// CHECK:         gpu.launch_func @kernels::@all {{.*}} args(%a : memref<67108864xf32>, %[[PARTS]] : memref<{{[0-9]+}}xf32>)
// CHECK:         gpu.launch_func @kernels::@all_1 {{.*}} args(%o : memref<f32>, %[[PARTS]] : memref<{{[0-9]+}}xf32>)
func.func private @all(%a: memref<67108864xf32>, %o: memref<f32>) attributes {hlo.kernel = "reduce"} {
  %two = arith.constant 2.0 : f32
  linalg.fill ins(%two : f32) outs(%o : memref<f32>)
  linalg.generic {indexing_maps = [#i, #none], iterator_types = ["reduction"]} ins(%a : memref<67108864xf32>) outs(%o : memref<f32>) attrs = {gpu.plan = #gpu.rows<threads = 512, width = 4, unroll = 4, partials = 4, part = 32256, blocks = 2, then = #gpu.rows<threads = 256, width = 4, blocks = 4>>} {
  ^bb(%x: f32, %acc: f32):
    %s = arith.addf %acc, %x : f32
    linalg.yield %s : f32
  }
  func.return
}

func.func private @columns(%a: memref<4096x8192xf32>, %o: memref<8192xf32>) attributes {hlo.kernel = "reduce"} {
  %lowest = arith.constant 0xFF800000 : f32
  linalg.fill ins(%lowest : f32) outs(%o : memref<8192xf32>)
  linalg.generic {indexing_maps = [#ij, #column], iterator_types = ["reduction", "parallel"]} ins(%a : memref<4096x8192xf32>) outs(%o : memref<8192xf32>) attrs = {gpu.plan = #gpu.columns<32x16, width = 4, unroll = 4, partials = 4, part = 512, blocks = 2, then = #gpu.columns<256x1, width = 4, unroll = 4, blocks = 4>>} {
  ^bb(%x: f32, %acc: f32):
    %s = arith.maximumf %acc, %x : f32
    linalg.yield %s : f32
  }
  func.return
}

// The first of the greatest, NaN greater than all: in the order of the elements, whose numbers go along.
func.func private @argmax(%a: memref<65536x256xf32>, %o: memref<65536xf32>, %p: memref<65536xi32>) attributes {hlo.kernel = "reduce"} {
  %lowest = arith.constant 0xFF800000 : f32
  %zero = arith.constant 0 : i32
  linalg.fill ins(%lowest : f32) outs(%o : memref<65536xf32>)
  linalg.fill ins(%zero : i32) outs(%p : memref<65536xi32>)
  linalg.generic {indexing_maps = [#ij, #row, #row], iterator_types = ["parallel", "reduction"]} ins(%a : memref<65536x256xf32>) outs(%o, %p : memref<65536xf32>, memref<65536xi32>) attrs = {gpu.plan = #gpu.rows<threads = 8, rows = 32, width = 4, unroll = 4>} {
  ^bb(%x: f32, %acc: f32, %at: i32):
    %j = linalg.index 1 : index
    %n = arith.index_cast %j : index to i32
    %ge = arith.cmpf oge, %acc, %x : f32
    %nan = arith.cmpf uno, %acc, %acc : f32
    %stays = arith.ori %ge, %nan : i1
    %v = arith.select %stays, %acc, %x : f32
    %w = arith.select %stays, %at, %n : i32
    linalg.yield %v, %w : f32, i32
  }
  func.return
}

// Not associative: a thread for each result, one element after the other.
func.func private @alternating(%a: memref<65536x256xf32>, %o: memref<65536xf32>) attributes {hlo.kernel = "reduce"} {
  %zero = arith.constant 0.0 : f32
  linalg.fill ins(%zero : f32) outs(%o : memref<65536xf32>)
  linalg.generic {indexing_maps = [#ij, #row], iterator_types = ["parallel", "reduction"]} ins(%a : memref<65536x256xf32>) outs(%o : memref<65536xf32>) attrs = {gpu.plan = #gpu.points} {
  ^bb(%x: f32, %acc: f32):
    %s = arith.subf %x, %acc : f32
    linalg.yield %s : f32
  }
  func.return
}

// CHECK-LABEL: gpu.func @rows(%a: memref<65536x1024xf32>, %o: memref<65536xf32>) kernel
// CHECK-SAME:    known_block_size = array<i32: 256, 1, 1>, known_grid_size = array<i32: 8192, 1, 1>, nvvm.minctasm = 4 : i32
// CHECK:         %[[SUMS:.*]] = memref.alloca() : memref<16xf32>
// CHECK:         %[[LANE:.*]] = arith.remui %{{.*}}, %{{.*}} : index
// CHECK:         %[[WARP:.*]] = arith.divui %{{.*}}, %{{.*}} : index
// CHECK:         scf.for %{{.*}} {
// CHECK:           scf.for %{{.*}} {
// CHECK:             %[[V:.*]] = vector.load %a[%{{.*}}, %{{.*}}] {alignment = 16 : i64} : memref<65536x1024xf32>, vector<4xf32>
// CHECK:             scf.for %{{.*}} {
// CHECK:               %[[X:.*]] = vector.extract %[[V]]
// CHECK:               %[[BEFORE:.*]] = memref.load %[[SUMS]]
// CHECK-NEXT:          %[[AFTER:.*]] = arith.addf %[[BEFORE]], %[[X]] : f32
// CHECK-NEXT:          memref.store %[[AFTER]], %[[SUMS]]
// CHECK:             } {xhlo.unroll = 0 : i64}
// CHECK:           } {xhlo.unroll = 0 : i64}
// CHECK:         } {xhlo.unroll = 1 : i64}
// CHECK-NOT:     gpu.barrier
// CHECK:         gpu.shuffle xor %{{.*}} : f32
// CHECK:         gpu.shuffle xor %{{.*}} : f32
// CHECK:         gpu.shuffle xor %{{.*}} : f32
// CHECK:         gpu.shuffle xor %{{.*}} : f32
// CHECK:         gpu.shuffle xor %{{.*}} : f32
// CHECK-NOT:     gpu.shuffle
// CHECK:         %[[FIRST:.*]] = arith.cmpi eq, %[[LANE]], %{{.*}} : index
// CHECK-NEXT:    scf.if %[[FIRST]] {
// CHECK-NEXT:      %[[R:.*]] = math.sqrt %{{.*}} : f32
// CHECK-NEXT:      memref.store %[[R]], %o

// Each block leaves its part's sum, without the initial value.
// CHECK-LABEL: gpu.func @all(%a: memref<67108864xf32>
// CHECK-SAME:    workgroup(%[[SHARED:.*]]: memref<16xf32, #gpu.address_space<workgroup>>) kernel
// CHECK-SAME:    known_block_size = array<i32: 512, 1, 1>
// CHECK-NOT:     arith.constant 2.000000e+00
// CHECK:         vector.load %a
// CHECK:         memref.store %{{.*}}, %[[SHARED]]
// CHECK:         gpu.barrier
// CHECK:         memref.load %[[SHARED]]
// CHECK-LABEL: gpu.func @all_1(%o: memref<f32>
// CHECK:         %[[TWO:.*]] = arith.constant 2.000000e+00 : f32
// CHECK:         %[[TOTAL:.*]] = arith.addf %[[TWO]], %{{.*}} : f32
// CHECK:         memref.store %[[TOTAL]], %o[]

// 32 lanes with 4 columns each, 16 groups of them in turn down the rows; then a thread for each of the 128 columns.
// CHECK-LABEL: gpu.func @columns(%a: memref<4096x8192xf32>
// CHECK-SAME:    workgroup(%[[SHARED:.*]]: memref<16x128xf32, #gpu.address_space<workgroup>>) kernel
// CHECK-SAME:    known_block_size = array<i32: 512, 1, 1>, known_grid_size = array<i32: 512, 1, 1>
// CHECK:         vector.load %a[%{{.*}}, %{{.*}}] {alignment = 16 : i64} : memref<4096x8192xf32>, vector<4xf32>
// CHECK:         memref.store %{{.*}}, %[[SHARED]]
// CHECK-NEXT:    } {xhlo.unroll = 0 : i64}
// CHECK:         gpu.barrier
// CHECK:         scf.if
// CHECK:           scf.for
// CHECK:             memref.load %[[SHARED]]
// CHECK:             arith.maximumf
// CHECK-LABEL: gpu.func @columns_1(

// CHECK-LABEL: gpu.func @argmax(
// CHECK:         %[[NUMBER:.*]] = arith.index_cast %{{.*}} : index to i32
// CHECK:         gpu.shuffle xor %{{.*}} : f32
// CHECK:         gpu.shuffle xor %{{.*}} : i32
// CHECK:         gpu.shuffle xor %[[AT:.*]], %{{.*}}, %{{.*}} : i32
// CHECK-NEXT:    %[[BEFORE:.*]] = arith.cmpi sle, %[[AT]], %{{.*}} : i32
// CHECK-NEXT:    arith.select %[[BEFORE]]

// CHECK-LABEL: gpu.func @alternating(
// CHECK-NOT:     gpu.shuffle
// CHECK:         scf.for %{{.*}} iter_args(%[[ACC:.*]] = %{{.*}}) -> (f32) {
// CHECK:           arith.subf %{{.*}}, %[[ACC]] : f32
