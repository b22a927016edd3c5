// RUN: hlo-opt %s --convert-linalg-to-scf | filecheck %s

// argmax of a row: the maximum of each block, and the first block whose maximum beats those before; then the first
// element of that block which has the maximum.
// CHECK-LABEL: func.func private @row
// CHECK-DAG:     %[[LOW:.*]] = arith.constant 0xFF800000 : f32
// CHECK-DAG:     %[[BLOCK:.*]] = arith.constant 4096 : index
// CHECK-DAG:     %[[NONE:.*]] = arith.constant 4096 : i32
// CHECK:         %[[WON:.*]]:2 = scf.for %[[FIRST:.*]] = %{{.*}} to %{{.*}} step %[[BLOCK]] iter_args(%[[BEST:.*]] = %{{.*}}, %[[AT:.*]] = %{{.*}}) -> (f32, i32)
// CHECK:           %[[TOP:.*]] = scf.for %[[I:.*]] = %[[FIRST]] to %{{.*}} iter_args(%[[ACC:.*]] = %{{.*}}) -> (f32)
// CHECK:             %[[X:.*]] = memref.load %a[%[[I]]]
// CHECK:             arith.maximumf %[[ACC]], %[[X]] : f32
// CHECK:           } {xhlo.parallel}
// CHECK:           arith.cmpf ogt, %[[BEST]], %[[TOP]]
// CHECK:         %[[PLACE:.*]] = scf.for %{{.*}} iter_args(%[[LEAST:.*]] = %[[NONE]]) -> (i32)
// CHECK:           arith.cmpf oeq, %{{.*}}, %[[WON]]#0
// CHECK:           arith.minsi %[[LEAST]], %{{.*}} : i32
// CHECK:         } {xhlo.parallel}
func.func private @row(%a: memref<9000xf32>, %v: memref<f32>, %p: memref<i32>) attributes {hlo.kernel = "reduce"} {
  %low = arith.constant 0xFF800000 : f32
  %zero = arith.constant 0 : i32
  linalg.fill ins(%low : f32) outs(%v : memref<f32>)
  linalg.fill ins(%zero : i32) outs(%p : memref<i32>)
  linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> ()>, affine_map<(i) -> ()>], iterator_types = ["reduction"]} ins(%a : memref<9000xf32>) outs(%v, %p : memref<f32>, memref<i32>) {
  ^bb(%x: f32, %y: f32, %k: i32):
    %i = linalg.index 0 : index
    %j = arith.index_cast %i : index to i32
    %gt = arith.cmpf ogt, %y, %x : f32
    %ne = arith.cmpf une, %y, %y : f32
    %or = arith.ori %gt, %ne : i1
    %eq = arith.cmpf oeq, %y, %x : f32
    %lt = arith.cmpi slt, %k, %j : i32
    %and = arith.andi %eq, %lt : i1
    %first = arith.ori %or, %and : i1
    %s = arith.select %or, %y, %x : f32
    %t = arith.select %first, %k, %j : i32
    linalg.yield %s, %t : f32, i32
  }
  func.return
}

