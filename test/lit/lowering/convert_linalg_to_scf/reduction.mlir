// RUN: hlo-opt %s --convert-linalg-to-scf | filecheck %s

// A long sum: tasks add up their chunk in blocks, then the chunks' sums are added in order.
// CHECK-LABEL: func.func private @sum
// CHECK-DAG:     %[[NEUTRAL:.*]] = arith.constant -0.000000e+00 : f32
// CHECK-DAG:     %[[BLOCK:.*]] = arith.constant 4096 : index
// CHECK:         %[[PARTS:.*]] = memref.alloc() : memref<256xf32>
// CHECK:         "scf.parallel"
// CHECK:           scf.for %{{.*}} = %{{.*}} to %{{.*}} step %[[BLOCK]] iter_args(%{{.*}} = %[[NEUTRAL]])
// CHECK:             scf.for %{{.*}} iter_args(%[[ACC:.*]] = %[[NEUTRAL]]) -> (f32)
// CHECK-NEXT:          %[[X:.*]] = memref.load %a
// CHECK-NEXT:          arith.addf %[[ACC]], %[[X]] fastmath<reassoc>
// CHECK:         %[[TOTAL:.*]] = scf.for %[[C:.*]] = %{{.*}} to %{{.*}} iter_args(%{{.*}} = %zero)
// CHECK-NEXT:      memref.load %[[PARTS]][%[[C]]]
// CHECK:         memref.store %[[TOTAL]], %o[]
func.func private @sum(%a: memref<16777216xf32>, %o: memref<f32>) attributes {hlo.kernel = "reduce"} {
  %zero = arith.constant 0.0 : f32
  linalg.fill ins(%zero : f32) outs(%o : memref<f32>)
  linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> ()>], iterator_types = ["reduction"]} ins(%a : memref<16777216xf32>) outs(%o : memref<f32>) {
  ^bb(%x: f32, %z: f32):
    %s = arith.addf %z, %x fastmath<reassoc> : f32
    linalg.yield %s : f32
  }
  func.return
}

// Rows: the accumulator lives in a register and starts from the fill's value; the fill itself is gone.
// CHECK-LABEL: func.func private @rows
// CHECK:         scf.for %[[I:.*]] =
// CHECK-NEXT:      %[[R:.*]] = scf.for %[[J:.*]] = %{{.*}} iter_args(%[[ACC:.*]] = %init) -> (f32)
// CHECK-NEXT:        %[[X:.*]] = memref.load %a[%[[I]], %[[J]]]
// CHECK-NEXT:        %[[M:.*]] = arith.maximumf %[[ACC]], %[[X]]
// CHECK-NEXT:        scf.yield %[[M]]
// CHECK-NEXT:      } {xhlo.parallel}
// CHECK-NEXT:      memref.store %[[R]], %o[%[[I]]]
func.func private @rows(%a: memref<8x64xf32>, %o: memref<8xf32>) attributes {hlo.kernel = "reduce"} {
  %init = arith.constant 0xFF800000 : f32
  linalg.fill ins(%init : f32) outs(%o : memref<8xf32>)
  linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i)>], iterator_types = ["parallel", "reduction"]} ins(%a : memref<8x64xf32>) outs(%o : memref<8xf32>) {
  ^bb(%x: f32, %z: f32):
    %s = arith.maximumf %z, %x : f32
    linalg.yield %s : f32
  }
  func.return
}

// Columns: the contiguous dimension is innermost, four reduced rows with each pass over the accumulators.
// CHECK-LABEL: func.func private @columns
// CHECK:         scf.for %[[J:.*]] =
// CHECK-NEXT:      memref.store %zero, %o[%[[J]]]
// CHECK:         scf.for %[[R:.*]] =
// CHECK:           scf.for %[[J2:.*]] =
// CHECK-NEXT:        memref.load %o[%[[J2]]]
// CHECK-NEXT:        memref.load %a[%[[R]], %[[J2]]]
// CHECK-COUNT-4:     arith.addf
// CHECK-NEXT:        memref.store %{{.*}}, %o[%[[J2]]]
func.func private @columns(%a: memref<32x64xf32>, %o: memref<64xf32>) attributes {hlo.kernel = "reduce"} {
  %zero = arith.constant 0.0 : f32
  linalg.fill ins(%zero : f32) outs(%o : memref<64xf32>)
  linalg.generic {indexing_maps = [affine_map<(i, j) -> (j, i)>, affine_map<(i, j) -> (i)>], iterator_types = ["parallel", "reduction"]} ins(%a : memref<32x64xf32>) outs(%o : memref<64xf32>) {
  ^bb(%x: f32, %z: f32):
    %s = arith.addf %z, %x fastmath<reassoc> : f32
    linalg.yield %s : f32
  }
  func.return
}

