// RUN: hlo-opt %s --convert-linalg-to-scf | filecheck %s
// The shape decides between a serial loop and tasks; dimensions that are contiguous in all operands become one loop.

#ij = affine_map<(i, j) -> (i, j)>
#ji = affine_map<(i, j) -> (j, i)>
#j = affine_map<(i, j) -> (j)>

// CHECK-LABEL: func.func private @small
// CHECK:         %[[A:.*]] = memref.reinterpret_cast %a to offset: [0], sizes: [1000], strides: [1]
// CHECK:         scf.for %[[I:.*]] = %{{.*}} to %{{.*}} step
// CHECK-NEXT:      %[[X:.*]] = memref.load %[[A]][%[[I]]] : memref<1000xf32>
// CHECK-NEXT:      %[[S:.*]] = arith.addf %[[X]], %[[X]] : f32
// CHECK-NEXT:      memref.store %[[S]], %{{.*}}[%[[I]]] : memref<1000xf32>
// CHECK-NEXT:    } {xhlo.parallel}
func.func private @small(%a: memref<10x100xf32>, %o: memref<10x100xf32>) attributes {hlo.kernel = "loop"} {
  linalg.generic {indexing_maps = [#ij, #ij], iterator_types = ["parallel", "parallel"]} ins(%a : memref<10x100xf32>) outs(%o : memref<10x100xf32>) {
  ^bb(%x: f32, %z: f32):
    %s = arith.addf %x, %x : f32
    linalg.yield %s : f32
  }
  func.return
}

// A row operand is constant along one dimension: there are two loops, of which the outer one is cut into tasks.
// CHECK-LABEL: func.func private @large_with_row
// CHECK:         "scf.parallel"
// CHECK-NEXT:    ^{{.*}}(%[[TASK:.*]]: index):
// CHECK:           scf.for %[[I:.*]] = %{{.*}} to
// CHECK-NEXT:        scf.for %[[J:.*]] = %{{.*}} to
// CHECK-NEXT:          memref.load %a[%[[I]], %[[J]]] : memref<1000x1000xf32>
// CHECK-NEXT:          memref.load %b[%[[J]]] : memref<1000xf32>
// CHECK:               memref.store %{{.*}}, %o[%[[I]], %[[J]]]
func.func private @large_with_row(%a: memref<1000x1000xf32>, %b: memref<1000xf32>, %o: memref<1000x1000xf32>) attributes {hlo.kernel = "loop"} {
  linalg.generic {indexing_maps = [#ij, #j, #ij], iterator_types = ["parallel", "parallel"]} ins(%a, %b : memref<1000x1000xf32>, memref<1000xf32>) outs(%o : memref<1000x1000xf32>) {
  ^bb(%x: f32, %y: f32, %z: f32):
    %s = arith.addf %x, %y : f32
    linalg.yield %s : f32
  }
  func.return
}

// A transposition runs in square tiles, within which both operands stay in the cache.
// CHECK-LABEL: func.func private @transpose
// CHECK:         %[[TILE:.*]] = arith.constant 64 : index
// CHECK:         scf.for %{{.*}} = %{{.*}} to %{{.*}} step %[[TILE]] {
// CHECK-NEXT:      scf.for %{{.*}} = %{{.*}} to %{{.*}} step %[[TILE]] {
// CHECK:             scf.for %[[I:.*]] = %{{.*}} to
// CHECK-NEXT:          scf.for %[[J:.*]] = %{{.*}} to
// CHECK-NEXT:            %[[X:.*]] = memref.load %a[%[[J]], %[[I]]]
// CHECK-NEXT:            memref.store %[[X]], %o[%[[I]], %[[J]]]
func.func private @transpose(%a: memref<72x96xf32>, %o: memref<96x72xf32>) attributes {hlo.kernel = "loop"} {
  linalg.generic {indexing_maps = [#ji, #ij], iterator_types = ["parallel", "parallel"]} ins(%a : memref<72x96xf32>) outs(%o : memref<96x72xf32>) {
  ^bb(%x: f32, %z: f32):
    linalg.yield %x : f32
  }
  func.return
}

// So it does if one side is shorter than a tile: else each row would read all lines of the operand again.
// CHECK-LABEL: func.func private @transpose_of_few
// CHECK:         %[[TILE:.*]] = arith.constant 64 : index
// CHECK:         scf.for %{{.*}} = %{{.*}} to %{{.*}} step %[[TILE]] {
// CHECK:           memref.store
func.func private @transpose_of_few(%a: memref<72x16xf32>, %o: memref<16x72xf32>) attributes {hlo.kernel = "loop"} {
  linalg.generic {indexing_maps = [#ji, #ij], iterator_types = ["parallel", "parallel"]} ins(%a : memref<72x16xf32>) outs(%o : memref<16x72xf32>) {
  ^bb(%x: f32, %z: f32):
    linalg.yield %x : f32
  }
  func.return
}

// A reversed slice is a view with a negative stride.
// CHECK-LABEL: func.func private @reversed
// CHECK:         %[[VIEW:.*]] = memref.reinterpret_cast %a to offset: [2], sizes: [8], strides: [1]
// CHECK:         scf.for %[[I:.*]] =
// CHECK-NEXT:      %[[BACK:.*]] = arith.subi %{{.*}}, %[[I]]
// CHECK-NEXT:      memref.load %[[VIEW]][%[[BACK]]]
func.func private @reversed(%a: memref<16xf32>, %o: memref<8xf32>) attributes {hlo.kernel = "loop"} {
  linalg.generic {indexing_maps = [affine_map<(i) -> (9 - i)>, affine_map<(i) -> (i)>], iterator_types = ["parallel"]} ins(%a : memref<16xf32>) outs(%o : memref<8xf32>) {
  ^bb(%x: f32, %z: f32):
    linalg.yield %x : f32
  }
  func.return
}

// CHECK-LABEL: func.func private @nothing
// CHECK-NOT:     scf.for
// CHECK:         func.return
func.func private @nothing(%a: memref<0x8xf32>, %o: memref<0x8xf32>) attributes {hlo.kernel = "loop"} {
  linalg.generic {indexing_maps = [#ij, #ij], iterator_types = ["parallel", "parallel"]} ins(%a : memref<0x8xf32>) outs(%o : memref<0x8xf32>) {
  ^bb(%x: f32, %z: f32):
    linalg.yield %x : f32
  }
  func.return
}

// The loop's index replaces linalg.index; that of a unit dimension is 0.
// CHECK-LABEL: func.func private @iota
// CHECK:         scf.for %[[I:.*]] = %{{.*}} to
// CHECK-NEXT:      %[[V:.*]] = arith.index_cast %[[I]] : index to i32
// CHECK-NEXT:      memref.store %[[V]]
func.func private @iota(%o: memref<1x8xi32>) attributes {hlo.kernel = "loop"} {
  linalg.generic {indexing_maps = [#ij], iterator_types = ["parallel", "parallel"]} outs(%o : memref<1x8xi32>) {
  ^bb(%z: i32):
    %n = linalg.index 1 : index
    %v = arith.index_cast %n : index to i32
    linalg.yield %v : i32
  }
  func.return
}

// Lines at multiples of 2 KiB push one another out of the cache: their tiles are copied first, though they are few.
// CHECK-LABEL: func.func private @transpose_of_colliding_lines
// CHECK:         %[[COPY:.*]] = memref.alloca() : memref<64x64xf32>
// CHECK:         memref.store %{{.*}}, %[[COPY]]
// CHECK:         memref.load %[[COPY]]
// CHECK-LABEL: func.func private @transpose_of_few_lines
// CHECK-NOT:     memref.alloca
func.func private @transpose_of_colliding_lines(%a: memref<64x1024xf32>, %o: memref<1024x64xf32>) attributes {hlo.kernel = "loop"} {
  linalg.generic {indexing_maps = [#ji, #ij], iterator_types = ["parallel", "parallel"]} ins(%a : memref<64x1024xf32>) outs(%o : memref<1024x64xf32>) {
  ^bb(%x: f32, %z: f32):
    linalg.yield %x : f32
  }
  func.return
}

func.func private @transpose_of_few_lines(%a: memref<64x1000xf32>, %o: memref<1000x64xf32>) attributes {hlo.kernel = "loop"} {
  linalg.generic {indexing_maps = [#ji, #ij], iterator_types = ["parallel", "parallel"]} ins(%a : memref<64x1000xf32>) outs(%o : memref<1000x64xf32>) {
  ^bb(%x: f32, %z: f32):
    linalg.yield %x : f32
  }
  func.return
}

// A host function's large copy is divided among threads, also in a branch; a small one is one call of memcpy.
// CHECK-LABEL: func.func @host
// CHECK:         scf.parallel
// CHECK:           memref.store
// CHECK:         scf.if
// CHECK:           scf.parallel
// CHECK:         "memref.copy"(%{{.*}}, %{{.*}}) : (memref<8xf32>, memref<8xf32>) -> ()
func.func @host(%a: memref<512x512xf32>, %b: memref<512x512xf32>, %c: memref<8xf32>, %d: memref<8xf32>, %p: i1) {
  "memref.copy"(%a, %b) : (memref<512x512xf32>, memref<512x512xf32>) -> ()
  scf.if %p {
    "memref.copy"(%b, %a) : (memref<512x512xf32>, memref<512x512xf32>) -> ()
  }
  "memref.copy"(%c, %d) : (memref<8xf32>, memref<8xf32>) -> ()
  func.return
}