// A long one: chunks leave their maximum and its block, and only the block that won is searched.
// CHECK-LABEL: func.func private @long
// CHECK:         %[[TOPS:.*]] = memref.alloc() : memref<[[N:[0-9]+]]xf32>
// CHECK:         %[[BLOCKS:.*]] = memref.alloc() : memref<[[N]]xi32>
// CHECK:         "scf.parallel"
// CHECK:           arith.maximumf
// CHECK-NOT:       arith.minsi %{{.*}}, %{{.*}} : i32
// CHECK:         }) : (index, index, index) -> ()
// CHECK:         scf.for %[[CHUNK:[0-9]+]] = %{{.*}} -> (f32, i32)
// CHECK:           memref.load %[[TOPS]][%[[CHUNK]]]
// CHECK:           memref.load %[[BLOCKS]][%[[CHUNK]]]
// CHECK:         arith.minsi %{{.*}}, %{{.*}} : i32
func.func private @long(%a: memref<1048576xf32>, %v: memref<f32>, %p: memref<i32>) attributes {hlo.kernel = "reduce"} {
  %low = arith.constant 0xFF800000 : f32
  %zero = arith.constant 0 : i32
  linalg.fill ins(%low : f32) outs(%v : memref<f32>)
  linalg.fill ins(%zero : i32) outs(%p : memref<i32>)
  linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> ()>, affine_map<(i) -> ()>], iterator_types = ["reduction"]} ins(%a : memref<1048576xf32>) outs(%v, %p : memref<f32>, memref<i32>) {
  ^bb(%x: f32, %y: f32, %k: i32):
    %i = linalg.index 0 : index
    %j = arith.index_cast %i : index to i32
    %gt = arith.cmpf ogt, %y, %x : f32
    %ne = arith.cmpf une, %y, %y : f32
    %or = arith.ori %gt, %ne : i1
    %eq = arith.cmpf oeq, %y, %x : f32
    %lt = arith.cmpi slt, %k, %j : i32
    %and = arith.andi %eq, %lt : i1
    %first = arith.ori %or, %and : i1
    %s = arith.select %or, %y, %x : f32
    %t = arith.select %first, %k, %j : i32
    linalg.yield %s, %t : f32, i32
  }
  func.return
}

// Columns: each element is compared with the columns' choices so far.
// CHECK-LABEL: func.func private @columns
// CHECK-NOT:     arith.maximumf
// CHECK:         memref.load %a[%{{.*}}, %[[J:[a-z0-9_]+]]]
// CHECK:         memref.load %v[%[[J]]]
// CHECK:         memref.store %{{.*}}, %v[%[[J]]]
func.func private @columns(%a: memref<9x64xf32>, %v: memref<64xf32>, %p: memref<64xi32>) attributes {hlo.kernel = "reduce"} {
  %low = arith.constant 0xFF800000 : f32
  %zero = arith.constant 0 : i32
  linalg.fill ins(%low : f32) outs(%v : memref<64xf32>)
  linalg.fill ins(%zero : i32) outs(%p : memref<64xi32>)
  linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (j)>, affine_map<(i, j) -> (j)>], iterator_types = ["reduction", "parallel"]} ins(%a : memref<9x64xf32>) outs(%v, %p : memref<64xf32>, memref<64xi32>) {
  ^bb(%x: f32, %y: f32, %k: i32):
    %i = linalg.index 0 : index
    %j = arith.index_cast %i : index to i32
    %gt = arith.cmpf ogt, %y, %x : f32
    %ne = arith.cmpf une, %y, %y : f32
    %or = arith.ori %gt, %ne : i1
    %eq = arith.cmpf oeq, %y, %x : f32
    %lt = arith.cmpi slt, %k, %j : i32
    %and = arith.andi %eq, %lt : i1
    %first = arith.ori %or, %and : i1
    %s = arith.select %or, %y, %x : f32
    %t = arith.select %first, %k, %j : i32
    linalg.yield %s, %t : f32, i32
  }
  func.return
}

// The least of pairs: no value decides alone, so that lanes choose from every 64th element.
// CHECK-LABEL: func.func private @pairs
// CHECK:         memref.alloca() : memref<64xi32>
// CHECK:         memref.alloca() : memref<64xi32>
func.func private @pairs(%a: memref<900xi32>, %b: memref<900xi32>, %v: memref<i32>, %w: memref<i32>) attributes {hlo.kernel = "reduce"} {
  %high = arith.constant 2147483647 : i32
  linalg.fill ins(%high : i32) outs(%v : memref<i32>)
  linalg.fill ins(%high : i32) outs(%w : memref<i32>)
  linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>, affine_map<(i) -> ()>, affine_map<(i) -> ()>], iterator_types = ["reduction"]} ins(%a, %b : memref<900xi32>, memref<900xi32>) outs(%v, %w : memref<i32>, memref<i32>) {
  ^bb(%x: i32, %y: i32, %p: i32, %q: i32):
    %less = arith.cmpi slt, %p, %x : i32
    %eq = arith.cmpi eq, %p, %x : i32
    %lower = arith.cmpi sle, %q, %y : i32
    %and = arith.andi %eq, %lower : i1
    %first = arith.ori %less, %and : i1
    %s = arith.select %first, %p, %x : i32
    %t = arith.select %first, %q, %y : i32
    linalg.yield %s, %t : i32, i32
  }
  func.return
}