// Eight columns of f64 are a vector, four half of one: they are accumulated side by side, row after row.
// CHECK-LABEL: @short_columns
// CHECK:         scf.for %[[R:[a-z0-9]+]] = %{{.*}} to %{{.*}} step
// CHECK:           scf.for %[[C:[a-z0-9]+]] = %{{.*}} to %{{.*}} step
// CHECK:             memref.load %x[%[[R]], %[[C]]]
// CHECK:             memref.store %{{.*}}, %r[%[[C]]]
func.func private @short_columns(%x: memref<64x4xf64>, %y: memref<64xf64>, %r: memref<4xf64>) attributes {hlo.kernel = "dot"} {
  linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d1, d0)>, affine_map<(d0, d1) -> (d1)>, affine_map<(d0, d1) -> (d0)>], iterator_types = ["parallel", "reduction"]} ins(%x, %y : memref<64x4xf64>, memref<64xf64>) outs(%r : memref<4xf64>) {
  ^bb0(%0: f64, %1: f64, %2: f64):
    %3 = arith.mulf %0, %1 : f64
    %4 = arith.addf %2, %3 fastmath<reassoc> : f64
    linalg.yield %4 : f64
  }
  func.return
}

// Rows of three columns are reduced 64 side by side, as rows of 192; these are combined, and the last rows follow.
// CHECK-LABEL: @narrow(
// CHECK-DAG:     %[[WIDE:.*]] = memref.alloc() : memref<192xf32>
// CHECK-DAG:     %[[COLUMNS:.*]] = arith.constant 192 : index
// CHECK:         memref.store %{{.*}}, %[[WIDE]]
// CHECK:         scf.for %[[J:.*]] = %{{.*}} to %[[COLUMNS]] step
// CHECK-NEXT:      memref.load %[[WIDE]][%[[J]]]
// CHECK-COUNT-4:   arith.maximumf
// CHECK:           memref.store %{{.*}}, %[[WIDE]][%[[J]]]
// CHECK:         memref.reinterpret_cast %[[WIDE]] to offset: [0], sizes: [3, 64], strides: [1, 3]
// CHECK:         memref.store %{{.*}}, %o
// CHECK:         memref.reinterpret_cast %a to offset: [3072], sizes: [3, 2], strides: [1, 3]
// CHECK:         memref.store %{{.*}}, %o
func.func private @narrow(%a: memref<1026x3xf32>, %o: memref<3xf32>) attributes {hlo.kernel = "reduce"} {
  %least = arith.constant 0xFF800000 : f32
  linalg.fill ins(%least : f32) outs(%o : memref<3xf32>)
  linalg.generic {indexing_maps = [affine_map<(i, j) -> (j, i)>, affine_map<(i, j) -> (i)>], iterator_types = ["parallel", "reduction"]} ins(%a : memref<1026x3xf32>) outs(%o : memref<3xf32>) {
  ^bb(%x: f32, %z: f32):
    %s = arith.maximumf %z, %x : f32
    linalg.yield %s : f32
  }
  func.return
}

