// RUN: hlo-opt %s --convert-linalg-to-scf --split-input-file | filecheck %s

// Many rows: each task adds a chunk of them to a row of its own, four at a time. The chunks are multiples of four, so
// that no loop follows for the rest. A function that takes the sizes adds the tasks' rows, and programs share it: four
// vectors of sums stay in registers while rows are added to them; a mask leaves out what is beyond the last column.
// CHECK-LABEL: func.func private @columns
// CHECK-DAG:     %[[NEUTRAL:.*]] = arith.constant -0.000000e+00 : f32
// CHECK-DAG:     %[[SIZE:.*]] = arith.constant 128 : index
// CHECK-DAG:     %[[COUNT:.*]] = arith.constant 38 : index
// CHECK-DAG:     %[[FOUR:.*]] = arith.constant 4 : index
// CHECK:         %[[ROWS:.*]] = memref.alloc() : memref<4864xf32>
// CHECK:         "scf.parallel"
// CHECK:           scf.for
// CHECK-NEXT:        memref.store %[[NEUTRAL]]
// CHECK:           scf.for %{{.*}} = %{{.*}} to %{{.*}} step %[[FOUR]]
// CHECK:             scf.for
// CHECK-COUNT-4:       arith.addf
// CHECK-NOT:       scf.for
// CHECK:         func.call @columns_combine(%[[ROWS]], %{{.*}}, %o, %{{.*}}, %[[SIZE]], %[[SIZE]], %[[COUNT]], %zero)
// CHECK:       func.func private @columns_combine(%[[A:.*]]: memref<4864xf32>, %{{.*}}: index, %[[O:.*]]: memref<128xf32>, %{{.*}}: index, %{{.*}}: index, %[[S:.*]]: index, %[[N:.*]]: index, %[[INIT:.*]]: f32) attributes {xhlo.shared, xhlo.written = array<i64: 2>}
// CHECK-DAG:     %[[START:.*]] = vector.broadcast %[[INIT]] : f32 to vector<16xf32>
// CHECK:         scf.for %{{.*}} = %{{.*}} to %[[S]]
// CHECK:           arith.minsi %{{.*}}, %[[N]]
// CHECK:           scf.for
// CHECK:             %[[PRESENT:.*]]:4 = scf.if
// CHECK-COUNT-4:       vector.load
// CHECK:             } else {
// CHECK-NEXT:          scf.yield %[[START]], %[[START]], %[[START]], %[[START]]
// CHECK:             %[[SUMS:.*]]:4 = scf.for {{.*}} iter_args({{.*}} = %[[PRESENT]]#0,
// CHECK-COUNT-4:       arith.addf {{.*}} : vector<16xf32>
// CHECK:             vector.store %[[SUMS]]#0,
// CHECK:           scf.for
// CHECK:             %[[MASK:.*]] = vector.create_mask
// CHECK:             scf.for
// CHECK:               vector.maskedload %{{.*}}, %[[MASK]],
// CHECK:             vector.maskedstore %{{.*}}, %[[MASK]],
func.func private @columns(%a: memref<6272x128xf32>, %o: memref<128xf32>) attributes {hlo.kernel = "reduce"} {
  %zero = arith.constant 0.0 : f32
  linalg.fill ins(%zero : f32) outs(%o : memref<128xf32>)
  linalg.generic {indexing_maps = [affine_map<(i, j) -> (j, i)>, affine_map<(i, j) -> (i)>], iterator_types = ["parallel", "reduction"]} ins(%a : memref<6272x128xf32>) outs(%o : memref<128xf32>) {
  ^bb(%x: f32, %z: f32):
    %s = arith.addf %z, %x fastmath<reassoc> : f32
    linalg.yield %s : f32
  }
  func.return
}

// -----

// An odd number of rows: the last chunk has a rest.
// CHECK-LABEL: func.func private @odd
// CHECK:         "scf.parallel"
// CHECK:           scf.for
// CHECK-COUNT-4:       arith.maxsi
// CHECK:           scf.for
// CHECK:             scf.for
// CHECK:               arith.maxsi
// CHECK:         func.call @odd_combine
func.func private @odd(%a: memref<6273x128xi32>, %o: memref<128xi32>) attributes {hlo.kernel = "reduce"} {
  %least = arith.constant -2147483648 : i32
  linalg.fill ins(%least : i32) outs(%o : memref<128xi32>)
  linalg.generic {indexing_maps = [affine_map<(i, j) -> (j, i)>, affine_map<(i, j) -> (i)>], iterator_types = ["parallel", "reduction"]} ins(%a : memref<6273x128xi32>) outs(%o : memref<128xi32>) {
  ^bb(%x: i32, %z: i32):
    %s = arith.maxsi %z, %x : i32
    linalg.yield %s : i32
  }
  func.return
}

// -----

// Long rows of partial results: each task combines some columns by the same function, from where these begin. The rows
// are filled by a function, too.
// CHECK-LABEL: func.func private @wide
// CHECK-DAG:     %[[PART:.*]] = arith.constant 512 : index
// CHECK-DAG:     %[[WHOLE:.*]] = arith.constant 1024 : index
// CHECK:         %[[ROWS:.*]] = memref.alloc() : memref<65536xf32>
// CHECK:         "scf.parallel"
// CHECK:           func.call @wide_fill(%[[ROWS]], %{{.*}}, %{{.*}}, %{{.*}}, %[[WHOLE]], %{{.*}})
// CHECK:         "scf.parallel"
// CHECK:         ^{{.*}}(%[[TASK:.*]]: index):
// CHECK:           %[[FIRST:.*]] = arith.muli %[[TASK]], %[[PART]]
// CHECK:           func.call @wide_combine(%[[ROWS]], %[[FIRST]], %o, %[[FIRST]], %[[WHOLE]], %{{.*}}, %{{.*}}, %zero)
// CHECK-NOT:     scf.for
// CHECK:         func.return
func.func private @wide(%a: memref<2048x1024xf32>, %o: memref<1024xf32>) attributes {hlo.kernel = "reduce"} {
  %zero = arith.constant 0.0 : f32
  linalg.fill ins(%zero : f32) outs(%o : memref<1024xf32>)
  linalg.generic {indexing_maps = [affine_map<(i, j) -> (j, i)>, affine_map<(i, j) -> (i)>], iterator_types = ["parallel", "reduction"]} ins(%a : memref<2048x1024xf32>) outs(%o : memref<1024xf32>) {
  ^bb(%x: f32, %z: f32):
    %s = arith.addf %z, %x fastmath<reassoc> : f32
    linalg.yield %s : f32
  }
  func.return
}
