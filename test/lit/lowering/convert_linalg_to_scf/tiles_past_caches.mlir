// RUN: hlo-opt %s --convert-linalg-to-scf | filecheck %s

#id = affine_map<(i) -> (i)>
#wide = affine_map<(i, j) -> (i, j)>

// Results of 12 MB are in no cache when they are read: a tile of four vectors is computed, and stored past the caches.
// CHECK-LABEL: func.func private @add(
// CHECK:         "scf.parallel"
// CHECK:           %[[TILE:.*]] = memref.alloca() : memref<64xf32>
// CHECK:           scf.for
// CHECK:             scf.for
// CHECK:               arith.addf
// CHECK-NEXT:          arith.subi
// CHECK-NEXT:          memref.store %{{.*}}, %[[TILE]]
// CHECK:             scf.if
// CHECK:               vector.store %{{.*}} {alignment = 64 : i64, nontemporal = true}
// CHECK:             } else {
// CHECK-NOT:           nontemporal
// CHECK:           llvm.fence seq_cst
// CHECK-NOT:       nontemporal
// CHECK:           func.return
func.func private @add(%x: memref<3145728xf32>, %y: memref<3145728xf32>, %o: memref<3145728xf32>) attributes {hlo.kernel = "loop"} {
  linalg.generic {indexing_maps = [#id, #id, #id], iterator_types = ["parallel"]} ins(%x, %y : memref<3145728xf32>, memref<3145728xf32>) outs(%o : memref<3145728xf32>) {
  ^bb(%a: f32, %b: f32, %z: f32):
    %s = arith.addf %a, %b : f32
    linalg.yield %s : f32
  }
  func.return
}

// Elements after the last tile are stored as usual. Tiles of several results have as many vectors of the shortest elements.
// CHECK-LABEL: func.func private @convert(
// CHECK-DAG:       memref.alloca() : memref<128xbf16>
// CHECK-DAG:       memref.alloca() : memref<128xf32>
// CHECK:           vector.store %{{.*}} {alignment = 64 : i64, nontemporal = true}
// CHECK:           vector.store %{{.*}} {alignment = 64 : i64, nontemporal = true}
// CHECK:           scf.for
// CHECK:             memref.store %{{.*}}, %o
// CHECK:             memref.store %{{.*}}, %p
// CHECK:           llvm.fence seq_cst
func.func private @convert(%x: memref<6291457xf32>, %o: memref<6291457xf32>, %p: memref<6291457xbf16>) attributes {hlo.kernel = "loop"} {
  linalg.generic {indexing_maps = [#id, #id, #id], iterator_types = ["parallel"]} ins(%x : memref<6291457xf32>) outs(%o, %p : memref<6291457xf32>, memref<6291457xbf16>) {
  ^bb(%a: f32, %y: f32, %z: bf16):
    %s = arith.addf %a, %a : f32
    %t = arith.truncf %s : f32 to bf16
    linalg.yield %s, %t : f32, bf16
  }
  func.return
}

// Copies of rows need no tile; a function finds the first line of each.
// CHECK-LABEL: func.func private @rows(
// CHECK:         func.call @rows_far(
// CHECK:       func.func private @rows_far(
// CHECK:         memref.extract_aligned_pointer_as_index
// CHECK:         scf.if
// CHECK:           vector.store %{{.*}} {alignment = 64 : i64, nontemporal = true}
// CHECK:         llvm.fence seq_cst
func.func private @rows(%x: memref<4000x1024xf32>, %o: memref<4000x1000xf32>) attributes {hlo.kernel = "loop"} {
  %v = memref.subview %x[0, 7] [4000, 1000] [1, 1] : memref<4000x1024xf32> to memref<4000x1000xf32, strided<[1024, 1], offset: 7>>
  linalg.generic {indexing_maps = [#wide, #wide], iterator_types = ["parallel", "parallel"]} ins(%v : memref<4000x1000xf32, strided<[1024, 1], offset: 7>>) outs(%o : memref<4000x1000xf32>) {
  ^bb(%a: f32, %z: f32):
    linalg.yield %a : f32
  }
  func.return
}

// Not smaller ones, which stay in the third-level cache,
// CHECK-LABEL: func.func private @of_8_megabytes(
// CHECK-NOT:     nontemporal
// CHECK:         func.return
func.func private @of_8_megabytes(%x: memref<2097152xf32>, %o: memref<2097152xf32>) attributes {hlo.kernel = "loop"} {
  linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel"]} ins(%x : memref<2097152xf32>) outs(%o : memref<2097152xf32>) {
  ^bb(%a: f32, %z: f32):
    %s = arith.addf %a, %a : f32
    linalg.yield %s : f32
  }
  func.return
}

// nor where arithmetic takes longer,
// CHECK-LABEL: func.func private @much_arithmetic(
// CHECK-NOT:     nontemporal
// CHECK:         func.return
func.func private @much_arithmetic(%x: memref<3145728xf32>, %o: memref<3145728xf32>) attributes {hlo.kernel = "loop"} {
  linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel"]} ins(%x : memref<3145728xf32>) outs(%o : memref<3145728xf32>) {
  ^bb(%a: f32, %z: f32):
    %s = math.exp %a : f32
    %t = math.exp %s : f32
    linalg.yield %t : f32
  }
  func.return
}

// nor over an argument, whose lines were read,
// CHECK-LABEL: func.func private @over_an_argument(
// CHECK-NOT:     nontemporal
// CHECK:         func.return
func.func private @over_an_argument(%x: memref<3145728xf32>, %o: memref<3145728xf32>) attributes {hlo.kernel = "loop", xhlo.shared_buffers = array<i64: 0, 1>} {
  linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel"]} ins(%x : memref<3145728xf32>) outs(%o : memref<3145728xf32>) {
  ^bb(%a: f32, %z: f32):
    %s = arith.addf %a, %a : f32
    linalg.yield %s : f32
  }
  func.return
}

// nor what the program reads again,
// CHECK-LABEL: func.func private @negate(
// CHECK-NOT:     nontemporal
// CHECK:         func.return
func.func private @negate(%x: memref<3145728xf32>, %o: memref<3145728xf32>) attributes {hlo.kernel = "loop"} {
  linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel"]} ins(%x : memref<3145728xf32>) outs(%o : memref<3145728xf32>) {
  ^bb(%a: f32, %z: f32):
    %s = arith.negf %a : f32
    linalg.yield %s : f32
  }
  func.return
}

// CHECK-LABEL: func.func public @main(
func.func public @main(%x: memref<3145728xf32>, %o: memref<3145728xf32>, %p: memref<3145728xf32>) {
  func.call @negate(%x, %o) : (memref<3145728xf32>, memref<3145728xf32>) -> ()
  func.call @double(%o, %p) : (memref<3145728xf32>, memref<3145728xf32>) -> ()
  func.return
}

// but a result that only the caller reads.
// CHECK-LABEL: func.func private @double(
// CHECK:         nontemporal
// CHECK:         func.return
func.func private @double(%x: memref<3145728xf32>, %o: memref<3145728xf32>) attributes {hlo.kernel = "loop"} {
  linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel"]} ins(%x : memref<3145728xf32>) outs(%o : memref<3145728xf32>) {
  ^bb(%a: f32, %z: f32):
    %s = arith.addf %a, %a : f32
    linalg.yield %s : f32
  }
  func.return
}