// Few rows of eight columns in each of 40 matrices: four side by side fill vectors and leave no rest.
// CHECK-LABEL: @narrow_matrices(
// CHECK-DAG:     %[[WIDE:.*]] = memref.alloc() : memref<1280xf32>
// CHECK:         memref.reinterpret_cast %[[WIDE]] to offset: [0], sizes: [40, 8, 4], strides: [32, 1, 8]
// CHECK:         memref.store %{{.*}}, %o
// CHECK-NOT:     memref.reinterpret_cast
// CHECK:         func.return
func.func private @narrow_matrices(%a: memref<40x100x8xf32>, %o: memref<40x8xf32>) attributes {hlo.kernel = "reduce"} {
  %least = arith.constant 0xFF800000 : f32
  linalg.fill ins(%least : f32) outs(%o : memref<40x8xf32>)
  linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d2, d1)>, affine_map<(d0, d1, d2) -> (d0, d1)>], iterator_types = ["parallel", "parallel", "reduction"]} ins(%a : memref<40x100x8xf32>) outs(%o : memref<40x8xf32>) {
  ^bb0(%x: f32, %acc: f32):
    %0 = arith.maximumf %acc, %x : f32
    linalg.yield %0 : f32
  }
  func.return
}

// Runs of six neighbours and elements far from them: a sum for each element of a run, which are added up in little code.
// CHECK-LABEL: @short_runs(
// CHECK-DAG:     %[[RUNS:.*]] = memref.alloc() : memref<48xf32>
// CHECK-DAG:     %[[COLUMNS:.*]] = arith.constant 48 : index
// CHECK:         scf.for %[[J:.*]] = %{{.*}} to %[[COLUMNS]] step
// CHECK:           memref.store %{{.*}}, %[[RUNS]][%[[J]]]
// CHECK:         memref.reinterpret_cast %[[RUNS]] to offset: [0], sizes: [8, 6], strides: [6, 1]
// CHECK:         scf.for %[[I:.*]] =
// CHECK-NEXT:      scf.for
// CHECK:           memref.store %{{.*}}, %o[%[[I]]]
// CHECK-NEXT:    } {xhlo.vectorize = false}
func.func private @short_runs(%a: memref<20x8x6xf32>, %o: memref<8xf32>) attributes {hlo.kernel = "reduce"} {
  %zero = arith.constant 0.0 : f32
  linalg.fill ins(%zero : f32) outs(%o : memref<8xf32>)
  linalg.generic {indexing_maps = [affine_map<(i, j, k) -> (j, i, k)>, affine_map<(i, j, k) -> (i)>], iterator_types = ["parallel", "reduction", "reduction"]} ins(%a : memref<20x8x6xf32>) outs(%o : memref<8xf32>) {
  ^bb0(%x: f32, %acc: f32):
    %s = arith.addf %acc, %x fastmath<reassoc> : f32
    linalg.yield %s : f32
  }
  func.return
}

// Three times are too few for partial results, and rows of 32 fill vectors by themselves.
// CHECK-LABEL: @few_runs(
// CHECK-NOT:     memref.alloc
// CHECK:         func.return
func.func private @few_runs(%a: memref<3x8x6xf32>, %b: memref<20x8x32xf32>, %o: memref<8xf32>, %r: memref<8xf32>) attributes {hlo.kernel = "reduce"} {
  %zero = arith.constant 0.0 : f32
  linalg.fill ins(%zero : f32) outs(%o : memref<8xf32>)
  linalg.generic {indexing_maps = [affine_map<(i, j, k) -> (j, i, k)>, affine_map<(i, j, k) -> (i)>], iterator_types = ["parallel", "reduction", "reduction"]} ins(%a : memref<3x8x6xf32>) outs(%o : memref<8xf32>) {
  ^bb0(%x: f32, %acc: f32):
    %s = arith.addf %acc, %x fastmath<reassoc> : f32
    linalg.yield %s : f32
  }
  linalg.fill ins(%zero : f32) outs(%r : memref<8xf32>)
  linalg.generic {indexing_maps = [affine_map<(i, j, k) -> (j, i, k)>, affine_map<(i, j, k) -> (i)>], iterator_types = ["parallel", "reduction", "reduction"]} ins(%b : memref<20x8x32xf32>) outs(%r : memref<8xf32>) {
  ^bb0(%x: f32, %acc: f32):
    %s = arith.addf %acc, %x fastmath<reassoc> : f32
    linalg.yield %s : f32
  }
  func.return
}

