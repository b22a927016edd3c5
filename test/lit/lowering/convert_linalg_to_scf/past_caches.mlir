// RUN: hlo-opt %s --convert-linalg-to-scf | filecheck %s

#wide = affine_map<(i, j) -> (i, j)>
#thin = affine_map<(i, j) -> (i)>

// Results of 12 MB are in no cache when they are read: the last step writes a buffer of one row, and a function copies it.
// CHECK-LABEL: func.func private @subtract_maximum(
// CHECK:         "scf.parallel"
// CHECK:           %[[ROW:.*]] = memref.alloca() : memref<1024xf32>
// CHECK:           scf.for %[[I:.*]] =
// CHECK:             arith.subf
// CHECK-NEXT:        memref.store %{{.*}}, %[[ROW]]
// CHECK:             %[[TO:.*]] = arith.muli %[[I]], %{{.*}}
// CHECK:             func.call @subtract_maximum_far(%[[ROW]], %o, %[[TO]], %{{.*}})
// CHECK:           llvm.fence seq_cst
// CHECK:       func.func private @subtract_maximum_far
// CHECK:         memref.extract_aligned_pointer_as_index
// CHECK:         scf.if
// CHECK:         vector.store %{{.*}} {alignment = 64 : i64, nontemporal = true}
func.func private @subtract_maximum(%x: memref<3072x1024xf32>, %o: memref<3072x1024xf32>) attributes {hlo.kernel = "row", hlo.row_dims = 1 : i64} {
  %init = arith.constant 0xFF800000 : f32
  %m = memref.alloc() : memref<3072xf32>
  linalg.fill ins(%init : f32) outs(%m : memref<3072xf32>)
  linalg.generic {indexing_maps = [#wide, #thin], iterator_types = ["parallel", "reduction"]} ins(%x : memref<3072x1024xf32>) outs(%m : memref<3072xf32>) {
  ^bb(%a: f32, %z: f32):
    %s = arith.maximumf %z, %a : f32
    linalg.yield %s : f32
  }
  linalg.generic {indexing_maps = [#wide, #thin, #wide], iterator_types = ["parallel", "parallel"]} ins(%x, %m : memref<3072x1024xf32>, memref<3072xf32>) outs(%o : memref<3072x1024xf32>) {
  ^bb(%a: f32, %b: f32, %z: f32):
    %d = arith.subf %a, %b : f32
    linalg.yield %d : f32
  }
  func.return
}

// Smaller ones stay in the third-level cache.
// CHECK-LABEL: func.func private @of_8_megabytes(
// CHECK-NOT:     func.call
// CHECK:         func.return
func.func private @of_8_megabytes(%x: memref<2048x1024xf32>, %o: memref<2048x1024xf32>) attributes {hlo.kernel = "row", hlo.row_dims = 1 : i64} {
  %init = arith.constant 0xFF800000 : f32
  %m = memref.alloc() : memref<2048xf32>
  linalg.fill ins(%init : f32) outs(%m : memref<2048xf32>)
  linalg.generic {indexing_maps = [#wide, #thin], iterator_types = ["parallel", "reduction"]} ins(%x : memref<2048x1024xf32>) outs(%m : memref<2048xf32>) {
  ^bb(%a: f32, %z: f32):
    %s = arith.maximumf %z, %a : f32
    linalg.yield %s : f32
  }
  linalg.generic {indexing_maps = [#wide, #thin, #wide], iterator_types = ["parallel", "parallel"]} ins(%x, %m : memref<2048x1024xf32>, memref<2048xf32>) outs(%o : memref<2048x1024xf32>) {
  ^bb(%a: f32, %b: f32, %z: f32):
    %d = arith.subf %a, %b : f32
    linalg.yield %d : f32
  }
  func.return
}

// Not where arithmetic takes longer, nor where rows are no whole lines, which a store past the caches would write twice.
// CHECK-LABEL: func.func private @much_arithmetic(
// CHECK-NOT:     func.call
// CHECK:         func.return
func.func private @much_arithmetic(%x: memref<3072x1024xf32>, %o: memref<3072x1024xf32>) attributes {hlo.kernel = "row", hlo.row_dims = 1 : i64} {
  %init = arith.constant 0.0 : f32
  %m = memref.alloc() : memref<3072xf32>
  linalg.fill ins(%init : f32) outs(%m : memref<3072xf32>)
  linalg.generic {indexing_maps = [#wide, #thin], iterator_types = ["parallel", "reduction"]} ins(%x : memref<3072x1024xf32>) outs(%m : memref<3072xf32>) {
  ^bb(%a: f32, %z: f32):
    %e = math.exp %a : f32
    %s = arith.addf %z, %e fastmath<reassoc> : f32
    linalg.yield %s : f32
  }
  linalg.generic {indexing_maps = [#wide, #thin, #wide], iterator_types = ["parallel", "parallel"]} ins(%x, %m : memref<3072x1024xf32>, memref<3072xf32>) outs(%o : memref<3072x1024xf32>) {
  ^bb(%a: f32, %b: f32, %z: f32):
    %d = arith.subf %a, %b : f32
    %e = math.exp %d : f32
    linalg.yield %e : f32
  }
  func.return
}

// CHECK-LABEL: func.func private @parts_of_lines(
// CHECK-NOT:     func.call
// CHECK:         func.return
func.func private @parts_of_lines(%x: memref<3300x1000xf32>, %o: memref<3300x1000xf32>) attributes {hlo.kernel = "row", hlo.row_dims = 1 : i64} {
  %init = arith.constant 0xFF800000 : f32
  %m = memref.alloc() : memref<3300xf32>
  linalg.fill ins(%init : f32) outs(%m : memref<3300xf32>)
  linalg.generic {indexing_maps = [#wide, #thin], iterator_types = ["parallel", "reduction"]} ins(%x : memref<3300x1000xf32>) outs(%m : memref<3300xf32>) {
  ^bb(%a: f32, %z: f32):
    %s = arith.maximumf %z, %a : f32
    linalg.yield %s : f32
  }
  linalg.generic {indexing_maps = [#wide, #thin, #wide], iterator_types = ["parallel", "parallel"]} ins(%x, %m : memref<3300x1000xf32>, memref<3300xf32>) outs(%o : memref<3300x1000xf32>) {
  ^bb(%a: f32, %b: f32, %z: f32):
    %d = arith.subf %a, %b : f32
    linalg.yield %d : f32
  }
  func.return
}
