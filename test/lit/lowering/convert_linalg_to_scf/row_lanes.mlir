// RUN: hlo-opt %s --convert-linalg-to-scf | filecheck %s
// RUN: hlo-opt %s --convert-linalg-to-scf="vector-bits=256" | filecheck %s --check-prefix=SHORT
// Rows of six elements, whose exponentials are too much to unroll, are transposed by tiles: each step has a row in each
// lane.

#wide = affine_map<(i, j) -> (i, j)>
#thin = affine_map<(i, j) -> (i)>
#turned = affine_map<(i, j) -> (j, i)>

// CHECK-LABEL: func.func private @exponentials_of_rows
// CHECK-DAG:     %{{.*}} = memref.alloca() : memref<1x32xf32>
// CHECK-DAG:     %{{.*}} = memref.alloca() : memref<6x32xf32>
// CHECK-DAG:     %[[LANES:.*]] = arith.constant 32 : index
// The second tile has eight rows; the other lanes have those of the first.
// CHECK:         %[[COUNT:.*]] = arith.minsi %{{.*}}, %[[LANES]]
// CHECK:         scf.for %{{.*}} = %{{.*}} to %[[COUNT]]
// CHECK-COUNT-6:   memref.load %{{.*}} : memref<240xf32>
// CHECK:         scf.for %{{.*}} = %{{.*}} to %[[LANES]]
// CHECK:           math.exp
// CHECK:         scf.for %{{.*}} =
// CHECK-NEXT:      scf.for %{{.*}} = %{{.*}} to %[[LANES]]
// CHECK:             arith.subf
// CHECK-NEXT:        memref.store %{{.*}} : memref<6x32xf32>
// CHECK:         scf.for %{{.*}} to %[[COUNT]]
// CHECK-COUNT-6:   memref.store %{{.*}} : memref<240xf32>
func.func private @exponentials_of_rows(%x: memref<40x6xf32>, %o: memref<40x6xf32>) attributes {hlo.kernel = "row", hlo.row_dims = 1 : i64} {
  %init = arith.constant 0.0 : f32
  %s = memref.alloc() : memref<40xf32>
  linalg.fill ins(%init : f32) outs(%s : memref<40xf32>)
  linalg.generic {indexing_maps = [#wide, #thin], iterator_types = ["parallel", "reduction"]} ins(%x : memref<40x6xf32>) outs(%s : memref<40xf32>) {
  ^bb(%a: f32, %z: f32):
    %e = math.exp %a : f32
    %t = arith.addf %z, %e : f32
    linalg.yield %t : f32
  }
  linalg.generic {indexing_maps = [#wide, #thin, #wide], iterator_types = ["parallel", "parallel"]} ins(%x, %s : memref<40x6xf32>, memref<40xf32>) outs(%o : memref<40x6xf32>) {
  ^bb(%a: f32, %b: f32, %z: f32):
    %d = arith.subf %a, %b : f32
    linalg.yield %d : f32
  }
  func.return
}

// Rows of four elements are unrolled.
// CHECK-LABEL: func.func private @unrolled
// CHECK-NOT:     memref<4x32xf32>
// CHECK:         scf.for %{{.*}} =
func.func private @unrolled(%x: memref<40x4xf32>, %o: memref<40x4xf32>) attributes {hlo.kernel = "row", hlo.row_dims = 1 : i64} {
  %init = arith.constant 0.0 : f32
  %s = memref.alloc() : memref<40xf32>
  linalg.fill ins(%init : f32) outs(%s : memref<40xf32>)
  linalg.generic {indexing_maps = [#wide, #thin], iterator_types = ["parallel", "reduction"]} ins(%x : memref<40x4xf32>) outs(%s : memref<40xf32>) {
  ^bb(%a: f32, %z: f32):
    %e = math.exp %a : f32
    %t = arith.addf %z, %e : f32
    linalg.yield %t : f32
  }
  linalg.generic {indexing_maps = [#wide, #thin, #wide], iterator_types = ["parallel", "parallel"]} ins(%x, %s : memref<40x4xf32>, memref<40xf32>) outs(%o : memref<40x4xf32>) {
  ^bb(%a: f32, %b: f32, %z: f32):
    %d = arith.subf %a, %b : f32
    linalg.yield %d : f32
  }
  func.return
}

// Between the elements of a row of the result are those of others, which a tile would copy back.
// CHECK-LABEL: func.func private @transposed_result
// CHECK-NOT:     memref<21x16xf32>
// CHECK:         scf.for %{{.*}} =
// CHECK-NOT:     memref<21x16xf32>
// CHECK:         func.return
func.func private @transposed_result(%x: memref<10x3xf32>, %o: memref<3x10xf32>) attributes {hlo.kernel = "row", hlo.row_dims = 1 : i64} {
  %init = arith.constant 0.0 : f32
  %s = memref.alloc() : memref<10xf32>
  linalg.fill ins(%init : f32) outs(%s : memref<10xf32>)
  linalg.generic {indexing_maps = [#wide, #thin], iterator_types = ["parallel", "reduction"]} ins(%x : memref<10x3xf32>) outs(%s : memref<10xf32>) {
  ^bb(%a: f32, %z: f32):
    %e = math.exp %a : f32
    %e1 = math.exp %e : f32
    %e2 = math.exp %e1 : f32
    %t = arith.addf %z, %e2 : f32
    linalg.yield %t : f32
  }
  linalg.generic {indexing_maps = [#wide, #thin, #turned], iterator_types = ["parallel", "parallel"]} ins(%x, %s : memref<10x3xf32>, memref<10xf32>) outs(%o : memref<3x10xf32>) {
  ^bb(%a: f32, %b: f32, %z: f32):
    %d = arith.subf %a, %b : f32
    linalg.yield %d : f32
  }
  func.return
}

// Both ends of each row are written: the tile is filled first, so that what is between keeps its values.
// CHECK-LABEL: func.func private @both_ends
// Rows that are further apart than LLVM interleaves are transposed in registers.
// CHECK:         %[[ENDS:.*]] = memref.alloca() : memref<9x32xf32>
// CHECK:           func.call @both_ends_transpose(%o, %{{.*}}, %{{.*}}, %[[ENDS]], %{{.*}})
// CHECK:           math.exp
// CHECK:           func.call @both_ends_transpose{{.*}}(%[[ENDS]], %{{.*}}, %{{.*}}, %o, %{{.*}})
func.func private @both_ends(%x: memref<40x3xf32>, %o: memref<40x9xf32>) attributes {hlo.kernel = "row", hlo.row_dims = 1 : i64} {
  %first = memref.subview %o[0, 0] [40, 3] [1, 1] : memref<40x9xf32> to memref<40x3xf32, strided<[9, 1]>>
  %last = memref.subview %o[0, 6] [40, 3] [1, 1] : memref<40x9xf32> to memref<40x3xf32, strided<[9, 1], offset: 6>>
  linalg.generic {indexing_maps = [#wide, #wide, #wide], iterator_types = ["parallel", "parallel"]} ins(%x : memref<40x3xf32>) outs(%first, %last : memref<40x3xf32, strided<[9, 1]>>, memref<40x3xf32, strided<[9, 1], offset: 6>>) {
  ^bb(%a: f32, %y: f32, %z: f32):
    %e = math.exp %a : f32
    %t = math.tanh %e : f32
    linalg.yield %e, %t : f32, f32
  }
  func.return
}

// The first row is the same for all lanes, but the tile of the buffer has another row in each: rows stay rows.
// CHECK-LABEL: func.func private @beside_the_first_row
// CHECK-NOT:     x32xf32>
// CHECK:         func.return
func.func private @beside_the_first_row(%x: memref<40x6xf32>, %o: memref<40x6xf32>) attributes {hlo.kernel = "row", hlo.row_dims = 1 : i64} {
  linalg.generic {indexing_maps = [#wide, affine_map<(i, j) -> (0, j)>, #wide], iterator_types = ["parallel", "parallel"]} ins(%x, %x : memref<40x6xf32>, memref<40x6xf32>) outs(%o : memref<40x6xf32>) {
  ^bb(%a: f32, %b: f32, %z: f32):
    %d = arith.subf %a, %b : f32
    %e = math.exp %d : f32
    %t = math.tanh %e : f32
    linalg.yield %t : f32
  }
  func.return
}

// Nor are rows in lanes that begin at a place which is not known.
// CHECK-LABEL: func.func private @from_a_column
// CHECK-NOT:     x32xf32>
// CHECK:         func.return
func.func private @from_a_column(%x: memref<40x9xf32>, %at: index, %o: memref<40x6xf32>) attributes {hlo.kernel = "row", hlo.row_dims = 1 : i64} {
  %part = memref.subview %x[0, %at] [40, 6] [1, 1] : memref<40x9xf32> to memref<40x6xf32, strided<[9, 1], offset: ?>>
  linalg.generic {indexing_maps = [#wide, #wide], iterator_types = ["parallel", "parallel"]} ins(%part : memref<40x6xf32, strided<[9, 1], offset: ?>>) outs(%o : memref<40x6xf32>) {
  ^bb(%a: f32, %z: f32):
    %e = math.exp %a : f32
    %t = math.tanh %e : f32
    linalg.yield %t : f32
  }
  func.return
}

// With short vectors, so are rows of a few elements that are no whole vectors, in larger tiles where rows are many.
// SHORT-LABEL: func.func private @no_whole_vectors
// SHORT:         memref.alloca() : memref<20x32xf32>
// SHORT:         func.call @no_whole_vectors_transpose
// CHECK-LABEL: func.func private @no_whole_vectors
// CHECK-NOT:     transpose
// CHECK:         func.return
func.func private @no_whole_vectors(%x: memref<200x20xf32>, %o: memref<200x20xf32>) attributes {hlo.kernel = "row", hlo.row_dims = 1 : i64} {
  %init = arith.constant 0.0 : f32
  %s = memref.alloc() : memref<200xf32>
  linalg.fill ins(%init : f32) outs(%s : memref<200xf32>)
  linalg.generic {indexing_maps = [#wide, #thin], iterator_types = ["parallel", "reduction"]} ins(%x : memref<200x20xf32>) outs(%s : memref<200xf32>) {
  ^bb(%a: f32, %z: f32):
    %t = arith.addf %z, %a : f32
    linalg.yield %t : f32
  }
  linalg.generic {indexing_maps = [#wide, #thin, #wide], iterator_types = ["parallel", "parallel"]} ins(%x, %s : memref<200x20xf32>, memref<200xf32>) outs(%o : memref<200x20xf32>) {
  ^bb(%a: f32, %b: f32, %z: f32):
    %d = arith.subf %a, %b : f32
    linalg.yield %d : f32
  }
  func.return
}

// SHORT-LABEL: func.func private @many_rows
// SHORT:         memref.alloca() : memref<20x64xf32>
func.func private @many_rows(%x: memref<2000x20xf32>, %o: memref<2000x20xf32>) attributes {hlo.kernel = "row", hlo.row_dims = 1 : i64} {
  %init = arith.constant 0.0 : f32
  %s = memref.alloc() : memref<2000xf32>
  linalg.fill ins(%init : f32) outs(%s : memref<2000xf32>)
  linalg.generic {indexing_maps = [#wide, #thin], iterator_types = ["parallel", "reduction"]} ins(%x : memref<2000x20xf32>) outs(%s : memref<2000xf32>) {
  ^bb(%a: f32, %z: f32):
    %t = arith.addf %z, %a : f32
    linalg.yield %t : f32
  }
  linalg.generic {indexing_maps = [#wide, #thin, #wide], iterator_types = ["parallel", "parallel"]} ins(%x, %s : memref<2000x20xf32>, memref<2000xf32>) outs(%o : memref<2000x20xf32>) {
  ^bb(%a: f32, %b: f32, %z: f32):
    %d = arith.subf %a, %b : f32
    linalg.yield %d : f32
  }
  func.return
}

// Short rows that are only added up are unrolled, and divided ones if they are few.
// SHORT-LABEL: func.func private @sums_of_nine
// SHORT-NOT:     transpose
// SHORT-LABEL: func.func private @few_divisions
// SHORT-NOT:     transpose
// SHORT-LABEL: func.func private @many_divisions
// SHORT:         memref.alloca() : memref<9x128xf32>
func.func private @sums_of_nine(%x: memref<2000x9xf32>, %o: memref<2000x9xf32>) attributes {hlo.kernel = "row", hlo.row_dims = 1 : i64} {
  %init = arith.constant 0.0 : f32
  %s = memref.alloc() : memref<2000xf32>
  linalg.fill ins(%init : f32) outs(%s : memref<2000xf32>)
  linalg.generic {indexing_maps = [#wide, #thin], iterator_types = ["parallel", "reduction"]} ins(%x : memref<2000x9xf32>) outs(%s : memref<2000xf32>) {
  ^bb(%a: f32, %z: f32):
    %t = arith.addf %z, %a : f32
    linalg.yield %t : f32
  }
  linalg.generic {indexing_maps = [#wide, #thin, #wide], iterator_types = ["parallel", "parallel"]} ins(%x, %s : memref<2000x9xf32>, memref<2000xf32>) outs(%o : memref<2000x9xf32>) {
  ^bb(%a: f32, %b: f32, %z: f32):
    %d = arith.subf %a, %b : f32
    linalg.yield %d : f32
  }
  func.return
}

func.func private @few_divisions(%x: memref<40x9xf32>, %o: memref<40x9xf32>) attributes {hlo.kernel = "row", hlo.row_dims = 1 : i64} {
  %init = arith.constant 0.0 : f32
  %s = memref.alloc() : memref<40xf32>
  linalg.fill ins(%init : f32) outs(%s : memref<40xf32>)
  linalg.generic {indexing_maps = [#wide, #thin], iterator_types = ["parallel", "reduction"]} ins(%x : memref<40x9xf32>) outs(%s : memref<40xf32>) {
  ^bb(%a: f32, %z: f32):
    %t = arith.addf %z, %a : f32
    linalg.yield %t : f32
  }
  linalg.generic {indexing_maps = [#wide, #thin, #wide], iterator_types = ["parallel", "parallel"]} ins(%x, %s : memref<40x9xf32>, memref<40xf32>) outs(%o : memref<40x9xf32>) {
  ^bb(%a: f32, %b: f32, %z: f32):
    %d = arith.divf %a, %b : f32
    linalg.yield %d : f32
  }
  func.return
}

func.func private @many_divisions(%x: memref<2000x9xf32>, %o: memref<2000x9xf32>) attributes {hlo.kernel = "row", hlo.row_dims = 1 : i64} {
  %init = arith.constant 0.0 : f32
  %s = memref.alloc() : memref<2000xf32>
  linalg.fill ins(%init : f32) outs(%s : memref<2000xf32>)
  linalg.generic {indexing_maps = [#wide, #thin], iterator_types = ["parallel", "reduction"]} ins(%x : memref<2000x9xf32>) outs(%s : memref<2000xf32>) {
  ^bb(%a: f32, %z: f32):
    %t = arith.addf %z, %a : f32
    linalg.yield %t : f32
  }
  linalg.generic {indexing_maps = [#wide, #thin, #wide], iterator_types = ["parallel", "parallel"]} ins(%x, %s : memref<2000x9xf32>, memref<2000xf32>) outs(%o : memref<2000x9xf32>) {
  ^bb(%a: f32, %b: f32, %z: f32):
    %d = arith.divf %a, %b : f32
    linalg.yield %d : f32
  }
  func.return
}

// Longer rows are in lanes if a number of each row is rounded, or if its logarithm is taken.
// SHORT-LABEL: func.func private @rounded
// SHORT:         memref.alloca() : memref<64x32xbf16>
// CHECK-LABEL: func.func private @rounded
// CHECK-NOT:     transpose
func.func private @rounded(%x: memref<2000x64xbf16>, %o: memref<2000x64xbf16>) attributes {hlo.kernel = "row", hlo.row_dims = 1 : i64} {
  %init = arith.constant 0.0 : f32
  %s = memref.alloc() : memref<2000xf32>
  linalg.fill ins(%init : f32) outs(%s : memref<2000xf32>)
  linalg.generic {indexing_maps = [#wide, #thin], iterator_types = ["parallel", "reduction"]} ins(%x : memref<2000x64xbf16>) outs(%s : memref<2000xf32>) {
  ^bb(%a: bf16, %z: f32):
    %w = arith.extf %a : bf16 to f32
    %t = arith.addf %z, %w : f32
    linalg.yield %t : f32
  }
  linalg.generic {indexing_maps = [#wide, #thin, #wide], iterator_types = ["parallel", "parallel"]} ins(%x, %s : memref<2000x64xbf16>, memref<2000xf32>) outs(%o : memref<2000x64xbf16>) {
  ^bb(%a: bf16, %b: f32, %z: bf16):
    %w = arith.extf %a : bf16 to f32
    %e = arith.subf %w, %b : f32
    %d = arith.truncf %e : f32 to bf16
    linalg.yield %d : bf16
  }
  func.return
}

// SHORT-LABEL: func.func private @logarithms
// SHORT:         memref.alloca() : memref<48x64xf32>
func.func private @logarithms(%x: memref<2000x48xf32>, %o: memref<2000xf32>) attributes {hlo.kernel = "row", hlo.row_dims = 1 : i64} {
  %init = arith.constant 0.0 : f32
  %s = memref.alloc() : memref<2000xf32>
  linalg.fill ins(%init : f32) outs(%s : memref<2000xf32>)
  linalg.generic {indexing_maps = [#wide, #thin], iterator_types = ["parallel", "reduction"]} ins(%x : memref<2000x48xf32>) outs(%s : memref<2000xf32>) {
  ^bb(%a: f32, %z: f32):
    %t = arith.addf %z, %a : f32
    linalg.yield %t : f32
  }
  linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>], iterator_types = ["parallel"]} ins(%s : memref<2000xf32>) outs(%o : memref<2000xf32>) {
  ^bb(%a: f32, %z: f32):
    %d = math.log %a : f32
    linalg.yield %d : f32
  }
  func.return
}

// With short vectors, reductions by themselves are in lanes if they choose, or look at NaN after whole vectors.
// SHORT-LABEL: func.func private @first_greatest
// SHORT:         memref.alloca() : memref<16x128xf32>
// SHORT:         func.call @first_greatest_transpose
// CHECK-LABEL: func.func private @first_greatest
// CHECK-NOT:     transpose
func.func private @first_greatest(%x: memref<2000x16xf32>, %v: memref<2000xf32>, %k: memref<2000xi32>) attributes {hlo.kernel = "reduce"} {
  %low = arith.constant 0xFF800000 : f32
  %none = arith.constant 0 : i32
  linalg.fill ins(%low : f32) outs(%v : memref<2000xf32>)
  linalg.fill ins(%none : i32) outs(%k : memref<2000xi32>)
  linalg.generic {indexing_maps = [#wide, #thin, #thin], iterator_types = ["parallel", "reduction"]} ins(%x : memref<2000x16xf32>) outs(%v, %k : memref<2000xf32>, memref<2000xi32>) {
  ^bb(%a: f32, %b: f32, %i: i32):
    %n = linalg.index 1 : index
    %j = arith.index_cast %n : index to i32
    %c = arith.cmpf oge, %b, %a : f32
    %w = arith.select %c, %b, %a : f32
    %p = arith.select %c, %i, %j : i32
    linalg.yield %w, %p : f32, i32
  }
  func.return
}

// SHORT-LABEL: func.func private @greatest_of_16
// SHORT:         func.call @greatest_of_16_transpose
// SHORT-LABEL: func.func private @greatest_of_24
// SHORT-NOT:     transpose
func.func private @greatest_of_16(%x: memref<2000x16xf32>, %v: memref<2000xf32>) attributes {hlo.kernel = "reduce"} {
  %low = arith.constant 0xFF800000 : f32
  linalg.fill ins(%low : f32) outs(%v : memref<2000xf32>)
  linalg.generic {indexing_maps = [#wide, #thin], iterator_types = ["parallel", "reduction"]} ins(%x : memref<2000x16xf32>) outs(%v : memref<2000xf32>) {
  ^bb(%a: f32, %b: f32):
    %n = arith.negf %a : f32
    %w = arith.maximumf %b, %n : f32
    linalg.yield %w : f32
  }
  func.return
}
func.func private @greatest_of_24(%x: memref<2000x24xf32>, %v: memref<2000xf32>) attributes {hlo.kernel = "reduce"} {
  %low = arith.constant 0xFF800000 : f32
  linalg.fill ins(%low : f32) outs(%v : memref<2000xf32>)
  linalg.generic {indexing_maps = [#wide, #thin], iterator_types = ["parallel", "reduction"]} ins(%x : memref<2000x24xf32>) outs(%v : memref<2000xf32>) {
  ^bb(%a: f32, %b: f32):
    %w = arith.maximumf %b, %a : f32
    linalg.yield %w : f32
  }
  func.return
}
