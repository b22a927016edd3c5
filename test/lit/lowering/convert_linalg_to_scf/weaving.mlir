// RUN: hlo-opt %s --convert-linalg-to-scf=vector-bits=512 | filecheck %s

// A column of ones beside three columns: 8 rows are two vectors, whose elements are within two of %x.
// CHECK-LABEL: func.func private @ones(
// CHECK:         scf.for %[[I:.*]] = %{{.*}} to
// CHECK-NEXT:      arith.muli %[[I]]
// CHECK:           %[[X:.*]] = vector.load {{.*}}vector<16xf32>
// CHECK-NEXT:      %[[ONE:.*]] = vector.broadcast %one : f32 to vector<16xf32>
// CHECK-NEXT:      vector.shuffle %[[X]], %[[ONE]] [0, 1, 2, 16, 3, 4, 5, 16, 6, 7, 8, 16, 9, 10, 11, 16]
// CHECK:           vector.store
// CHECK:           %[[Y:.*]] = vector.load {{.*}}vector<16xf32>
// CHECK-NEXT:      vector.shuffle %[[Y]], %[[ONE]] [4, 5, 6, 16, 7, 8, 9, 16, 10, 11, 12, 16, 13, 14, 15, 16]
// CHECK:           vector.store
// CHECK-NOT:     scf.for
func.func private @ones(%x: memref<1000x3xf32>, %o: memref<1000x4xf32>) attributes {hlo.kernel = "concatenate"} {
  %one = arith.constant 1.000000e+00 : f32
  %a = memref.subview %o[0, 0] [1000, 3] [1, 1] : memref<1000x4xf32> to memref<1000x3xf32, strided<[4, 1]>>
  %b = memref.subview %o[0, 3] [1000, 1] [1, 1] : memref<1000x4xf32> to memref<1000x1xf32, strided<[4, 1], offset: 3>>
  linalg.fill ins(%one : f32) outs(%b : memref<1000x1xf32, strided<[4, 1], offset: 3>>)
  "memref.copy"(%x, %a) : (memref<1000x3xf32>, memref<1000x3xf32, strided<[4, 1]>>) -> ()
  func.return
}

// Pixels of two channels, each twice: one vector of 16 elements makes two. The last block overlaps the one before.
// CHECK-LABEL: func.func private @repeated_pixels(
// CHECK:         scf.for %[[I:.*]] = %{{.*}} to
// CHECK-NEXT:      %[[AT:.*]] = arith.minsi %[[I]], %{{.*}}
// CHECK-NEXT:      arith.muli %[[AT]]
// CHECK:           %[[X:.*]] = vector.load {{.*}}vector<16xf32>
// CHECK-NEXT:      vector.shuffle %[[X]], %[[X]] [0, 1, 0, 1, 2, 3, 2, 3, 4, 5, 4, 5, 6, 7, 6, 7]
// CHECK:           vector.store
// CHECK-NEXT:      vector.shuffle %[[X]], %[[X]] [8, 9, 8, 9, 10, 11, 10, 11, 12, 13, 12, 13, 14, 15, 14, 15]
// CHECK:           vector.store
func.func private @repeated_pixels(%a: memref<97x2xf32>, %o: memref<97x2x2xf32>) attributes {hlo.kernel = "loop"} {
  linalg.generic {indexing_maps = [affine_map<(i, j, k) -> (i, k)>, affine_map<(i, j, k) -> (i, j, k)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%a : memref<97x2xf32>) outs(%o : memref<97x2x2xf32>) {
  ^bb(%x: f32, %z: f32):
    linalg.yield %x : f32
  }
  func.return
}

// Rows of too many sources stay a loop: the elements of a vector are in four planes.
// CHECK-LABEL: func.func private @four_planes(
// CHECK-NOT:     vector.
// CHECK:         } {xhlo.parallel}
func.func private @four_planes(%a: memref<4x96xf32>, %o: memref<96x4xf32>) attributes {hlo.kernel = "loop"} {
  linalg.generic {indexing_maps = [affine_map<(i, j) -> (j, i)>, affine_map<(i, j) -> (i, j)>], iterator_types = ["parallel", "parallel"]} ins(%a : memref<4x96xf32>) outs(%o : memref<96x4xf32>) {
  ^bb(%x: f32, %z: f32):
    linalg.yield %x : f32
  }
  func.return
}

// So do rows of halves, which not all vector units move to any lane.
// CHECK-LABEL: func.func private @halves(
// CHECK-NOT:     vector.
// CHECK:         return
func.func private @halves(%a: memref<99x3xf16>, %o: memref<99x2x3xf16>) attributes {hlo.kernel = "loop"} {
  linalg.generic {indexing_maps = [affine_map<(i, j, k) -> (i, k)>, affine_map<(i, j, k) -> (i, j, k)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%a : memref<99x3xf16>) outs(%o : memref<99x2x3xf16>) {
  ^bb(%x: f16, %z: f16):
    linalg.yield %x : f16
  }
  func.return
}