// Every other element of a row: a loop along it takes them from vectors, one down the rows would read them one by one.
// CHECK-LABEL: @every_other(
// CHECK:         scf.for %[[I:[a-z0-9]+]] =
// CHECK:           scf.for %[[J:[a-z0-9]+]] = {{.*}} iter_args
// CHECK-NEXT:        memref.load %{{.*}}[%[[I]], %[[J]]] : memref<40x50xf32, strided<[100, 2]>>
func.func private @every_other(%b: memref<40x100xf32>, %o: memref<40xf32>) attributes {hlo.kernel = "reduce"} {
  %least = arith.constant 0xFF800000 : f32
  linalg.fill ins(%least : f32) outs(%o : memref<40xf32>)
  %a = memref.reinterpret_cast %b to offset: [0], sizes: [40, 50], strides: [100, 2] : memref<40x100xf32> to memref<40x50xf32, strided<[100, 2]>>
  linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0)>], iterator_types = ["parallel", "reduction"]} ins(%a : memref<40x50xf32, strided<[100, 2]>>) outs(%o : memref<40xf32>) {
  ^bb0(%x: f32, %acc: f32):
    %0 = arith.maximumf %acc, %x : f32
    linalg.yield %0 : f32
  }
  func.return
}

// Not beside elements that such a loop would read from distant rows: the columns of the second operand are innermost.
// CHECK-LABEL: @beside_columns(
// CHECK:         scf.for %[[C:[a-z0-9]+]] =
// CHECK:             memref.store %zero, %o
// CHECK:           scf.for %[[K:[a-z0-9]+]] =
// CHECK:             scf.for %[[I:[a-z0-9]+]] =
// CHECK-NEXT:          memref.load %o[%[[I]], %[[C]]]
// CHECK-NEXT:          memref.load %a[%[[I]], %[[K]], %[[C]]]
// CHECK-NEXT:          memref.load %b[%[[K]], %[[I]]]
func.func private @beside_columns(%a: memref<40x48x2xf32>, %b: memref<48x40xf32>, %o: memref<40x2xf32>) attributes {hlo.kernel = "dot"} {
  %zero = arith.constant 0.0 : f32
  linalg.fill ins(%zero : f32) outs(%o : memref<40x2xf32>)
  linalg.generic {indexing_maps = [affine_map<(i, c, k) -> (i, k, c)>, affine_map<(i, c, k) -> (k, i)>, affine_map<(i, c, k) -> (i, c)>], iterator_types = ["parallel", "parallel", "reduction"]} ins(%a, %b : memref<40x48x2xf32>, memref<48x40xf32>) outs(%o : memref<40x2xf32>) {
  ^bb0(%x: f32, %y: f32, %acc: f32):
    %0 = arith.mulf %x, %y : f32
    %1 = arith.addf %acc, %0 fastmath<reassoc> : f32
    linalg.yield %1 : f32
  }
  func.return
}

// A row of 64 truth values is two half vectors of bytes: the accumulator lives in a register, as for any row.
// CHECK-LABEL: @truth(
// CHECK:         scf.for %[[I:[a-z0-9]+]] =
// CHECK:           scf.for %[[J:[a-z0-9]+]] = {{.*}} iter_args
// CHECK-NEXT:        memref.load %a[%[[I]], %[[J]]]
func.func private @truth(%a: memref<40x64xi1>, %o: memref<40xi1>) attributes {hlo.kernel = "reduce"} {
  %false = arith.constant false
  linalg.fill ins(%false : i1) outs(%o : memref<40xi1>)
  linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0)>], iterator_types = ["parallel", "reduction"]} ins(%a : memref<40x64xi1>) outs(%o : memref<40xi1>) {
  ^bb0(%x: i1, %acc: i1):
    %0 = arith.ori %acc, %x : i1
    linalg.yield %0 : i1
  }
  func.return
}

