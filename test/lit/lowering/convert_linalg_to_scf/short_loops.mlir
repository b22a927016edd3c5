// RUN: hlo-opt %s --convert-linalg-to-scf | filecheck %s
// Rows of few elements that are computed by many operations: a longer loop is vectorized instead.

#ij = affine_map<(i, j) -> (i, j)>
#j = affine_map<(i, j) -> (j)>

// Both elements of a row in one iteration: LLVM interleaves vectors of them.
// CHECK-LABEL: func.func private @interleaved
// CHECK:         scf.for %[[I:.*]] =
// CHECK-COUNT-2:   memref.store %{{.*}}, %o[%[[I]], %{{.*}}]
// CHECK-NOT:       scf.for
// CHECK:         func.return
func.func private @interleaved(%x: memref<96x2xi32>, %c: memref<2xi32>, %o: memref<96x2xi32>) attributes {hlo.kernel = "loop"} {
  linalg.generic {indexing_maps = [#ij, #j, #ij], iterator_types = ["parallel", "parallel"]} ins(%x, %c : memref<96x2xi32>, memref<2xi32>) outs(%o : memref<96x2xi32>) {
  ^bb(%0: i32, %b: i32, %z: i32):
    %1 = arith.addi %0, %b : i32
    %2 = arith.muli %1, %b : i32
    %3 = arith.addi %2, %b : i32
    %4 = arith.muli %3, %b : i32
    %5 = arith.addi %4, %b : i32
    %6 = arith.muli %5, %b : i32
    %7 = arith.addi %6, %b : i32
    %8 = arith.muli %7, %b : i32
    %9 = arith.addi %8, %b : i32
    %10 = arith.muli %9, %b : i32
    %11 = arith.addi %10, %b : i32
    %12 = arith.muli %11, %b : i32
    %13 = arith.addi %12, %b : i32
    %14 = arith.muli %13, %b : i32
    %15 = arith.addi %14, %b : i32
    %16 = arith.muli %15, %b : i32
    %17 = arith.addi %16, %b : i32
    %18 = arith.muli %17, %b : i32
    %19 = arith.addi %18, %b : i32
    %20 = arith.muli %19, %b : i32
    %21 = arith.addi %20, %b : i32
    %22 = arith.muli %21, %b : i32
    %23 = arith.addi %22, %b : i32
    %24 = arith.muli %23, %b : i32
    %25 = arith.addi %24, %b : i32
    %26 = arith.muli %25, %b : i32
    %27 = arith.addi %26, %b : i32
    %28 = arith.muli %27, %b : i32
    %29 = arith.addi %28, %b : i32
    %30 = arith.muli %29, %b : i32
    %31 = arith.addi %30, %b : i32
    %32 = arith.muli %31, %b : i32
    %33 = arith.addi %32, %b : i32
    %34 = arith.muli %33, %b : i32
    %35 = arith.addi %34, %b : i32
    %36 = arith.muli %35, %b : i32
    linalg.yield %36 : i32
  }
  func.return
}

// Where that would be too long a body, the rows are the inner loop, for each of their elements.
// CHECK-LABEL: func.func private @first_column_first
// CHECK:         scf.for %[[J:.*]] =
// CHECK:           scf.for %[[BLOCK:.*]] =
// CHECK-NEXT:        scf.for %[[I:.*]] =
// CHECK-NEXT:          %[[ROW:.*]] = arith.addi %[[BLOCK]], %[[I]]
// CHECK-COUNT-35:      math.exp
// CHECK:               memref.store %{{.*}}, %o[%[[ROW]], %[[J]]]
// CHECK-NEXT:        } {xhlo.parallel}
func.func private @first_column_first(%x: memref<96x2xf32>, %c: memref<2xf32>, %o: memref<96x2xf32>) attributes {hlo.kernel = "loop"} {
  linalg.generic {indexing_maps = [#ij, #j, #ij], iterator_types = ["parallel", "parallel"]} ins(%x, %c : memref<96x2xf32>, memref<2xf32>) outs(%o : memref<96x2xf32>) {
  ^bb(%0: f32, %b: f32, %z: f32):
    %1 = math.exp %0 : f32
    %2 = math.exp %1 : f32
    %3 = math.exp %2 : f32
    %4 = math.exp %3 : f32
    %5 = math.exp %4 : f32
    %6 = math.exp %5 : f32
    %7 = math.exp %6 : f32
    %8 = math.exp %7 : f32
    %9 = math.exp %8 : f32
    %10 = math.exp %9 : f32
    %11 = math.exp %10 : f32
    %12 = math.exp %11 : f32
    %13 = math.exp %12 : f32
    %14 = math.exp %13 : f32
    %15 = math.exp %14 : f32
    %16 = math.exp %15 : f32
    %17 = math.exp %16 : f32
    %18 = math.exp %17 : f32
    %19 = math.exp %18 : f32
    %20 = math.exp %19 : f32
    %21 = math.exp %20 : f32
    %22 = math.exp %21 : f32
    %23 = math.exp %22 : f32
    %24 = math.exp %23 : f32
    %25 = math.exp %24 : f32
    %26 = math.exp %25 : f32
    %27 = math.exp %26 : f32
    %28 = math.exp %27 : f32
    %29 = math.exp %28 : f32
    %30 = math.exp %29 : f32
    %31 = math.exp %30 : f32
    %32 = math.exp %31 : f32
    %33 = math.exp %32 : f32
    %34 = math.exp %33 : f32
    %35 = math.exp %34 : f32
    %36 = arith.addf %35, %b : f32
    linalg.yield %36 : f32
  }
  func.return
}
