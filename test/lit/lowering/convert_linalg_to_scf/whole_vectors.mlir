// RUN: hlo-opt %s --convert-linalg-to-scf | filecheck %s

// Tiles of a long body in stages, the last of which is shorter: LLVM sees loops of 16 iterations.
// CHECK-LABEL: func.func private @whole(
// CHECK:         scf.for %[[TILE:.*]] =
// CHECK-NEXT:      arith.subi
// CHECK-NEXT:      %[[COUNT:.*]] = arith.minsi
// CHECK-NEXT:      scf.for %[[V:.*]] = %{{.*}} to %[[COUNT]] step %[[VECTOR:.*]] {
// CHECK-NEXT:        scf.for %[[L:.*]] = %{{.*}} to %[[VECTOR]] step %{{.*}} {
// CHECK-NEXT:          arith.addi %[[V]], %[[L]] : index
// CHECK:               math.sin
// CHECK:             } {xhlo.parallel}
// CHECK:           scf.for %{{.*}} = %{{.*}} to %[[COUNT]] step %[[VECTOR]] {
func.func private @whole(%a: memref<2000xf32>, %o: memref<2000xf32>) attributes {hlo.kernel = "loop"} {
  linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>], iterator_types = ["parallel"]} ins(%a : memref<2000xf32>) outs(%o : memref<2000xf32>) {
  ^bb(%x: f32, %z: f32):
    %1 = math.sin %x : f32
    %2 = math.exp %1 : f32
    %3 = math.cos %2 : f32
    %4 = math.exp %3 : f32
    %5 = math.sin %4 : f32
    %6 = math.exp %5 : f32
    linalg.yield %6 : f32
  }
  func.return
}

// 8 elements are left: the last vector ends where they do.
// CHECK-LABEL: func.func private @overlapping(
// CHECK:         %[[LAST:.*]] = arith.constant 184 : index
// CHECK:         scf.for %[[V:.*]] = %{{.*}} to %{{.*}} step %[[VECTOR:.*]] {
// CHECK-NEXT:      %[[FIRST:.*]] = arith.minsi %[[V]], %[[LAST]] : index
// CHECK-NEXT:      scf.for %[[L:.*]] = %{{.*}} to %[[VECTOR]] step %{{.*}} {
// CHECK-NEXT:        arith.addi %[[FIRST]], %[[L]] : index
func.func private @overlapping(%a: memref<200xf32>, %o: memref<200xf32>) attributes {hlo.kernel = "loop"} {
  linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>], iterator_types = ["parallel"]} ins(%a : memref<200xf32>) outs(%o : memref<200xf32>) {
  ^bb(%x: f32, %z: f32):
    %1 = math.sin %x : f32
    %2 = math.exp %1 : f32
    %3 = math.cos %2 : f32
    %4 = math.exp %3 : f32
    %5 = math.sin %4 : f32
    %6 = math.exp %5 : f32
    linalg.yield %6 : f32
  }
  func.return
}

// In place: elements are computed once.
// CHECK-LABEL: func.func private @in_place(
// CHECK-NOT:     arith.minsi
// CHECK-NOT:     arith.addi
// CHECK:         math.sin
// CHECK:         } {xhlo.parallel}
// CHECK-NEXT:    func.return
func.func private @in_place(%a: memref<200xf32>) attributes {hlo.kernel = "loop"} {
  linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>], iterator_types = ["parallel"]} ins(%a : memref<200xf32>) outs(%a : memref<200xf32>) {
  ^bb(%x: f32, %z: f32):
    %1 = math.sin %x : f32
    %2 = math.exp %1 : f32
    %3 = math.cos %2 : f32
    %4 = math.exp %3 : f32
    %5 = math.sin %4 : f32
    %6 = math.exp %5 : f32
    linalg.yield %6 : f32
  }
  func.return
}

// One vector would be longer than all.
// CHECK-LABEL: func.func private @short(
// CHECK-NOT:     arith.addi
// CHECK:         math.sin
// CHECK:         } {xhlo.parallel}
// CHECK-NEXT:    func.return
func.func private @short(%a: memref<9xf32>, %o: memref<9xf32>) attributes {hlo.kernel = "loop"} {
  linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>], iterator_types = ["parallel"]} ins(%a : memref<9xf32>) outs(%o : memref<9xf32>) {
  ^bb(%x: f32, %z: f32):
    %1 = math.sin %x : f32
    %2 = math.exp %1 : f32
    %3 = math.cos %2 : f32
    %4 = math.exp %3 : f32
    %5 = math.sin %4 : f32
    %6 = math.exp %5 : f32
    linalg.yield %6 : f32
  }
  func.return
}

// Four elements that a vector leaves would take as long, one by one, as the vector that ends with them. It adds up only
// what the first has not.
// CHECK-LABEL: func.func private @sum_of_twenty(
// CHECK-DAG:     %[[WHOLE:.*]] = arith.constant 16 : index
// CHECK-DAG:     %[[BEGIN:.*]] = arith.constant 4 : index
// CHECK-DAG:     %[[END:.*]] = arith.constant 20 : index
// CHECK:         scf.for %{{.*}} to %[[WHOLE]]
// CHECK:         scf.for %[[I:.*]] = %[[BEGIN]] to %[[END]]
// CHECK:           math.exp
// CHECK:           %[[FRESH:.*]] = arith.cmpi sge, %[[I]], %[[WHOLE]]
// CHECK-NEXT:      arith.select %[[FRESH]]
func.func private @sum_of_twenty(%a: memref<9x20xf32>, %o: memref<9xf32>) attributes {hlo.kernel = "reduce"} {
  %zero = arith.constant 0.0 : f32
  linalg.fill ins(%zero : f32) outs(%o : memref<9xf32>)
  linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i)>], iterator_types = ["parallel", "reduction"]} ins(%a : memref<9x20xf32>) outs(%o : memref<9xf32>) {
  ^bb(%x: f32, %z: f32):
    %1 = math.exp %x : f32
    %2 = arith.addf %z, %1 : f32
    linalg.yield %2 : f32
  }
  func.return
}

// Where the result's old values are read no element is computed twice: the loop goes through all of them.
// CHECK-LABEL: func.func private @onto_old_values(
// CHECK-DAG:     %[[FROM:.*]] = arith.constant 0 : index
// CHECK-DAG:     %[[TO:.*]] = arith.constant 120 : index
// CHECK-DAG:     %[[ONE:.*]] = arith.constant 1 : index
// CHECK:         scf.for %{{.*}} = %[[FROM]] to %[[TO]] step %[[ONE]] {
// CHECK-NOT:       scf.for
// CHECK:           math.tanh
func.func private @onto_old_values(%a: memref<120xf32>, %o: memref<120xf32>) attributes {hlo.kernel = "loop"} {
  linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>], iterator_types = ["parallel"]} ins(%a : memref<120xf32>) outs(%o : memref<120xf32>) {
  ^bb(%x: f32, %z: f32):
    %1 = arith.addf %x, %z : f32
    %2 = math.tanh %1 : f32
    linalg.yield %2 : f32
  }
  func.return
}
