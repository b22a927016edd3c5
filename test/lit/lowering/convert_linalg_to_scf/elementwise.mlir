// RUN: hlo-opt %s --convert-linalg-to-scf | filecheck %s
// The shape decides between a serial loop and tasks; dimensions that are contiguous in all operands become one loop.

#ij = affine_map<(i, j) -> (i, j)>
#ji = affine_map<(i, j) -> (j, i)>
#j = affine_map<(i, j) -> (j)>

// CHECK-LABEL: func.func private @small
// CHECK:         %[[A:.*]] = memref.reinterpret_cast %a to offset: [0], sizes: [1000], strides: [1]
// CHECK:         scf.for %[[I:.*]] = %{{.*}} to %{{.*}} step
// CHECK-NEXT:      %[[X:.*]] = memref.load %[[A]][%[[I]]] : memref<1000xf32>
// CHECK-NEXT:      %[[S:.*]] = arith.addf %[[X]], %[[X]] : f32
// CHECK-NEXT:      memref.store %[[S]], %{{.*}}[%[[I]]] : memref<1000xf32>
// CHECK-NEXT:    } {xhlo.parallel}
func.func private @small(%a: memref<10x100xf32>, %o: memref<10x100xf32>) attributes {hlo.kernel = "loop"} {
  linalg.generic {indexing_maps = [#ij, #ij], iterator_types = ["parallel", "parallel"]} ins(%a : memref<10x100xf32>) outs(%o : memref<10x100xf32>) {
  ^bb(%x: f32, %z: f32):
    %s = arith.addf %x, %x : f32
    linalg.yield %s : f32
  }
  func.return
}

// A row operand is constant along one dimension: there are two loops, of which the outer one is cut into tasks.
// CHECK-LABEL: func.func private @large_with_row
// CHECK:         "scf.parallel"
// CHECK-NEXT:    ^{{.*}}(%[[TASK:.*]]: index):
// CHECK:           scf.for %[[I:.*]] = %{{.*}} to
// CHECK-NEXT:        scf.for %[[J:.*]] = %{{.*}} to
// CHECK-NEXT:          memref.load %a[%[[I]], %[[J]]] : memref<1000x1000xf32>
// CHECK-NEXT:          memref.load %b[%[[J]]] : memref<1000xf32>
// CHECK:               memref.store %{{.*}}, %o[%[[I]], %[[J]]]
func.func private @large_with_row(%a: memref<1000x1000xf32>, %b: memref<1000xf32>, %o: memref<1000x1000xf32>) attributes {hlo.kernel = "loop"} {
  linalg.generic {indexing_maps = [#ij, #j, #ij], iterator_types = ["parallel", "parallel"]} ins(%a, %b : memref<1000x1000xf32>, memref<1000xf32>) outs(%o : memref<1000x1000xf32>) {
  ^bb(%x: f32, %y: f32, %z: f32):
    %s = arith.addf %x, %y : f32
    linalg.yield %s : f32
  }
  func.return
}

// A transposition is calls of a function for some rows of the source, which passes blocks of them through registers.
// CHECK-LABEL: func.func private @transpose(
// CHECK-DAG:     %[[ROWS:.*]] = arith.constant 64 : index
// CHECK-DAG:     %[[COLUMNS:.*]] = arith.constant 96 : index
// CHECK:         scf.for %[[ROW:.*]] = %{{.*}} to %{{.*}} step %[[ROWS]] {
// CHECK:           %[[LEFT:.*]] = arith.minsi %{{.*}}, %[[ROWS]]
// CHECK:           %[[AT:.*]] = arith.muli %[[ROW]], %[[COLUMNS]]
// CHECK:           func.call @transpose_transpose(%a, %[[AT]], %[[COLUMNS]], %o, %[[ROW]], %{{.*}}, %[[LEFT]], %[[COLUMNS]])
// CHECK:       func.func private @transpose_transpose
// CHECK:         vector.load %{{.*}} : memref<16xf32, strided<[1], offset: ?>>, vector<16xf32>
// Elements are interleaved within 128 bits, then whole blocks of 128 bits move.
// CHECK:         vector.shuffle %{{.*}} [0, 16, 1, 17, 4, 20, 5, 21, 8, 24, 9, 25, 12, 28, 13, 29]
// CHECK:         vector.shuffle %{{.*}} [0, 1, 2, 3, 8, 9, 10, 11, 16, 17, 18, 19, 24, 25, 26, 27]
// CHECK:         vector.store
// CHECK-NOT:     nontemporal
// CHECK:         } else {
// CHECK:         memref.store
func.func private @transpose(%a: memref<72x96xf32>, %o: memref<96x72xf32>) attributes {hlo.kernel = "loop"} {
  linalg.generic {indexing_maps = [#ji, #ij], iterator_types = ["parallel", "parallel"]} ins(%a : memref<72x96xf32>) outs(%o : memref<96x72xf32>) {
  ^bb(%x: f32, %z: f32):
    linalg.yield %x : f32
  }
  func.return
}

// A block is no larger than the matrix; one call copies all rows where they are short.
// CHECK-LABEL: func.func private @transpose_of_few(
// CHECK-NOT:     scf.for
// CHECK:         func.call @transpose_of_few_transpose
// CHECK:       func.func private @transpose_of_few_transpose
// CHECK:         vector.load %{{.*}}, vector<8xf32>
// CHECK:         vector.store %{{.*}}, vector<16xf32>
func.func private @transpose_of_few(%a: memref<72x8xf32>, %o: memref<8x72xf32>) attributes {hlo.kernel = "loop"} {
  linalg.generic {indexing_maps = [#ji, #ij], iterator_types = ["parallel", "parallel"]} ins(%a : memref<72x8xf32>) outs(%o : memref<8x72xf32>) {
  ^bb(%x: f32, %z: f32):
    linalg.yield %x : f32
  }
  func.return
}

// Bytes are interleaved within 16 of a vector, which has some bytes of 64 rows.
// CHECK-LABEL: func.func private @transpose_of_bytes(
// CHECK:       func.func private @transpose_of_bytes_transpose
// CHECK:         vector.load %{{.*}}, vector<16xi8>
// CHECK:         vector.shuffle %{{.*}} [0, 64, 1, 65, 2, 66, 3, 67, 4, 68, 5, 69, 6, 70, 7, 71, 16, 80
// CHECK:         vector.store %{{.*}}, vector<64xi8>
func.func private @transpose_of_bytes(%a: memref<72x96xi8>, %o: memref<96x72xi8>) attributes {hlo.kernel = "loop"} {
  linalg.generic {indexing_maps = [#ji, #ij], iterator_types = ["parallel", "parallel"]} ins(%a : memref<72x96xi8>) outs(%o : memref<96x72xi8>) {
  ^bb(%x: i8, %z: i8):
    linalg.yield %x : i8
  }
  func.return
}

// Two elements that are neighbours on both sides are moved as one.
// CHECK-LABEL: func.func private @transpose_of_pairs(
// CHECK:       func.func private @transpose_of_pairs_transpose
// CHECK:         vector.shuffle %{{.*}} [0, 1, 16, 17, 4, 5, 20, 21, 8, 9, 24, 25, 12, 13, 28, 29]
func.func private @transpose_of_pairs(%a: memref<72x96x2xf32>, %o: memref<96x72x2xf32>) attributes {hlo.kernel = "loop"} {
  linalg.generic {indexing_maps = [affine_map<(i, j, k) -> (j, i, k)>, affine_map<(i, j, k) -> (i, j, k)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%a : memref<72x96x2xf32>) outs(%o : memref<96x72x2xf32>) {
  ^bb(%x: f32, %z: f32):
    linalg.yield %x : f32
  }
  func.return
}

// A result beyond the caches is written past them if its rows begin at lines; tasks read whole rows of the source.
// CHECK-LABEL: func.func private @transpose_beyond_caches(
// CHECK:         scf.parallel
// CHECK:           func.call @transpose_beyond_caches_transpose
// CHECK:       func.func private @transpose_beyond_caches_transpose
// CHECK:         memref.extract_aligned_pointer_as_index
// CHECK:         vector.store %{{.*}} {alignment = 64 : i64, nontemporal = true}
// CHECK:         llvm.fence seq_cst
// CHECK:         } else {
func.func private @transpose_beyond_caches(%a: memref<2048x2048xf32>, %o: memref<2048x2048xf32>) attributes {hlo.kernel = "loop"} {
  linalg.generic {indexing_maps = [#ji, #ij], iterator_types = ["parallel", "parallel"]} ins(%a : memref<2048x2048xf32>) outs(%o : memref<2048x2048xf32>) {
  ^bb(%x: f32, %z: f32):
    linalg.yield %x : f32
  }
  func.return
}

// Where an operand is transposed among others, the loops run in square tiles, and its tile is transposed first.
// CHECK-LABEL: func.func private @add_transposed(
// CHECK-DAG:     %[[TILE:.*]] = arith.constant 64 : index
// CHECK-DAG:     %[[COPY:.*]] = memref.alloca() : memref<64x64xf32>
// CHECK:         scf.for %{{.*}} = %{{.*}} to %{{.*}} step %[[TILE]] {
// CHECK-NEXT:      scf.for %{{.*}} = %{{.*}} to %{{.*}} step %[[TILE]] {
// CHECK:             func.call @add_transposed_transpose(%a, %{{.*}}, %[[COPY]], %{{.*}}, %[[TILE]]
// CHECK:             scf.for %[[I:.*]] = %{{.*}} to
// CHECK-NEXT:          scf.for %[[J:.*]] = %{{.*}} to
// CHECK:                 %[[X:.*]] = memref.load %[[COPY]][%{{.*}}, %{{.*}}]
// CHECK:                 %[[Y:.*]] = memref.load %b[%[[I]], %[[J]]]
// CHECK:                 memref.store %{{.*}}, %o[%[[I]], %[[J]]]
func.func private @add_transposed(%a: memref<72x96xf32>, %b: memref<96x72xf32>, %o: memref<96x72xf32>) attributes {hlo.kernel = "loop"} {
  linalg.generic {indexing_maps = [#ji, #ij, #ij], iterator_types = ["parallel", "parallel"]} ins(%a, %b : memref<72x96xf32>, memref<96x72xf32>) outs(%o : memref<96x72xf32>) {
  ^bb(%x: f32, %y: f32, %z: f32):
    %s = arith.addf %x, %y : f32
    linalg.yield %s : f32
  }
  func.return
}

// A short loop whose elements are between two of a longer one is unrolled in that: LLVM interleaves vectors of them.
// Copies of 4 bytes and more are permutations of lanes (convert_linalg_to_scf_weaving.mlir).
// CHECK-LABEL: func.func private @channels_last
// CHECK:         scf.for %[[I:.*]] = %{{.*}} to
// CHECK-NEXT:      memref.load %a[%[[ZERO:.*]], %[[I]]]
// CHECK-NEXT:      memref.store %{{.*}}, %o[%[[I]], %[[ZERO]]]
// CHECK-NEXT:      memref.load %a[%[[ONE:.*]], %[[I]]]
// CHECK-NEXT:      memref.store %{{.*}}, %o[%[[I]], %[[ONE]]]
// CHECK-NEXT:      memref.load
// CHECK-NEXT:      memref.store
// CHECK-NEXT:    } {xhlo.parallel}
func.func private @channels_last(%a: memref<3x96xi16>, %o: memref<96x3xi16>) attributes {hlo.kernel = "loop"} {
  linalg.generic {indexing_maps = [#ji, #ij], iterator_types = ["parallel", "parallel"]} ins(%a : memref<3x96xi16>) outs(%o : memref<96x3xi16>) {
  ^bb(%x: i16, %z: i16):
    linalg.yield %x : i16
  }
  func.return
}

// So is one whose rows are read backward.
// CHECK-LABEL: func.func private @flipped_rows
// CHECK:         scf.for %[[I:.*]] = %{{.*}} to
// CHECK:           %[[J:.*]] = arith.subi %{{.*}}, %[[I]]
// CHECK-NEXT:      memref.load %{{.*}}[%{{.*}}, %[[J]]]
// CHECK-NEXT:      memref.store
// CHECK:           memref.load
// CHECK-NEXT:      memref.store
// CHECK-NEXT:    } {xhlo.parallel}
// CHECK-NEXT:    func.return
func.func private @flipped_rows(%a: memref<96x2xi16>, %o: memref<96x2xi16>) attributes {hlo.kernel = "loop"} {
  linalg.generic {indexing_maps = [affine_map<(i, j) -> (95 - i, j)>, #ij], iterator_types = ["parallel", "parallel"]} ins(%a : memref<96x2xi16>) outs(%o : memref<96x2xi16>) {
  ^bb(%x: i16, %z: i16):
    linalg.yield %x : i16
  }
  func.return
}

// Two short loops are unrolled together: each pixel of two channels is written twice.
// CHECK-LABEL: func.func private @repeated_pixels
// CHECK:         scf.for %[[I:.*]] = %{{.*}} to
// CHECK-COUNT-4: memref.store
// CHECK:         } {xhlo.parallel}
// CHECK-NEXT:    func.return
func.func private @repeated_pixels(%a: memref<96x2xi16>, %o: memref<96x2x2xi16>) attributes {hlo.kernel = "loop"} {
  linalg.generic {indexing_maps = [affine_map<(i, j, k) -> (i, k)>, affine_map<(i, j, k) -> (i, j, k)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%a : memref<96x2xi16>) outs(%o : memref<96x2x2xi16>) {
  ^bb(%x: i16, %z: i16):
    linalg.yield %x : i16
  }
  func.return
}

// A reversed slice is a view with a negative stride.
// CHECK-LABEL: func.func private @reversed
// CHECK:         %[[VIEW:.*]] = memref.reinterpret_cast %a to offset: [2], sizes: [8], strides: [1]
// CHECK:         scf.for %[[I:.*]] =
// CHECK-NEXT:      %[[BACK:.*]] = arith.subi %{{.*}}, %[[I]]
// CHECK-NEXT:      memref.load %[[VIEW]][%[[BACK]]]
func.func private @reversed(%a: memref<16xf32>, %o: memref<8xf32>) attributes {hlo.kernel = "loop"} {
  linalg.generic {indexing_maps = [affine_map<(i) -> (9 - i)>, affine_map<(i) -> (i)>], iterator_types = ["parallel"]} ins(%a : memref<16xf32>) outs(%o : memref<8xf32>) {
  ^bb(%x: f32, %z: f32):
    linalg.yield %x : f32
  }
  func.return
}

// CHECK-LABEL: func.func private @nothing
// CHECK-NOT:     scf.for
// CHECK:         func.return
func.func private @nothing(%a: memref<0x8xf32>, %o: memref<0x8xf32>) attributes {hlo.kernel = "loop"} {
  linalg.generic {indexing_maps = [#ij, #ij], iterator_types = ["parallel", "parallel"]} ins(%a : memref<0x8xf32>) outs(%o : memref<0x8xf32>) {
  ^bb(%x: f32, %z: f32):
    linalg.yield %x : f32
  }
  func.return
}

// The loop's index replaces linalg.index; that of a unit dimension is 0.
// CHECK-LABEL: func.func private @iota
// CHECK:         scf.for %[[I:.*]] = %{{.*}} to
// CHECK-NEXT:      %[[V:.*]] = arith.index_cast %[[I]] : index to i32
// CHECK-NEXT:      memref.store %[[V]]
func.func private @iota(%o: memref<1x8xi32>) attributes {hlo.kernel = "loop"} {
  linalg.generic {indexing_maps = [#ij], iterator_types = ["parallel", "parallel"]} outs(%o : memref<1x8xi32>) {
  ^bb(%z: i32):
    %n = linalg.index 1 : index
    %v = arith.index_cast %n : index to i32
    linalg.yield %v : i32
  }
  func.return
}

// Elements of one bit are not transposed in registers. Lines at multiples of 2 KiB push one another out of the cache:
// their tiles are copied first, though they are few.
// CHECK-LABEL: func.func private @transpose_of_colliding_lines
// CHECK:         %[[COPY:.*]] = memref.alloca() : memref<64x64xi1>
// CHECK:         memref.store %{{.*}}, %[[COPY]]
// CHECK:         memref.load %[[COPY]]
// CHECK-LABEL: func.func private @transpose_of_few_lines
// CHECK-NOT:     memref.alloca
func.func private @transpose_of_colliding_lines(%a: memref<64x2048xi1>, %o: memref<2048x64xi1>) attributes {hlo.kernel = "loop"} {
  linalg.generic {indexing_maps = [#ji, #ij], iterator_types = ["parallel", "parallel"]} ins(%a : memref<64x2048xi1>) outs(%o : memref<2048x64xi1>) {
  ^bb(%x: i1, %z: i1):
    linalg.yield %x : i1
  }
  func.return
}

func.func private @transpose_of_few_lines(%a: memref<64x1000xi1>, %o: memref<1000x64xi1>) attributes {hlo.kernel = "loop"} {
  linalg.generic {indexing_maps = [#ji, #ij], iterator_types = ["parallel", "parallel"]} ins(%a : memref<64x1000xi1>) outs(%o : memref<1000x64xi1>) {
  ^bb(%x: i1, %z: i1):
    linalg.yield %x : i1
  }
  func.return
}

// A host function's large copy is divided among threads, also in a branch; a small one is one call of memcpy.
// CHECK-LABEL: func.func @host
// CHECK:         scf.parallel
// CHECK:           memref.store
// CHECK:         scf.if
// CHECK:           scf.parallel
// CHECK:         "memref.copy"(%{{.*}}, %{{.*}}) : (memref<8xf32>, memref<8xf32>) -> ()
func.func @host(%a: memref<512x512xf32>, %b: memref<512x512xf32>, %c: memref<8xf32>, %d: memref<8xf32>, %p: i1) {
  "memref.copy"(%a, %b) : (memref<512x512xf32>, memref<512x512xf32>) -> ()
  scf.if %p {
    "memref.copy"(%b, %a) : (memref<512x512xf32>, memref<512x512xf32>) -> ()
  }
  "memref.copy"(%c, %d) : (memref<8xf32>, memref<8xf32>) -> ()
  func.return
}

// Parts that alternate are written by one loop, whose vectors LLVM interleaves; not where gaps remain.
// CHECK-LABEL: func.func private @alternately(
// CHECK:         scf.for %[[I:.*]] = %{{.*}} to
// CHECK-NEXT:      memref.load %{{.*}}[%[[I]]]
// CHECK-NEXT:      memref.store %{{.*}}, %[[FIRST:.*]][%[[I]]] : memref<96xi16, strided<[3]>>
// CHECK-NEXT:      memref.load %b[%[[I]], %[[ZERO:.*]]]
// CHECK-NEXT:      memref.store %{{.*}}, %[[REST:.*]][%[[I]], %[[ZERO]]] : memref<96x2xi16, strided<[3, 1], offset: 1>>
// CHECK-NEXT:      memref.load %b[%[[I]], %[[ONE:.*]]]
// CHECK-NEXT:      memref.store %{{.*}}, %[[REST]][%[[I]], %[[ONE]]]
// CHECK-NEXT:    } {xhlo.parallel}
// CHECK-NOT:     scf.for
func.func private @alternately(%a: memref<96x1xi16>, %b: memref<96x2xi16>, %o: memref<96x3xi16>) attributes {hlo.kernel = "concatenate"} {
  %0 = memref.subview %o[0, 0] [96, 1] [1, 1] : memref<96x3xi16> to memref<96x1xi16, strided<[3, 1]>>
  "memref.copy"(%a, %0) : (memref<96x1xi16>, memref<96x1xi16, strided<[3, 1]>>) -> ()
  %1 = memref.subview %o[0, 1] [96, 2] [1, 1] : memref<96x3xi16> to memref<96x2xi16, strided<[3, 1], offset: 1>>
  "memref.copy"(%b, %1) : (memref<96x2xi16>, memref<96x2xi16, strided<[3, 1], offset: 1>>) -> ()
  func.return
}

// CHECK-LABEL: func.func private @with_gaps(
// CHECK-COUNT-2: scf.for
func.func private @with_gaps(%a: memref<96x1xf32>, %b: memref<96x1xf32>, %o: memref<96x3xf32>) attributes {hlo.kernel = "concatenate"} {
  %0 = memref.subview %o[0, 0] [96, 1] [1, 1] : memref<96x3xf32> to memref<96x1xf32, strided<[3, 1]>>
  "memref.copy"(%a, %0) : (memref<96x1xf32>, memref<96x1xf32, strided<[3, 1]>>) -> ()
  %1 = memref.subview %o[0, 1] [96, 1] [1, 1] : memref<96x3xf32> to memref<96x1xf32, strided<[3, 1], offset: 1>>
  "memref.copy"(%b, %1) : (memref<96x1xf32>, memref<96x1xf32, strided<[3, 1], offset: 1>>) -> ()
  func.return
}

// A loop whose index is clamped at its borders has them apart: inside, the clamp is gone and the test is true.
// CHECK-LABEL: func.func private @border
// CHECK:         %[[T:.*]] = arith.constant true
// CHECK:         arith.maxsi
// CHECK:         arith.select
// CHECK:         memref.store
// CHECK:         scf.for %[[I:.*]] = %{{.*}} to %{{.*}} step
// CHECK-NEXT:      %[[P:.*]] = arith.addi %[[I]], %{{.*}} : index
// CHECK-NEXT:      %[[X:.*]] = memref.load %x[%[[P]]]
// CHECK-NEXT:      %[[V:.*]] = arith.select %[[T]], %[[X]], %{{.*}}
// CHECK-NEXT:      memref.store %[[V]], %o[%[[I]]]
// CHECK-NEXT:    } {xhlo.parallel}
// CHECK-NEXT:    func.return
func.func private @border(%x: memref<100xf32>, %o: memref<100xf32>) attributes {hlo.kernel = "loop"} {
  linalg.generic {indexing_maps = [affine_map<(i) -> (i)>], iterator_types = ["parallel"]} outs(%o : memref<100xf32>) {
  ^bb(%z: f32):
    %i = linalg.index 0 : index
    %one = arith.constant -1 : index
    %zero = arith.constant 0 : index
    %f = arith.constant 0.0 : f32
    %p = arith.addi %i, %one : index
    %inside = arith.cmpi sge, %p, %zero : index
    %at = arith.maxsi %p, %zero : index
    %v = memref.load %x[%at] : memref<100xf32>
    %r = arith.select %inside, %v, %f : f32
    linalg.yield %r : f32
  }
  func.return
}

// A gather of long rows is a call for each, which also gets the place of a row 16 KB ahead, asked for into the
// second-level cache; of the last one at the end. A result beyond the caches is written past them.
// CHECK-LABEL: func.func private @gather_rows(
// CHECK:         %[[FOUR:.*]] = arith.constant 4 : index
// CHECK:         scf.for %[[I:.*]] = %{{.*}} to
// CHECK:           %[[AHEAD:.*]] = arith.addi %[[I]], %[[FOUR]] : index
// CHECK:           %[[ROW:.*]] = arith.minsi %[[AHEAD]], %{{.*}}
// CHECK-NEXT:      memref.load %i[%[[ROW]]]
// CHECK:           memref.load %i[%[[I]]]
// CHECK:           func.call @gather_rows_row(%t, %{{.*}}, %o
// CHECK:         llvm.fence seq_cst
// CHECK:       func.func private @gather_rows_row
// CHECK:         cpu.prefetch %{{.*}} {second_level}
// CHECK:         vector.store %{{.*}} {alignment = 64 : i64, nontemporal = true}
func.func private @gather_rows(%t: memref<500x1024xf32>, %i: memref<4096xindex>, %o: memref<4096x1024xf32>) attributes {hlo.kernel = "loop"} {
  linalg.generic {indexing_maps = [affine_map<(i, j) -> (i)>, #ij], iterator_types = ["parallel", "parallel"]} ins(%i : memref<4096xindex>) outs(%o : memref<4096x1024xf32>) {
  ^bb(%row: index, %z: f32):
    %j = linalg.index 1 : index
    %x = memref.load %t[%row, %j] : memref<500x1024xf32>
    linalg.yield %x : f32
  }
  func.return
}

// A result of 8 MB stays in the caches. From a table that no cache holds, rows of 128 bytes are worth the call too.
// CHECK-LABEL: func.func private @gather_short_rows(
// CHECK:         %[[MANY:.*]] = arith.constant 32 : index
// CHECK:         arith.addi %{{.*}}, %[[MANY]] : index
// CHECK:         func.call @gather_short_rows_row(
// CHECK-NOT:     llvm.fence
// CHECK:       func.func private @gather_short_rows_row
// CHECK-NOT:     nontemporal
func.func private @gather_short_rows(%t: memref<131072x32xf32>, %i: memref<65536xindex>, %o: memref<65536x32xf32>) attributes {hlo.kernel = "loop"} {
  linalg.generic {indexing_maps = [affine_map<(i, j) -> (i)>, #ij], iterator_types = ["parallel", "parallel"]} ins(%i : memref<65536xindex>) outs(%o : memref<65536x32xf32>) {
  ^bb(%row: index, %z: f32):
    %j = linalg.index 1 : index
    %x = memref.load %t[%row, %j] : memref<131072x32xf32>
    linalg.yield %x : f32
  }
  func.return
}

// A gather of short rows keeps the loop along them innermost: each is read as a vector.
// CHECK-LABEL: func.func private @gather_of_short_rows
// CHECK:         scf.for %[[ROW:.*]] =
// CHECK-NEXT:      %[[I:.*]] = memref.load %i[%[[ROW]]]
// CHECK:           scf.for %[[K:.*]] =
// CHECK:             memref.load %x[%{{.*}}, %[[K]]]
// CHECK:             memref.store %{{.*}}, %o[%[[ROW]], %[[K]]]
func.func private @gather_of_short_rows(%i: memref<500xi32>, %x: memref<50x8xf32>, %o: memref<500x8xf32>) attributes {hlo.kernel = "loop"} {
  linalg.generic {indexing_maps = [affine_map<(r, k) -> (r)>, affine_map<(r, k) -> (r, k)>], iterator_types = ["parallel", "parallel"]} ins(%i : memref<500xi32>) outs(%o : memref<500x8xf32>) {
  ^bb(%row: i32, %z: f32):
    %k = linalg.index 1 : index
    %at = arith.index_cast %row : i32 to index
    %v = memref.load %x[%at, %k] : memref<50x8xf32>
    linalg.yield %v : f32
  }
  func.return
}

// So does one of pixels, whose places grow by one along the loop.
// CHECK-LABEL: func.func private @gather_of_pixels
// CHECK:         scf.for %[[ROW:.*]] =
// CHECK-NEXT:      %[[I:.*]] = memref.load %i[%[[ROW]]]
// CHECK:           scf.for %[[K:.*]] =
// CHECK:             arith.addi %{{.*}}, %[[K]]
// CHECK:             memref.load %x
func.func private @gather_of_pixels(%i: memref<500xi32>, %x: memref<50x90xf32>, %o: memref<500x3xf32>) attributes {hlo.kernel = "loop"} {
  linalg.generic {indexing_maps = [affine_map<(r, k) -> (r)>, affine_map<(r, k) -> (r, k)>], iterator_types = ["parallel", "parallel"]} ins(%i : memref<500xi32>) outs(%o : memref<500x3xf32>) {
  ^bb(%row: i32, %z: f32):
    %first = arith.constant 60 : index
    %k = linalg.index 1 : index
    %at = arith.index_cast %row : i32 to index
    %p = arith.addi %first, %k : index
    %v = memref.load %x[%at, %p] : memref<50x90xf32>
    linalg.yield %v : f32
  }
  func.return
}

// So does one that weighs them by numbers of each row, all of which are contiguous along the other loop.
// CHECK-LABEL: func.func private @gather_of_weighted_rows
// CHECK:         scf.for %[[ROW:.*]] =
// CHECK-NEXT:      memref.load %w[%[[ROW]]]
// CHECK:           scf.for %[[K:.*]] =
// CHECK:             memref.load %x[%{{.*}}, %[[K]]]
// CHECK:             memref.store %{{.*}}, %o[%[[ROW]], %[[K]]]
func.func private @gather_of_weighted_rows(%w: memref<500xf32>, %v: memref<500xf32>, %u: memref<500xf32>, %i: memref<500xi32>, %x: memref<50x8xf32>, %o: memref<500x8xf32>) attributes {hlo.kernel = "loop"} {
  linalg.generic {indexing_maps = [affine_map<(r, k) -> (r)>, affine_map<(r, k) -> (r)>, affine_map<(r, k) -> (r)>, affine_map<(r, k) -> (r)>, affine_map<(r, k) -> (r, k)>], iterator_types = ["parallel", "parallel"]} ins(%w, %v, %u, %i : memref<500xf32>, memref<500xf32>, memref<500xf32>, memref<500xi32>) outs(%o : memref<500x8xf32>) {
  ^bb(%a: f32, %b: f32, %c: f32, %row: i32, %z: f32):
    %k = linalg.index 1 : index
    %at = arith.index_cast %row : i32 to index
    %e = memref.load %x[%at, %k] : memref<50x8xf32>
    %ab = arith.mulf %a, %b : f32
    %abc = arith.mulf %ab, %c : f32
    %r = arith.mulf %abc, %e : f32
    linalg.yield %r : f32
  }
  func.return
}

// With an elementary function vectors of 16 elements are worth more: rows are the innermost loop.
// CHECK-LABEL: func.func private @exponentials_of_gathered_rows
// CHECK:         scf.for %[[K:.*]] =
// CHECK:           scf.for %[[ROW:.*]] =
// CHECK:             memref.load %x[%{{.*}}, %[[K]]]
// CHECK:             math.exp
func.func private @exponentials_of_gathered_rows(%w: memref<500xf32>, %v: memref<500xf32>, %u: memref<500xf32>, %i: memref<500xi32>, %x: memref<50x8xf32>, %o: memref<500x8xf32>) attributes {hlo.kernel = "loop"} {
  linalg.generic {indexing_maps = [affine_map<(r, k) -> (r)>, affine_map<(r, k) -> (r)>, affine_map<(r, k) -> (r)>, affine_map<(r, k) -> (r)>, affine_map<(r, k) -> (r, k)>], iterator_types = ["parallel", "parallel"]} ins(%w, %v, %u, %i : memref<500xf32>, memref<500xf32>, memref<500xf32>, memref<500xi32>) outs(%o : memref<500x8xf32>) {
  ^bb(%a: f32, %b: f32, %c: f32, %row: i32, %z: f32):
    %k = linalg.index 1 : index
    %at = arith.index_cast %row : i32 to index
    %e = memref.load %x[%at, %k] : memref<50x8xf32>
    %ab = arith.mulf %a, %b : f32
    %abc = arith.mulf %ab, %c : f32
    %d = arith.mulf %abc, %e : f32
    %r = math.exp %d : f32
    linalg.yield %r : f32
  }
  func.return
}

// Colors of a table, times a number of each pixel: what is read does not move along the pixels, whose colors LLVM
// interleaves in vectors.
// CHECK-LABEL: func.func private @colors_of_a_table
// CHECK:         scf.for %[[PIXEL:.*]] =
// CHECK-COUNT-3:   memref.store %{{.*}}, %o[%[[PIXEL]], %{{.*}}]
// CHECK-NOT:       scf.for
// CHECK:         func.return
func.func private @colors_of_a_table(%w: memref<64xf32>, %t: memref<i32>, %x: memref<50x3xf32>, %o: memref<64x3xf32>) attributes {hlo.kernel = "loop"} {
  linalg.generic {indexing_maps = [affine_map<(p, c) -> (p)>, affine_map<(p, c) -> ()>, affine_map<(p, c) -> (p, c)>], iterator_types = ["parallel", "parallel"]} ins(%w, %t : memref<64xf32>, memref<i32>) outs(%o : memref<64x3xf32>) {
  ^bb(%a: f32, %row: i32, %z: f32):
    %c = linalg.index 1 : index
    %at = arith.index_cast %row : i32 to index
    %e = memref.load %x[%at, %c] : memref<50x3xf32>
    %r = arith.mulf %a, %e : f32
    linalg.yield %r : f32
  }
  func.return
}

// What one number of each matrix chooses between is stored in the order of the matrices' elements: that the numbers are
// contiguous along the matrices matters little.
// CHECK-LABEL: func.func private @chosen_for_each_matrix
// CHECK:         scf.for %[[MATRIX:.*]] =
// CHECK:           memref.load %i[%[[MATRIX]]]
// CHECK:           scf.for %[[ELEMENT:.*]] =
// CHECK:             scf.for %[[PART:.*]] =
// CHECK:               memref.store %{{.*}}, %{{.*}}[%[[MATRIX]], %[[ELEMENT]], %[[PART]]]
func.func private @chosen_for_each_matrix(%x: memref<20x16x16x2xf32>, %i: memref<20xi32>, %o: memref<20x16x16x2xf32>) attributes {hlo.kernel = "loop"} {
  linalg.generic {indexing_maps = [affine_map<(b, r, c, p) -> (b, r, c, 0)>, affine_map<(b, r, c, p) -> (b)>, affine_map<(b, r, c, p) -> (b, r, c, p)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%x, %i : memref<20x16x16x2xf32>, memref<20xi32>) outs(%o : memref<20x16x16x2xf32>) {
  ^bb(%a: f32, %n: i32, %z: f32):
    %zero = arith.constant 0 : i32
    %none = arith.constant 0x7FC00000 : f32
    %right = arith.cmpi eq, %n, %zero : i32
    %r = arith.select %right, %a, %none : f32
    linalg.yield %r : f32
  }
  func.return
}

// Short outer loops are cut together, so that a task has its part of memory: 8 planes, not 16 elements of each.
// CHECK-LABEL: func.func private @short_outer_loops(
// CHECK-DAG:     %[[ALL:.*]] = arith.constant 3136 : index
// CHECK-DAG:     %[[EIGHT:.*]] = arith.constant 8 : index
// CHECK-DAG:     %[[TASKS:.*]] = arith.constant 64 : index
// CHECK:         "scf.parallel"(%{{.*}}, %[[TASKS]], %{{.*}})
// CHECK:         ^bb0(%[[TASK:.*]]: index):
// CHECK:           %[[J:.*]] = arith.remui %[[TASK]], %[[EIGHT]]
// CHECK:           %[[I:.*]] = arith.divui %[[TASK]], %[[EIGHT]]
// CHECK:           scf.for %[[K:.*]] = %{{.*}} to %[[EIGHT]]
// CHECK:             scf.for %[[L:.*]] = %{{.*}} to %[[ALL]]
// CHECK:               memref.load %{{.*}}[%[[I]], %[[J]], %[[K]], %[[L]]]
func.func private @short_outer_loops(%a: memref<8x8x8x3136xf32>, %b: memref<8x8xf32>, %c: memref<8x8xf32>, %o: memref<8x8x8x3136xf32>) attributes {hlo.kernel = "loop"} {
  linalg.generic {indexing_maps = [affine_map<(i, j, k, l) -> (i, j, k, l)>, affine_map<(i, j, k, l) -> (i, j)>, affine_map<(i, j, k, l) -> (j, k)>, affine_map<(i, j, k, l) -> (i, j, k, l)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%a, %b, %c : memref<8x8x8x3136xf32>, memref<8x8xf32>, memref<8x8xf32>) outs(%o : memref<8x8x8x3136xf32>) {
  ^bb(%x: f32, %y: f32, %z: f32, %u: f32):
    %0 = arith.mulf %x, %y : f32
    %1 = arith.addf %0, %z : f32
    linalg.yield %1 : f32
  }
  func.return
}

// Rows of a transposed matrix whose elements are repeated are written as a whole, from tiles that are transposed.
// CHECK-LABEL: func.func private @repeated_columns
// CHECK:         call @repeated_columns_transpose
// CHECK-NEXT:    scf.for
// CHECK-NEXT:      scf.for %[[I:.*]] =
// CHECK:             %[[X:.*]] = memref.load
// CHECK-NEXT:        memref.store %[[X]], %o[%{{.*}}, %[[I]], %{{.*}}]
// CHECK:             memref.store %{{.*}}, %o[%{{.*}}, %[[I]], %{{.*}}]
// CHECK-NEXT:      } {xhlo.parallel}
func.func private @repeated_columns(%a: memref<96x80xf32>, %o: memref<80x96x2xf32>) attributes {hlo.kernel = "loop"} {
  linalg.generic {indexing_maps = [affine_map<(i, j, k) -> (j, i)>, affine_map<(i, j, k) -> (i, j, k)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%a : memref<96x80xf32>) outs(%o : memref<80x96x2xf32>) {
  ^bb(%x: f32, %z: f32):
    linalg.yield %x : f32
  }
  func.return
}
