// Nests that write the columns of rows alternately are one loop, which LLVM interleaves, also where loops are around the
// rows: a factor for each image keeps these apart.
// RUN: hlo-opt %s --split-input-file --convert-linalg-to-scf | filecheck %s

#in = affine_map<(n, i) -> (n, i)>
#of_n = affine_map<(n, i) -> (n)>

// CHECK-LABEL: func.func private @columns(
// CHECK:         scf.for %[[N:.*]] = %{{.*}} to %{{.*}} step
// CHECK:           scf.for %[[I:.*]] = %{{.*}} to %{{.*}} step
// CHECK:             memref.load %{{.*}}[%[[N]], %[[I]]]
// CHECK:             memref.store %{{.*}}[%[[N]], %[[I]]]
// CHECK:             memref.load %{{.*}}[%[[N]], %[[I]]]
// CHECK:             memref.store %{{.*}}[%[[N]], %[[I]]]
// CHECK-NEXT:      } {xhlo.parallel}
// CHECK-NOT:     scf.for
func.func private @columns(%x: memref<9x28xf32>, %y: memref<9x28xf32>, %w: memref<9xf32>, %o: memref<9x28x2xf32>) attributes {hlo.kernel = "loop"} {
  %even = memref.subview %o[0, 0, 0] [9, 28, 1] [1, 1, 1] : memref<9x28x2xf32> to memref<9x28xf32, strided<[56, 2]>>
  linalg.generic {indexing_maps = [#in, #of_n, #in], iterator_types = ["parallel", "parallel"]} ins(%x, %w : memref<9x28xf32>, memref<9xf32>) outs(%even : memref<9x28xf32, strided<[56, 2]>>) {
  ^bb(%a: f32, %b: f32, %z: f32):
    %p = arith.mulf %a, %b : f32
    linalg.yield %p : f32
  }
  %odd = memref.subview %o[0, 0, 1] [9, 28, 1] [1, 1, 1] : memref<9x28x2xf32> to memref<9x28xf32, strided<[56, 2], offset: 1>>
  linalg.generic {indexing_maps = [#in, #of_n, #in], iterator_types = ["parallel", "parallel"]} ins(%y, %w : memref<9x28xf32>, memref<9xf32>) outs(%odd : memref<9x28xf32, strided<[56, 2], offset: 1>>) {
  ^bb(%a: f32, %b: f32, %z: f32):
    %p = arith.addf %a, %b : f32
    linalg.yield %p : f32
  }
  func.return
}

// -----

#in = affine_map<(n, i) -> (n, i)>
#across = affine_map<(n, i) -> (i, n)>

// Rows that read their operand across are loops in an order that reads neighbours.
// CHECK-LABEL: func.func private @across(
// CHECK:         } {xhlo.parallel}
// CHECK:         } {xhlo.parallel}
func.func private @across(%x: memref<28x90xf32>, %y: memref<28x90xf32>, %o: memref<90x28x2xf32>) attributes {hlo.kernel = "loop"} {
  %even = memref.subview %o[0, 0, 0] [90, 28, 1] [1, 1, 1] : memref<90x28x2xf32> to memref<90x28xf32, strided<[56, 2]>>
  linalg.generic {indexing_maps = [#across, #in], iterator_types = ["parallel", "parallel"]} ins(%x : memref<28x90xf32>) outs(%even : memref<90x28xf32, strided<[56, 2]>>) {
  ^bb(%a: f32, %z: f32):
    %p = arith.mulf %a, %a : f32
    linalg.yield %p : f32
  }
  %odd = memref.subview %o[0, 0, 1] [90, 28, 1] [1, 1, 1] : memref<90x28x2xf32> to memref<90x28xf32, strided<[56, 2], offset: 1>>
  linalg.generic {indexing_maps = [#across, #in], iterator_types = ["parallel", "parallel"]} ins(%y : memref<28x90xf32>) outs(%odd : memref<90x28xf32, strided<[56, 2], offset: 1>>) {
  ^bb(%a: f32, %z: f32):
    %p = arith.addf %a, %a : f32
    linalg.yield %p : f32
  }
  func.return
}