// Three sums of rows: the rows are read in order, however many results there are.
// CHECK-LABEL: func.func private @moments
// CHECK:         scf.for %[[I:.*]] =
// CHECK-NEXT:      scf.for %[[J:.*]] = %{{.*}} iter_args
// CHECK-NEXT:        memref.load %a[%[[I]], %[[J]]]
func.func private @moments(%a: memref<8x64xf32>, %u: memref<8xf32>, %v: memref<8xf32>, %w: memref<8xf32>) attributes {hlo.kernel = "reduce"} {
  %zero = arith.constant 0.0 : f32
  linalg.fill ins(%zero : f32) outs(%u : memref<8xf32>)
  linalg.fill ins(%zero : f32) outs(%v : memref<8xf32>)
  linalg.fill ins(%zero : f32) outs(%w : memref<8xf32>)
  linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i)>, affine_map<(i, j) -> (i)>, affine_map<(i, j) -> (i)>], iterator_types = ["parallel", "reduction"]} ins(%a : memref<8x64xf32>) outs(%u, %v, %w : memref<8xf32>, memref<8xf32>, memref<8xf32>) {
  ^bb(%x: f32, %p: f32, %q: f32, %r: f32):
    %s = arith.addf %p, %x fastmath<reassoc> : f32
    %y = arith.mulf %x, %x : f32
    %t = arith.addf %q, %y fastmath<reassoc> : f32
    %z = arith.mulf %y, %x : f32
    %o = arith.addf %r, %z fastmath<reassoc> : f32
    linalg.yield %s, %t, %o : f32, f32, f32
  }
  func.return
}

// Rows of few elements whose body is long: each element of many rows at a time, which are the innermost loop.
// CHECK-LABEL: func.func private @short_rows_with_work
// CHECK:         scf.for %[[K:.*]] =
// CHECK-NEXT:      scf.for %[[ROW:.*]] =
// CHECK:             memref.load %x[%[[ROW]], %[[K]]]
// CHECK:             memref.store %{{.*}}, %v[%[[ROW]]]
// CHECK-NEXT:        memref.store %{{.*}}, %p[%[[ROW]]]
// CHECK-NEXT:      } {xhlo.parallel}
func.func private @short_rows_with_work(%x: memref<64x16xf32>, %v: memref<64xf32>, %p: memref<64xi32>) attributes {hlo.kernel = "reduce"} {
  linalg.generic {indexing_maps = [affine_map<(i, k) -> (i, k)>, affine_map<(i, k) -> (i)>, affine_map<(i, k) -> (i)>], iterator_types = ["parallel", "reduction"]} ins(%x : memref<64x16xf32>) outs(%v, %p : memref<64xf32>, memref<64xi32>) {
  ^bb(%a: f32, %best: f32, %place: i32):
    %k = linalg.index 1 : index
    %i = arith.index_cast %k : index to i32
    %b = math.exp %a : f32
    %c = arith.mulf %a, %b : f32
    %d = arith.addf %a, %c : f32
    %e = arith.subf %d, %b : f32
    %greater = arith.cmpf ogt, %e, %best : f32
    %new = arith.select %greater, %e, %best : f32
    %at = arith.select %greater, %i, %place : i32
    linalg.yield %new, %at : f32, i32
  }
  func.return
}
