// RUN: hlo-opt %s --map-kernels-to-gpu | filecheck %s
// Vectors of 16 bytes, several per thread; the remaining elements have one thread each.

#i = affine_map<(i) -> (i)>
#ij = affine_map<(i, j) -> (i, j)>
#reversed = affine_map<(i, j) -> (i, 16383 - j)>
#row = affine_map<(i, j) -> (j)>
#column = affine_map<(i, j) -> (i)>

// All loads of a thread come before the first use. The loop over a vector's elements is to be unrolled.
// CHECK-LABEL: gpu.func @whole(%a: memref<1024x16384xf32>, %o: memref<1024x16384xf32>)
// CHECK-SAME:    known_block_size = array<i32: 256, 1, 1>, known_grid_size = array<i32: 4096, 1, 1>
// CHECK-NOT:     scf.if
// CHECK:         %[[A:.*]] = vector.load %{{.*}}[%{{.*}}] {alignment = 16 : i64} : memref<16777216xf32>, vector<4xf32>
// CHECK:         vector.load
// CHECK:         vector.load
// CHECK:         %[[D:.*]] = vector.load
// CHECK-NOT:     vector.load
// CHECK:         %[[R:.*]] = scf.for %[[K:[0-9]+]] = %{{.*}} iter_args(%[[ACC:[0-9]+]] = %{{.*}}) -> (vector<4xf32>) {
// CHECK-NEXT:      %[[X:.*]] = vector.extract %[[A]][%[[K]]] : f32 from vector<4xf32>
// CHECK-NEXT:      %[[S:.*]] = arith.addf %[[X]], %[[X]] : f32
// CHECK-NEXT:      %[[I:.*]] = vector.insert %[[S]], %[[ACC]] [%[[K]]] : f32 into vector<4xf32>
// CHECK-NEXT:      scf.yield %[[I]] : vector<4xf32>
// CHECK-NEXT:    } {xhlo.unroll = 0 : i64}
// CHECK:         vector.store %[[R]], %{{.*}} {alignment = 16 : i64} : memref<16777216xf32>, vector<4xf32>
func.func private @whole(%a: memref<1024x16384xf32>, %o: memref<1024x16384xf32>) attributes {hlo.kernel = "loop"} {
  linalg.generic {indexing_maps = [#ij, #ij], iterator_types = ["parallel", "parallel"]} ins(%a : memref<1024x16384xf32>) outs(%o : memref<1024x16384xf32>) attrs = {gpu.plan = #gpu.elementwise<width = 4, items = 4>} {
  ^bb(%x: f32, %z: f32):
    %s = arith.addf %x, %x : f32
    linalg.yield %s : f32
  }
  func.return
}

// 1000003 elements: 976 blocks of 1024, then 3 blocks for 579 elements, the last of which is not full.
// CHECK-LABEL: gpu.func @rest(%a: memref<1000003xbf16>, %o: memref<1000003xbf16>)
// CHECK-SAME:    known_grid_size = array<i32: [[GRID:[0-9]+]], 1, 1>
// CHECK:         %[[WHOLE:.*]] = arith.cmpi ult, %{{.*}}, %{{.*}} : index
// CHECK-NEXT:    scf.if %[[WHOLE]] {
// CHECK:           vector.load %a[%{{.*}}] {alignment = 16 : i64} : memref<1000003xbf16>, vector<8xbf16>
// CHECK:         } else {
// CHECK:           %[[INSIDE:.*]] = arith.cmpi ult
// CHECK-NEXT:      scf.if %[[INSIDE]] {
// CHECK-NEXT:        memref.load %a
func.func private @rest(%a: memref<1000003xbf16>, %o: memref<1000003xbf16>) attributes {hlo.kernel = "loop"} {
  linalg.generic {indexing_maps = [#i, #i], iterator_types = ["parallel"]} ins(%a : memref<1000003xbf16>) outs(%o : memref<1000003xbf16>) attrs = {gpu.plan = #gpu.elementwise<width = 8>} {
  ^bb(%x: bf16, %z: bf16):
    %s = arith.addf %x, %x : bf16
    linalg.yield %s : bf16
  }
  func.return
}

// Few elements: no vectors, so that the whole chip is used.
// CHECK-LABEL: gpu.func @small
// CHECK-SAME:    known_grid_size = array<i32: 4, 1, 1>
// CHECK-NOT:     vector.
// CHECK:         gpu.return
func.func private @small(%a: memref<1000xf32>, %o: memref<1000xf32>) attributes {hlo.kernel = "loop"} {
  linalg.generic {indexing_maps = [#i, #i], iterator_types = ["parallel"]} ins(%a : memref<1000xf32>) outs(%o : memref<1000xf32>) attrs = {gpu.plan = #gpu.elementwise} {
  ^bb(%x: f32, %z: f32):
    %s = arith.addf %x, %x : f32
    linalg.yield %s : f32
  }
  func.return
}

// A value that the vectors of a row share is loaded once; the widest type determines the length of vectors.
// CHECK-LABEL: gpu.func @broadcasts
// CHECK:         vector.load %a[%[[I:.*]], %[[J:.*]]] {alignment = 8 : i64} : memref<1024x16384xf16>, vector<4xf16>
// CHECK-NEXT:    vector.load %r[%[[J]]] {alignment = 16 : i64} : memref<16384xf32>, vector<4xf32>
// CHECK-NEXT:    memref.load %c[%[[I]]] : memref<1024xf32>
// CHECK:         scf.for
// CHECK-NOT:       load
// CHECK:           vector.insert
// CHECK:         vector.store
func.func private @broadcasts(%a: memref<1024x16384xf16>, %r: memref<16384xf32>, %c: memref<1024xf32>, %o: memref<1024x16384xf32>) attributes {hlo.kernel = "loop"} {
  linalg.generic {indexing_maps = [#ij, #row, #column, #ij], iterator_types = ["parallel", "parallel"]} ins(%a, %r, %c : memref<1024x16384xf16>, memref<16384xf32>, memref<1024xf32>) outs(%o : memref<1024x16384xf32>) attrs = {gpu.plan = #gpu.elementwise<width = 4, items = 4, along = 0>} {
  ^bb(%x: f16, %y: f32, %w: f32, %z: f32):
    %e = arith.extf %x : f16 to f32
    %s = arith.addf %e, %y : f32
    %t = arith.mulf %s, %w : f32
    linalg.yield %t : f32
  }
  func.return
}

// A row operand stays in registers: the vectors of a thread are at the same columns of neighbouring rows.
// CHECK-LABEL: gpu.func @row
// CHECK:         vector.load %a[%[[I:.*]], %[[J:.*]]] {alignment = 16 : i64} : memref<1024x16384xf32>, vector<4xf32>
// CHECK-NEXT:    vector.load %r[%[[J]]] {alignment = 16 : i64} : memref<16384xf32>, vector<4xf32>
// CHECK-NEXT:    vector.load %a[%{{.*}}, %[[J]]]
// CHECK-NEXT:    vector.load %a[%{{.*}}, %[[J]]]
// CHECK-NEXT:    vector.load %a[%{{.*}}, %[[J]]]
// CHECK-NOT:     vector.load
// CHECK:         gpu.return
func.func private @row(%a: memref<1024x16384xf32>, %r: memref<16384xf32>, %o: memref<1024x16384xf32>) attributes {hlo.kernel = "loop"} {
  linalg.generic {indexing_maps = [#ij, #row, #ij], iterator_types = ["parallel", "parallel"]} ins(%a, %r : memref<1024x16384xf32>, memref<16384xf32>) outs(%o : memref<1024x16384xf32>) attrs = {gpu.plan = #gpu.elementwise<width = 4, items = 4, along = 0>} {
  ^bb(%x: f32, %y: f32, %z: f32):
    %s = arith.addf %x, %y : f32
    linalg.yield %s : f32
  }
  func.return
}

// Rows of 777 elements: vectors continue into the next row if all rows are contiguous in memory.
// CHECK-LABEL: gpu.func @crossing
// CHECK:         vector.load %{{.*}}[%[[AT:.*]]] {alignment = 16 : i64} : memref<15913737xf32>, vector<4xf32>
// CHECK:         scf.for %[[K:[0-9]+]] = %{{.*}} to
// CHECK-NEXT:      %[[N:.*]] = arith.addi %{{.*}}, %[[K]] : index
// CHECK:           %[[J:.*]] = arith.remui %[[N]], %{{.*}} : index
// CHECK:           memref.load %r[%[[J]]] : memref<777xf32>
func.func private @crossing(%a: memref<20481x777xf32>, %r: memref<777xf32>, %o: memref<20481x777xf32>) attributes {hlo.kernel = "loop"} {
  linalg.generic {indexing_maps = [#ij, #row, #ij], iterator_types = ["parallel", "parallel"]} ins(%a, %r : memref<20481x777xf32>, memref<777xf32>) outs(%o : memref<20481x777xf32>) attrs = {gpu.plan = #gpu.elementwise<width = 4, items = 4, crosses>} {
  ^bb(%x: f32, %y: f32, %z: f32):
    %s = arith.addf %x, %y : f32
    linalg.yield %s : f32
  }
  func.return
}

// Vectors that are only moved stay vectors.
// CHECK-LABEL: gpu.func @reverse
// CHECK:         %[[V:.*]] = vector.load
// CHECK-NEXT:    %[[R:.*]] = vector.shuffle %[[V]], %[[V]] [3, 2, 1, 0] : vector<4xf32>, vector<4xf32>
// CHECK-NOT:     scf.for
// CHECK:         vector.store %[[R]], %o
func.func private @reverse(%a: memref<1024x16384xf32>, %o: memref<1024x16384xf32>) attributes {hlo.kernel = "loop"} {
  linalg.generic {indexing_maps = [#reversed, #ij], iterator_types = ["parallel", "parallel"]} ins(%a : memref<1024x16384xf32>) outs(%o : memref<1024x16384xf32>) attrs = {gpu.plan = #gpu.elementwise<width = 4, items = 4>} {
  ^bb(%x: f32, %z: f32):
    linalg.yield %x : f32
  }
  func.return
}

// CHECK-LABEL: gpu.func @fill
// CHECK:         %[[V:.*]] = vector.broadcast %{{.*}} : i8 to vector<16xi8>
// CHECK:         vector.store %[[V]], %o[%{{.*}}] {alignment = 16 : i64} : memref<16777216xi8>, vector<16xi8>
func.func private @fill(%o: memref<16777216xi8>) attributes {hlo.kernel = "loop"} {
  %c = arith.constant 7 : i8
  linalg.fill {gpu.plan = #gpu.elementwise<width = 16, items = 4>} ins(%c : i8) outs(%o : memref<16777216xi8>)
  func.return
}

// A gather of whole rows: the index once, the row's elements as vectors.
// CHECK-LABEL: gpu.func @gather
// CHECK:         memref.load %i[%{{.*}}] : memref<4096xi32>
// CHECK-NEXT:    %[[ROW:.*]] = arith.index_cast
// CHECK-NEXT:    vector.load %a[%[[ROW]], %[[J:.*]]] {alignment = 16 : i64} : memref<32000x1024xbf16>, vector<8xbf16>
// CHECK-NOT:     scf.for
// CHECK:         vector.store
func.func private @gather(%a: memref<32000x1024xbf16>, %i: memref<4096xi32>, %o: memref<4096x1024xbf16>) attributes {hlo.kernel = "loop"} {
  linalg.generic {indexing_maps = [#column, #ij], iterator_types = ["parallel", "parallel"]} ins(%i : memref<4096xi32>) outs(%o : memref<4096x1024xbf16>) attrs = {gpu.plan = #gpu.elementwise<width = 8, items = 4>} {
  ^bb(%n: i32, %z: bf16):
    %r = arith.index_cast %n : i32 to index
    %j = linalg.index 1 : index
    %x = memref.load %a[%r, %j] : memref<32000x1024xbf16>
    linalg.yield %x : bf16
  }
  func.return
}

// A slice that begins anywhere in its rows is not aligned, one that begins at any row is.
// CHECK-LABEL: gpu.func @update
// CHECK:         vector.store %{{.*}}, %{{.*}}[%{{.*}}] {alignment = 16 : i64}
// CHECK-LABEL: gpu.func @update_anywhere
// CHECK-NOT:     vector.store
// CHECK:         gpu.return
func.func private @update(%x: memref<8192x4096xf32>, %u: memref<1024x4096xf32>, %i: memref<i64>) attributes {hlo.kernel = "update"} {
  %0 = memref.load %i[] : memref<i64>
  %1 = arith.index_cast %0 : i64 to index
  %2 = memref.subview %x[%1, 0] [1024, 4096] [1, 1] : memref<8192x4096xf32> to memref<1024x4096xf32, strided<[4096, 1], offset: ?>>
  "memref.copy"(%u, %2) {gpu.plan = #gpu.elementwise<width = 4, items = 4>} : (memref<1024x4096xf32>, memref<1024x4096xf32, strided<[4096, 1], offset: ?>>) -> ()
  func.return
}
func.func private @update_anywhere(%x: memref<8192x4096xf32>, %u: memref<1024x1024xf32>, %i: memref<i64>) attributes {hlo.kernel = "update"} {
  %0 = memref.load %i[] : memref<i64>
  %1 = arith.index_cast %0 : i64 to index
  %2 = memref.subview %x[0, %1] [1024, 1024] [1, 1] : memref<8192x4096xf32> to memref<1024x1024xf32, strided<[4096, 1], offset: ?>>
  "memref.copy"(%u, %2) {gpu.plan = #gpu.elementwise<items = 8>} : (memref<1024x1024xf32>, memref<1024x1024xf32, strided<[4096, 1], offset: ?>>) -> ()
  func.return
}

// The parts of a concatenation are one launch.
// CHECK-LABEL: gpu.func @concatenate(
// CHECK-SAME:    known_grid_size = array<i32: 16, 1, 1>
// CHECK:         %[[FIRST:.*]] = arith.cmpi ult, %{{.*}}, %{{.*}} : index
// CHECK-NEXT:    scf.if %[[FIRST]] {
// CHECK:           memref.load %a
// CHECK:         } else {
// CHECK:           memref.load %b
// CHECK:         gpu.return
func.func private @concatenate(%a: memref<32x64xf32>, %b: memref<32x64xf32>, %o: memref<32x128xf32>) attributes {hlo.kernel = "concatenate"} {
  %0 = memref.subview %o[0, 0] [32, 64] [1, 1] : memref<32x128xf32> to memref<32x64xf32, strided<[128, 1]>>
  "memref.copy"(%a, %0) {gpu.plan = #gpu.elementwise} : (memref<32x64xf32>, memref<32x64xf32, strided<[128, 1]>>) -> ()
  %1 = memref.subview %o[0, 64] [32, 64] [1, 1] : memref<32x128xf32> to memref<32x64xf32, strided<[128, 1], offset: 64>>
  "memref.copy"(%b, %1) {gpu.plan = #gpu.elementwise, gpu.joined} : (memref<32x64xf32>, memref<32x64xf32, strided<[128, 1], offset: 64>>) -> ()
  func.return
}

// A part that reads what another writes comes in a launch after it.
// CHECK-LABEL: gpu.func @dependent(%a: memref<32x64xf32>, %o: memref<64x64xf32>)
// CHECK-LABEL: gpu.func @dependent_1(%o: memref<64x64xf32>)
func.func private @dependent(%a: memref<32x64xf32>, %o: memref<64x64xf32>) attributes {hlo.kernel = "concatenate"} {
  %0 = memref.subview %o[0, 0] [32, 64] [1, 1] : memref<64x64xf32> to memref<32x64xf32, strided<[64, 1]>>
  "memref.copy"(%a, %0) {gpu.plan = #gpu.elementwise} : (memref<32x64xf32>, memref<32x64xf32, strided<[64, 1]>>) -> ()
  %1 = memref.subview %o[32, 0] [32, 64] [1, 1] : memref<64x64xf32> to memref<32x64xf32, strided<[64, 1], offset: 2048>>
  "memref.copy"(%0, %1) {gpu.plan = #gpu.elementwise} : (memref<32x64xf32, strided<[64, 1]>>, memref<32x64xf32, strided<[64, 1], offset: 2048>>) -> ()
  func.return
}

// A slice as long as the rows begins at 0, whatever start the program gives.
// CHECK-LABEL: gpu.func @dynamic_slice
// CHECK:         vector.load %a[%{{.*}}, %{{.*}}] {alignment = 16 : i64} : memref<5000x4096xf32>, vector<4xf32>
func.func private @dynamic_slice(%a: memref<5000x4096xf32>, %i: memref<i64>, %o: memref<4000x4096xf32>) attributes {hlo.kernel = "loop"} {
  %zero = arith.constant 0 : i64
  %0 = memref.load %i[] : memref<i64>
  %1 = arith.maxsi %0, %zero : i64
  %2 = arith.minsi %1, %zero : i64
  %start = arith.index_cast %2 : i64 to index
  linalg.generic {indexing_maps = [#ij], iterator_types = ["parallel", "parallel"]} outs(%o : memref<4000x4096xf32>) attrs = {gpu.plan = #gpu.elementwise<width = 4, items = 4>} {
  ^bb(%z: f32):
    %r = linalg.index 0 : index
    %j = linalg.index 1 : index
    %c = arith.addi %j, %start : index
    %x = memref.load %a[%r, %c] : memref<5000x4096xf32>
    linalg.yield %x : f32
  }
  func.return
}
