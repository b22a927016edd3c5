// RUN: hlo-opt %s --convert-linalg-to-scf=vector-bits=256 | filecheck %s
// RUN: hlo-opt %s --convert-linalg-to-scf=vector-bits=128 | filecheck %s --check-prefix=SHORT

#ij = affine_map<(i, j) -> (i, j)>
#ji = affine_map<(i, j) -> (j, i)>
#i = affine_map<(i, j) -> (i)>

// Where a vector is half a line, results beyond the caches are written past them in pairs of vectors: blocks are twice as
// high as wide, and both halves of a line are stored one after the other. Shorter vectors go through the caches.
// SHORT-NOT: nontemporal
// CHECK-LABEL: func.func private @transpose_beyond_caches(
// CHECK:         %[[ROWS:.*]] = arith.constant 16 : index
// CHECK:         scf.for %{{.*}} = %{{.*}} to %{{.*}} step %[[ROWS]]
// CHECK:       func.func private @transpose_beyond_caches_transpose(
// CHECK:         %[[EIGHT:.*]] = arith.constant 8 : index
// CHECK-NEXT:    %[[SIXTEEN:.*]] = arith.constant 16 : index
// CHECK:         scf.for %{{.*}} = %{{.*}} to %{{.*}} step %[[EIGHT]]
// CHECK:         scf.for %[[ROW:.*]] = %{{.*}} to %{{.*}} step %[[SIXTEEN]]
// CHECK-COUNT-16:  vector.load {{.*}} vector<8xf32>
// CHECK:           %[[FIRST:.*]] = arith.addi %{{.*}}, %[[ROW]] : index
// CHECK-NEXT:      %[[VIEW:.*]] = memref.reinterpret_cast %{{.*}} to offset: [%[[FIRST]]]
// CHECK-NEXT:      vector.store %{{.*}}, %[[VIEW]][%{{.*}}] {alignment = 32 : i64, nontemporal = true}
// CHECK:           %[[SAME:.*]] = arith.addi %{{.*}}, %[[ROW]] : index
// CHECK-NEXT:      %[[SECOND:.*]] = arith.addi %[[SAME]], %[[EIGHT]] : index
// CHECK-NEXT:      %[[VIEW:.*]] = memref.reinterpret_cast %{{.*}} to offset: [%[[SECOND]]]
// CHECK-NEXT:      vector.store %{{.*}}, %[[VIEW]][%{{.*}}] {alignment = 32 : i64, nontemporal = true}
// CHECK:         llvm.fence seq_cst
func.func private @transpose_beyond_caches(%a: memref<2048x2048xf32>, %o: memref<2048x2048xf32>) attributes {hlo.kernel = "loop"} {
  linalg.generic {indexing_maps = [#ji, #ij], iterator_types = ["parallel", "parallel"]} ins(%a : memref<2048x2048xf32>) outs(%o : memref<2048x2048xf32>) {
  ^bb(%x: f32, %z: f32):
    linalg.yield %x : f32
  }
  func.return
}

// CHECK-LABEL: func.func private @gather_rows_row(
// CHECK-COUNT-4: vector.store %{{.*}} {alignment = 32 : i64, nontemporal = true}
func.func private @gather_rows(%t: memref<500x1024xf32>, %i: memref<4096xindex>, %o: memref<4096x1024xf32>) attributes {hlo.kernel = "loop"} {
  linalg.generic {indexing_maps = [#i, #ij], iterator_types = ["parallel", "parallel"]} ins(%i : memref<4096xindex>) outs(%o : memref<4096x1024xf32>) {
  ^bb(%row: index, %z: f32):
    %j = linalg.index 1 : index
    %x = memref.load %t[%row, %j] : memref<500x1024xf32>
    linalg.yield %x : f32
  }
  func.return
}

// CHECK-LABEL: func.func private @subtract_maximum_far(
// CHECK-COUNT-4: vector.store %{{.*}} {alignment = 32 : i64, nontemporal = true}
func.func private @subtract_maximum(%x: memref<3072x1024xf32>, %o: memref<3072x1024xf32>) attributes {hlo.kernel = "row", hlo.row_dims = 1 : i64} {
  %init = arith.constant 0xFF800000 : f32
  %m = memref.alloc() : memref<3072xf32>
  linalg.fill ins(%init : f32) outs(%m : memref<3072xf32>)
  linalg.generic {indexing_maps = [#ij, #i], iterator_types = ["parallel", "reduction"]} ins(%x : memref<3072x1024xf32>) outs(%m : memref<3072xf32>) {
  ^bb(%a: f32, %z: f32):
    %s = arith.maximumf %z, %a : f32
    linalg.yield %s : f32
  }
  linalg.generic {indexing_maps = [#ij, #i, #ij], iterator_types = ["parallel", "parallel"]} ins(%x, %m : memref<3072x1024xf32>, memref<3072xf32>) outs(%o : memref<3072x1024xf32>) {
  ^bb(%a: f32, %b: f32, %z: f32):
    %d = arith.subf %a, %b : f32
    linalg.yield %d : f32
  }
  func.return
}

// Arithmetic counts in the last step only: here a function copies rows, where whole vectors would not write past the
// caches.
// CHECK-LABEL: func.func private @arithmetic_before(
// CHECK:         func.call @arithmetic_before_far(
func.func private @arithmetic_before(%x: memref<3072x1024xf32>, %o: memref<3072x1024xf32>) attributes {hlo.kernel = "row", hlo.row_dims = 1 : i64} {
  %init = arith.constant 0.0 : f32
  %m = memref.alloc() : memref<3072xf32>
  linalg.fill ins(%init : f32) outs(%m : memref<3072xf32>)
  linalg.generic {indexing_maps = [#ij, #i], iterator_types = ["parallel", "reduction"]} ins(%x : memref<3072x1024xf32>) outs(%m : memref<3072xf32>) {
  ^bb(%a: f32, %z: f32):
    %e = math.exp %a : f32
    %s = arith.addf %z, %e fastmath<reassoc> : f32
    linalg.yield %s : f32
  }
  linalg.generic {indexing_maps = [#ij, #i, #ij], iterator_types = ["parallel", "parallel"]} ins(%x, %m : memref<3072x1024xf32>, memref<3072xf32>) outs(%o : memref<3072x1024xf32>) {
  ^bb(%a: f32, %b: f32, %z: f32):
    %d = arith.subf %a, %b : f32
    linalg.yield %d : f32
  }
  func.return
}

// CHECK-LABEL: func.func private @arithmetic_last(
// CHECK-NOT:     func.call
// CHECK:         func.return
func.func private @arithmetic_last(%x: memref<3072x1024xf32>, %o: memref<3072x1024xf32>) attributes {hlo.kernel = "row", hlo.row_dims = 1 : i64} {
  %init = arith.constant 0.0 : f32
  %m = memref.alloc() : memref<3072xf32>
  linalg.fill ins(%init : f32) outs(%m : memref<3072xf32>)
  linalg.generic {indexing_maps = [#ij, #i], iterator_types = ["parallel", "reduction"]} ins(%x : memref<3072x1024xf32>) outs(%m : memref<3072xf32>) {
  ^bb(%a: f32, %z: f32):
    %e = math.exp %a : f32
    %s = arith.addf %z, %e fastmath<reassoc> : f32
    linalg.yield %s : f32
  }
  linalg.generic {indexing_maps = [#ij, #i, #ij], iterator_types = ["parallel", "parallel"]} ins(%x, %m : memref<3072x1024xf32>, memref<3072xf32>) outs(%o : memref<3072x1024xf32>) {
  ^bb(%a: f32, %b: f32, %z: f32):
    %d = arith.subf %a, %b : f32
    %e = math.exp %d : f32
    %f = math.exp %e : f32
    linalg.yield %f : f32
  }
  func.return
}

// Values do not wait in the output's row; the next row is asked for.
// CHECK-LABEL: func.func private @values_in_a_buffer(
// CHECK:         memref.alloca() : memref<1024xf32>
// CHECK:         cpu.prefetch
func.func private @values_in_a_buffer(%x: memref<512x1024xf32>, %o: memref<512x1024xf32>) attributes {hlo.kernel = "row", hlo.row_dims = 1 : i64} {
  %init = arith.constant 0.0 : f32
  %e = memref.alloc() : memref<512x1024xf32>
  %s = memref.alloc() : memref<512xf32>
  linalg.generic {indexing_maps = [#ij, #ij], iterator_types = ["parallel", "parallel"]} ins(%x : memref<512x1024xf32>) outs(%e : memref<512x1024xf32>) {
  ^bb(%a: f32, %z: f32):
    %d = math.exp %a : f32
    linalg.yield %d : f32
  }
  linalg.fill ins(%init : f32) outs(%s : memref<512xf32>)
  linalg.generic {indexing_maps = [#ij, #i], iterator_types = ["parallel", "reduction"]} ins(%e : memref<512x1024xf32>) outs(%s : memref<512xf32>) {
  ^bb(%a: f32, %z: f32):
    %d = arith.addf %z, %a fastmath<reassoc> : f32
    linalg.yield %d : f32
  }
  linalg.generic {indexing_maps = [#ij, #i, #ij], iterator_types = ["parallel", "parallel"]} ins(%e, %s : memref<512x1024xf32>, memref<512xf32>) outs(%o : memref<512x1024xf32>) {
  ^bb(%a: f32, %b: f32, %z: f32):
    %d = arith.divf %a, %b : f32
    linalg.yield %d : f32
  }
  func.return
}
