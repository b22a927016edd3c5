// RUN: hlo-opt %s --convert-linalg-to-scf | filecheck %s
// Rows of a few elements are gathered one by one, so that LLVM makes a vector of each. Their places are computed before
// for a tile of rows if that is more than a few operations.

#i = affine_map<(i, c) -> (i)>
#ic = affine_map<(i, c) -> (i, c)>

// CHECK-LABEL: func.func private @computed
// CHECK:         %[[TILE:.*]] = arith.constant 256 : index
// CHECK:         %[[PLACES:.*]] = memref.alloca() : memref<256xindex>
// CHECK:         scf.for %[[START:.*]] = %{{.*}} to %{{.*}} step %[[TILE]] {
// CHECK:           scf.for %[[LANE:.*]] = %{{.*}} to %{{.*}} step
// CHECK:             memref.store %{{.*}}, %[[PLACES]][%[[LANE]]]
// CHECK-NEXT:      } {xhlo.parallel}
// CHECK:           scf.for %[[ROW:.*]] = %{{.*}} to %{{.*}} step
// CHECK:             scf.for %[[C:.*]] = %{{.*}} to %{{.*}} step
// CHECK:               %[[PLACE:.*]] = memref.load %[[PLACES]][%[[ROW]]]
// CHECK:               memref.load %t[%[[PLACE]], %[[C]]]
// CHECK:             } {xhlo.parallel}
// CHECK-NEXT:      } {xhlo.vectorize = false}
func.func private @computed(%t: memref<50x3xf32>, %x: memref<600xi32>, %y: memref<600xi32>, %o: memref<600x3xf32>) attributes {hlo.kernel = "loop"} {
  linalg.generic {indexing_maps = [#i, #i, #ic], iterator_types = ["parallel", "parallel"]} ins(%x, %y : memref<600xi32>, memref<600xi32>) outs(%o : memref<600x3xf32>) {
  ^bb(%a: i32, %b: i32, %z: f32):
    %zero = arith.constant 0 : index
    %last = arith.constant 49 : index
    %0 = arith.muli %a, %a : i32
    %1 = arith.addi %0, %b : i32
    %2 = arith.muli %1, %b : i32
    %3 = arith.subi %2, %a : i32
    %4 = arith.muli %3, %1 : i32
    %5 = arith.addi %4, %2 : i32
    %6 = arith.xori %5, %a : i32
    %7 = arith.index_cast %6 : i32 to index
    %8 = arith.maxsi %7, %zero : index
    %9 = arith.minsi %8, %last : index
    %c = linalg.index 1 : index
    %v = memref.load %t[%9, %c] : memref<50x3xf32>
    linalg.yield %v : f32
  }
  func.return
}

// CHECK-LABEL: func.func private @read
// CHECK-NOT:     memref.alloca
// CHECK:         scf.for %[[I:.*]] = %{{.*}} to %{{.*}} step
// CHECK:           scf.for %[[C:.*]] = %{{.*}} to %{{.*}} step
// CHECK:             memref.load %t[%{{.*}}, %[[C]]]
// CHECK:           } {xhlo.parallel}
// CHECK-NEXT:    } {xhlo.vectorize = false}
func.func private @read(%t: memref<50x3xf32>, %x: memref<600xindex>, %o: memref<600x3xf32>) attributes {hlo.kernel = "loop"} {
  linalg.generic {indexing_maps = [#i, #ic], iterator_types = ["parallel", "parallel"]} ins(%x : memref<600xindex>) outs(%o : memref<600x3xf32>) {
  ^bb(%a: index, %z: f32):
    %c = linalg.index 1 : index
    %v = memref.load %t[%a, %c] : memref<50x3xf32>
    linalg.yield %v : f32
  }
  func.return
}