// Columns of 16 MB: each pass over the accumulators reads one row, which the processor fetches ahead.
// CHECK-LABEL: func.func private @far_columns
// CHECK:         "scf.parallel"
// CHECK:           arith.maximumf
// CHECK-NOT:       arith.maximumf
// CHECK:           scf.reduce
func.func private @far_columns(%a: memref<16384x256xf32>, %o: memref<256xf32>) attributes {hlo.kernel = "reduce"} {
  %init = arith.constant 0xFF800000 : f32
  linalg.fill ins(%init : f32) outs(%o : memref<256xf32>)
  linalg.generic {indexing_maps = [affine_map<(i, j) -> (j, i)>, affine_map<(i, j) -> (i)>], iterator_types = ["parallel", "reduction"]} ins(%a : memref<16384x256xf32>) outs(%o : memref<256xf32>) {
  ^bb(%x: f32, %z: f32):
    %s = arith.maximumf %z, %x : f32
    linalg.yield %s : f32
  }
  func.return
}

// Columns in the caches: four rows, so that accumulators are loaded and stored less often.
// CHECK-LABEL: func.func private @near_columns(
// CHECK-NOT:     "scf.parallel"
// CHECK:         scf.for
// CHECK-COUNT-4:   arith.maximumf
// CHECK-NOT:       arith.maximumf
// CHECK:         func.return
func.func private @near_columns(%a: memref<64x256xf32>, %o: memref<256xf32>) attributes {hlo.kernel = "reduce"} {
  %init = arith.constant 0xFF800000 : f32
  linalg.fill ins(%init : f32) outs(%o : memref<256xf32>)
  linalg.generic {indexing_maps = [affine_map<(i, j) -> (j, i)>, affine_map<(i, j) -> (i)>], iterator_types = ["parallel", "reduction"]} ins(%a : memref<64x256xf32>) outs(%o : memref<256xf32>) {
  ^bb(%x: f32, %z: f32):
    %s = arith.maximumf %z, %x : f32
    linalg.yield %s : f32
  }
  func.return
}

// Rows at computed places: they are read along, not one element of each after the other, and for all rows of `%a` once
// their place is known.
// CHECK-LABEL: func.func private @computed_rows(
// CHECK:         scf.for %[[I:.*]] =
// CHECK-NEXT:      scf.for %[[J:.*]] =
// CHECK-NEXT:        memref.store %init, %o[%[[I]], %[[J]]]
// CHECK:         scf.for %[[R:.*]] =
// CHECK-NEXT:      memref.load %places[%[[R]]]
// CHECK-NEXT:      scf.for %[[I2:.*]] =
// CHECK:             scf.for %[[J2:.*]] =
// CHECK:               memref.load %rows[%{{.*}}, %[[J2]]]
// CHECK:               memref.store %{{.*}}, %o[%[[I2]], %[[J2]]]
func.func private @computed_rows(%a: memref<4x60xf32>, %places: memref<60xi32>, %rows: memref<40x8xf32>, %o: memref<4x8xf32>) attributes {hlo.kernel = "reduce"} {
  %init = arith.constant 0xFF800000 : f32
  linalg.fill ins(%init : f32) outs(%o : memref<4x8xf32>)
  linalg.generic {indexing_maps = [affine_map<(i, j, r) -> (i, r)>, affine_map<(i, j, r) -> (r)>, affine_map<(i, j, r) -> (i, j)>], iterator_types = ["parallel", "parallel", "reduction"]} ins(%a, %places : memref<4x60xf32>, memref<60xi32>) outs(%o : memref<4x8xf32>) {
  ^bb(%x: f32, %place: i32, %z: f32):
    %low = arith.constant 0 : i32
    %high = arith.constant 39 : i32
    %two = arith.constant 2 : i32
    %0 = arith.muli %place, %two : i32
    %1 = arith.addi %0, %two : i32
    %2 = arith.maxsi %1, %low : i32
    %3 = arith.minsi %2, %high : i32
    %4 = arith.index_cast %3 : i32 to index
    %j = linalg.index 1 : index
    %y = memref.load %rows[%4, %j] : memref<40x8xf32>
    %5 = arith.addf %x, %y : f32
    %6 = arith.maximumf %z, %5 : f32
    linalg.yield %6 : f32
  }
  func.return
}
