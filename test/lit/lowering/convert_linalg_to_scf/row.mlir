// RUN: hlo-opt %s --convert-linalg-to-scf | filecheck %s
// The operations of a row kernel share one loop over the rows; their temporaries are one row on the stack.

#wide = affine_map<(i, j) -> (i, j)>
#thin = affine_map<(i, j) -> (i)>

// CHECK-LABEL: func.func private @subtract_maximum
// CHECK-NOT:     memref.alloc()
// CHECK:         "scf.parallel"
// CHECK:           %[[MAX:.*]] = memref.alloca() : memref<f32>
// CHECK:           scf.for %[[ROW:.*]] =
// CHECK-NEXT:        %[[M:.*]] = scf.for %[[J:.*]] = {{.*}} iter_args
// CHECK-NEXT:          memref.load %x[%[[ROW]], %[[J]]]
// CHECK:             memref.store %[[M]], %[[MAX]][]
// CHECK-NEXT:        %[[M2:.*]] = memref.load %[[MAX]][]
// A tile of 128 elements at a time asks for as much of the next row: eight lines of the cache.
// CHECK-NEXT:        scf.for %[[TILE:.*]] =
// CHECK-NEXT:          %[[END:.*]] = arith.addi %[[TILE]], %{{.*}}
// CHECK-NEXT:          %[[ALL:.*]] = memref.reinterpret_cast %x to offset: [0], sizes: [524288]
// CHECK-NEXT:          %[[NEXT:.*]] = arith.addi %[[ROW]], %{{.*}}
// CHECK-NEXT:          %[[START:.*]] = arith.muli %[[NEXT]], %{{.*}}
// CHECK-NEXT:          %[[FIRST:.*]] = arith.addi %[[START]], %[[TILE]]
// CHECK-NEXT:          cpu.prefetch %[[ALL]][%[[FIRST]]]
// CHECK-COUNT-7:       cpu.prefetch
// CHECK-NOT:           cpu.prefetch
// CHECK:               scf.for %[[K:.*]] = %[[TILE]] to %[[END]]
// CHECK-NEXT:            %[[X:.*]] = memref.load %x[%[[ROW]], %[[K]]]
// CHECK-NEXT:            %[[D:.*]] = arith.subf %[[X]], %[[M2]]
// CHECK-NEXT:            memref.store %[[D]], %o[%[[ROW]], %[[K]]]
func.func private @subtract_maximum(%x: memref<512x1024xf32>, %o: memref<512x1024xf32>) attributes {hlo.kernel = "row", hlo.row_dims = 1 : i64} {
  %init = arith.constant 0xFF800000 : f32
  %m = memref.alloc() : memref<512xf32>
  linalg.fill ins(%init : f32) outs(%m : memref<512xf32>)
  linalg.generic {indexing_maps = [#wide, #thin], iterator_types = ["parallel", "reduction"]} ins(%x : memref<512x1024xf32>) outs(%m : memref<512xf32>) {
  ^bb(%a: f32, %z: f32):
    %s = arith.maximumf %z, %a : f32
    linalg.yield %s : f32
  }
  linalg.generic {indexing_maps = [#wide, #thin, #wide], iterator_types = ["parallel", "parallel"]} ins(%x, %m : memref<512x1024xf32>, memref<512xf32>) outs(%o : memref<512x1024xf32>) {
  ^bb(%a: f32, %b: f32, %z: f32):
    %d = arith.subf %a, %b : f32
    linalg.yield %d : f32
  }
  func.return
}

// Several short rows are in a page, of which the processor foresees the rest.
// CHECK-LABEL: func.func private @short_rows
// CHECK-NOT:     cpu.prefetch
// CHECK:         func.return
func.func private @short_rows(%x: memref<2048x256xf32>, %o: memref<2048x256xf32>) attributes {hlo.kernel = "row", hlo.row_dims = 1 : i64} {
  %init = arith.constant 0xFF800000 : f32
  %m = memref.alloc() : memref<2048xf32>
  linalg.fill ins(%init : f32) outs(%m : memref<2048xf32>)
  linalg.generic {indexing_maps = [#wide, #thin], iterator_types = ["parallel", "reduction"]} ins(%x : memref<2048x256xf32>) outs(%m : memref<2048xf32>) {
  ^bb(%a: f32, %z: f32):
    %s = arith.maximumf %z, %a : f32
    linalg.yield %s : f32
  }
  linalg.generic {indexing_maps = [#wide, #thin, #wide], iterator_types = ["parallel", "parallel"]} ins(%x, %m : memref<2048x256xf32>, memref<2048xf32>) outs(%o : memref<2048x256xf32>) {
  ^bb(%a: f32, %b: f32, %z: f32):
    %d = arith.subf %a, %b : f32
    linalg.yield %d : f32
  }
  func.return
}

// The elements of this row that a later step writes are prefetched, too. That step reads only from the cache. Rows of
// the output begin within lines. The input is larger than the second-level cache.
// CHECK-LABEL: func.func private @scale
// CHECK-COUNT-8:   cpu.prefetch %{{.*}}[%{{.*}}] {second_level} : memref<528384xf32>
// CHECK-COUNT-8:   cpu.prefetch %{{.*}}[%{{.*}}] {to_write} : memref<528384xf32>
// CHECK-NOT:       cpu.prefetch
// CHECK:           math.exp
// CHECK-NEXT:      memref.store
// CHECK-NEXT:    } {xhlo.parallel}
// CHECK:         arith.addf
// CHECK-NEXT:      scf.yield
// CHECK-NEXT:    } {xhlo.parallel}
// CHECK:         arith.divf
// CHECK-NEXT:      memref.store
// CHECK-NEXT:    } {xhlo.parallel, xhlo.cached}
func.func private @scale(%x: memref<512x1032xf32>, %o: memref<512x1032xf32>) attributes {hlo.kernel = "row", hlo.row_dims = 1 : i64} {
  %init = arith.constant 0.0 : f32
  %e = memref.alloc() : memref<512x1032xf32>
  %s = memref.alloc() : memref<512xf32>
  linalg.generic {indexing_maps = [#wide, #wide], iterator_types = ["parallel", "parallel"]} ins(%x : memref<512x1032xf32>) outs(%e : memref<512x1032xf32>) {
  ^bb(%a: f32, %z: f32):
    %d = math.exp %a : f32
    linalg.yield %d : f32
  }
  linalg.fill ins(%init : f32) outs(%s : memref<512xf32>)
  linalg.generic {indexing_maps = [#wide, #thin], iterator_types = ["parallel", "reduction"]} ins(%e : memref<512x1032xf32>) outs(%s : memref<512xf32>) {
  ^bb(%a: f32, %z: f32):
    %d = arith.addf %z, %a fastmath<reassoc> : f32
    linalg.yield %d : f32
  }
  linalg.generic {indexing_maps = [#wide, #thin, #wide], iterator_types = ["parallel", "parallel"]} ins(%e, %s : memref<512x1032xf32>, memref<512xf32>) outs(%o : memref<512x1032xf32>) {
  ^bb(%a: f32, %b: f32, %z: f32):
    %d = arith.divf %a, %b : f32
    linalg.yield %d : f32
  }
  func.return
}

// Where rows of the output are whole lines, they take the place of the buffer of one row, and nothing is prefetched.
// CHECK-LABEL: func.func private @scale_in_place
// CHECK-NOT:     memref.alloca() : memref<1024xf32>
// CHECK-NOT:     cpu.prefetch
// CHECK:         scf.for %[[ROW:.*]] =
// CHECK:           math.exp
// CHECK-NEXT:      memref.store %{{.*}}, %o[%[[ROW]], %{{.*}}]
// CHECK-NEXT:    } {xhlo.parallel}
// CHECK:         memref.load %o[%[[ROW]], %{{.*}}]
// CHECK-NEXT:      arith.addf
// CHECK:         memref.load %o[%[[ROW]], %{{.*}}]
// CHECK-NEXT:      arith.divf
// CHECK-NEXT:      memref.store %{{.*}}, %o[%[[ROW]], %{{.*}}]
// CHECK-NEXT:    } {xhlo.parallel, xhlo.cached}
func.func private @scale_in_place(%x: memref<512x1024xf32>, %o: memref<512x1024xf32>) attributes {hlo.kernel = "row", hlo.row_dims = 1 : i64} {
  %init = arith.constant 0.0 : f32
  %e = memref.alloc() : memref<512x1024xf32>
  %s = memref.alloc() : memref<512xf32>
  linalg.generic {indexing_maps = [#wide, #wide], iterator_types = ["parallel", "parallel"]} ins(%x : memref<512x1024xf32>) outs(%e : memref<512x1024xf32>) {
  ^bb(%a: f32, %z: f32):
    %d = math.exp %a : f32
    linalg.yield %d : f32
  }
  linalg.fill ins(%init : f32) outs(%s : memref<512xf32>)
  linalg.generic {indexing_maps = [#wide, #thin], iterator_types = ["parallel", "reduction"]} ins(%e : memref<512x1024xf32>) outs(%s : memref<512xf32>) {
  ^bb(%a: f32, %z: f32):
    %d = arith.addf %z, %a fastmath<reassoc> : f32
    linalg.yield %d : f32
  }
  linalg.generic {indexing_maps = [#wide, #thin, #wide], iterator_types = ["parallel", "parallel"]} ins(%e, %s : memref<512x1024xf32>, memref<512xf32>) outs(%o : memref<512x1024xf32>) {
  ^bb(%a: f32, %b: f32, %z: f32):
    %d = arith.divf %a, %b : f32
    linalg.yield %d : f32
  }
  func.return
}

// The loops over a row of few elements are unrolled, and the vectors run across rows: that loop is parallel, with
// temporaries of its own.
// CHECK-LABEL: func.func private @rows_of_three
// CHECK:         "scf.parallel"
// CHECK-NEXT:    ^{{.*}}(
// CHECK-NOT:       memref.alloca
// CHECK:           scf.for %[[ROW:.*]] =
// CHECK-NEXT:        memref.alloca() : memref<f32>
// CHECK:               memref.store %{{.*}}, %o[%[[ROW]], %{{.*}}]
// CHECK-NEXT:        } {xhlo.parallel}
// CHECK-NEXT:      } {xhlo.parallel}
func.func private @rows_of_three(%x: memref<4096x3xf32>, %o: memref<4096x3xf32>) attributes {hlo.kernel = "row", hlo.row_dims = 1 : i64} {
  %init = arith.constant 0xFF800000 : f32
  %m = memref.alloc() : memref<4096xf32>
  linalg.fill ins(%init : f32) outs(%m : memref<4096xf32>)
  linalg.generic {indexing_maps = [#wide, #thin], iterator_types = ["parallel", "reduction"]} ins(%x : memref<4096x3xf32>) outs(%m : memref<4096xf32>) {
  ^bb(%a: f32, %z: f32):
    %s = arith.maximumf %z, %a : f32
    linalg.yield %s : f32
  }
  linalg.generic {indexing_maps = [#wide, #thin, #wide], iterator_types = ["parallel", "parallel"]} ins(%x, %m : memref<4096x3xf32>, memref<4096xf32>) outs(%o : memref<4096x3xf32>) {
  ^bb(%a: f32, %b: f32, %z: f32):
    %d = arith.subf %a, %b : f32
    linalg.yield %d : f32
  }
  func.return
}

// Short rows in two dimensions: a loop along the last, whose vectors need no division.
// CHECK-LABEL: func.func private @pairs
// CHECK-NOT:     arith.divui
// CHECK-NOT:     arith.divsi
// CHECK:         scf.for %[[I:.*]] =
// CHECK-NEXT:      scf.for %[[J:.*]] =
// CHECK:             memref.load %x[%[[I]], %{{.*}}]
// CHECK-NEXT:        memref.load %x[%[[J]], %{{.*}}]
// CHECK:             memref.store %{{.*}}, %o[%[[I]], %[[J]], %{{.*}}]
func.func private @pairs(%x: memref<64x3xf32>, %o: memref<64x64x3xf32>) attributes {hlo.kernel = "row", hlo.row_dims = 2 : i64} {
  %init = arith.constant 0.0 : f32
  %m = memref.alloc() : memref<64x64xf32>
  linalg.fill ins(%init : f32) outs(%m : memref<64x64xf32>)
  linalg.generic {indexing_maps = [affine_map<(i, j, k) -> (i, k)>, affine_map<(i, j, k) -> (j, k)>, affine_map<(i, j, k) -> (i, j)>], iterator_types = ["parallel", "parallel", "reduction"]} ins(%x, %x : memref<64x3xf32>, memref<64x3xf32>) outs(%m : memref<64x64xf32>) {
  ^bb(%a: f32, %b: f32, %z: f32):
    %d = arith.subf %a, %b : f32
    %s = arith.addf %z, %d : f32
    linalg.yield %s : f32
  }
  linalg.generic {indexing_maps = [affine_map<(i, j, k) -> (i, k)>, affine_map<(i, j, k) -> (i, j)>, affine_map<(i, j, k) -> (i, j, k)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%x, %m : memref<64x3xf32>, memref<64x64xf32>) outs(%o : memref<64x64x3xf32>) {
  ^bb(%a: f32, %b: f32, %z: f32):
    %d = arith.mulf %a, %b : f32
    linalg.yield %d : f32
  }
  func.return
}

// The buffers of a kernel's only row come before their uses.
// CHECK-LABEL: func.func private @one_row
// CHECK:         %[[MEAN:.*]] = memref.alloca() : memref<f32>
// CHECK:         memref.store %{{.*}}, %[[MEAN]][] : memref<f32>
// CHECK:         func.return
// CHECK-NEXT:  }
func.func private @one_row(%x: memref<1x6xf32>, %o: memref<1x6xf32>) attributes {hlo.kernel = "row", hlo.row_dims = 1 : i64} {
  %init = arith.constant 0.0 : f32
  %m = memref.alloc() : memref<1xf32>
  linalg.fill ins(%init : f32) outs(%m : memref<1xf32>)
  linalg.generic {indexing_maps = [#wide, #thin], iterator_types = ["parallel", "reduction"]} ins(%x : memref<1x6xf32>) outs(%m : memref<1xf32>) {
  ^bb(%a: f32, %z: f32):
    %s = arith.addf %z, %a : f32
    linalg.yield %s : f32
  }
  linalg.generic {indexing_maps = [#wide, #thin, #wide], iterator_types = ["parallel", "parallel"]} ins(%x, %m : memref<1x6xf32>, memref<1xf32>) outs(%o : memref<1x6xf32>) {
  ^bb(%a: f32, %b: f32, %z: f32):
    %d = arith.subf %a, %b : f32
    linalg.yield %d : f32
  }
  func.return
}

// A row of a result is read again in the iteration that wrote it: LLVM may move such reads in loops that are marked
// as parallel.
// CHECK-LABEL: func.func private @read_again
// CHECK:         memref.store %{{.*}}, %o
// CHECK-NEXT:      }
// CHECK-NEXT:    }{{$}}
func.func private @read_again(%x: memref<40x4xf32>, %e: memref<40x4xf32>, %o: memref<40x4xf32>) attributes {hlo.kernel = "row", hlo.row_dims = 1 : i64} {
  linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i, j)>], iterator_types = ["parallel", "parallel"]} ins(%x : memref<40x4xf32>) outs(%e : memref<40x4xf32>) {
  ^bb(%a: f32, %z: f32):
    %0 = math.exp %a : f32
    linalg.yield %0 : f32
  }
  linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i, j)>], iterator_types = ["parallel", "parallel"]} ins(%e : memref<40x4xf32>) outs(%o : memref<40x4xf32>) {
  ^bb(%a: f32, %z: f32):
    %0 = arith.mulf %a, %a : f32
    linalg.yield %0 : f32
  }
  func.return
}
