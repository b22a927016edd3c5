// RUN: hlo-opt %s --convert-linalg-ext-to-scf | filecheck %s

// Columns are scanned together: rows read the row before, as vectors.
// CHECK-LABEL: @columns
// CHECK:         scf.for
// CHECK:           arith.addf %c,
// CHECK:         } {xhlo.parallel}
// CHECK:         scf.for %[[I:.*]] =
// CHECK:           %[[BEFORE:.*]] = arith.subi %[[I]],
// CHECK:           scf.for %[[C:.*]] =
// CHECK:             %[[OLD:.*]] = memref.load %{{.*}}[%{{.*}}, %[[BEFORE]], %[[C]]]
// CHECK:             %[[X:.*]] = memref.load %{{.*}}[%{{.*}}, %[[I]], %[[C]]]
// CHECK:             arith.addf %[[OLD]], %[[X]]
// CHECK:           } {xhlo.parallel}
func.func private @columns(%x: memref<8x9xf32>, %c: f32, %y: memref<8x9xf32>) attributes {hlo.kernel = "custom"} {
  linalg_ext.scan {dimension = 0 : i64, reverse = false} ins(%x, %c : memref<8x9xf32>, f32) outs(%y : memref<8x9xf32>) ({
  ^bb0(%a: f32, %b: f32):
    %m = arith.addf %a, %b : f32
    linalg.yield %m : f32
  })
  return
}

// A loop along the line carries the accumulator; with reverse it starts from the end, and the element is on the left.
// CHECK-LABEL: @line
// CHECK:         scf.for %[[S:.*]] = {{.*}} iter_args(%[[ACC:.*]] = %c) -> (i32) {
// CHECK:           %[[P:.*]] = arith.subi %{{.*}}, %[[S]] : index
// CHECK:           %[[E:.*]] = memref.load %{{.*}}[%{{.*}}, %[[P]], %{{.*}}]
// CHECK:           %[[M:.*]] = arith.muli %[[E]], %[[ACC]]
// CHECK:           scf.yield
func.func private @line(%x: memref<5xi32>, %c: i32, %y: memref<5xi32>) attributes {hlo.kernel = "custom"} {
  linalg_ext.scan {dimension = 0 : i64, reverse = true} ins(%x, %c : memref<5xi32>, i32) outs(%y : memref<5xi32>) ({
  ^bb0(%a: i32, %b: i32):
    %m = arith.muli %a, %b : i32
    linalg.yield %m : i32
  })
  return
}

// The greatest number so far waits for several instructions: lines are scanned in lanes, a tile of them transposed.
// CHECK-LABEL: @lanes
// CHECK-DAG:     %[[STATE:.*]] = memref.alloca() : memref<1x64xf32>
// CHECK-DAG:     %[[TILE:.*]] = memref.alloca() : memref<10x64xf32>
// CHECK:         func.call @lanes_transpose
// CHECK:         scf.for
// CHECK:           scf.for %[[LANE:.*]] =
// CHECK:             %[[OLD:.*]] = memref.load %[[STATE]][%{{.*}}, %[[LANE]]]
// CHECK:             %[[X:.*]] = memref.load %[[TILE]][%{{.*}}, %[[LANE]]]
// CHECK:             arith.maximumf %[[OLD]], %[[X]]
// CHECK:           } {xhlo.parallel}
// CHECK:         func.call @lanes_transpose
// CHECK-NOT:     memref.alloc()
func.func private @lanes(%x: memref<64x10xf32>, %c: f32, %y: memref<64x10xf32>) attributes {hlo.kernel = "custom"} {
  linalg_ext.scan {dimension = 1 : i64, reverse = false} ins(%x, %c : memref<64x10xf32>, f32) outs(%y : memref<64x10xf32>) ({
  ^bb0(%a: f32, %b: f32):
    %m = arith.maximumf %a, %b : f32
    linalg.yield %m : f32
  })
  return
}

// One line is cut into pieces: what each comes to is found first, and then added up.
// CHECK-LABEL: @pieces
// CHECK:         %[[TOTALS:.*]] = memref.alloc() : memref<1x64x1xf32>
// CHECK:         func.call @pieces_transpose
// CHECK-NOT:     func.call
// CHECK:         scf.for %{{.*}} iter_args(%[[BEFORE:.*]] = %c) -> (f32) {
// CHECK:           memref.store %[[BEFORE]], %[[TOTALS]]
// CHECK:         func.call @pieces_transpose
// CHECK:         func.call @pieces_transpose
func.func private @pieces(%x: memref<2000xf32>, %c: f32, %y: memref<2000xf32>) attributes {hlo.kernel = "custom"} {
  linalg_ext.scan {dimension = 0 : i64, reverse = false} ins(%x, %c : memref<2000xf32>, f32) outs(%y : memref<2000xf32>) ({
  ^bb0(%a: f32, %b: f32):
    %m = arith.maximumf %a, %b : f32
    linalg.yield %m : f32
  })
  return
}


// A line of medium length has several tiles of shorter pieces, which tasks take.
// CHECK-LABEL: @tiles
// CHECK:         memref.alloc() : memref<1x256x1xf32>
// CHECK:         scf.parallel
// CHECK:         scf.parallel
func.func private @tiles(%x: memref<40000xf32>, %c: f32, %y: memref<40000xf32>) attributes {hlo.kernel = "custom"} {
  linalg_ext.scan {dimension = 0 : i64, reverse = false} ins(%x, %c : memref<40000xf32>, f32) outs(%y : memref<40000xf32>) ({
  ^bb0(%a: f32, %b: f32):
    %m = arith.maximumf %a, %b : f32
    linalg.yield %m : f32
  })
  return
}

// Three lines cannot be shared evenly by two threads: each is cut into chunks. Four can.
// CHECK-LABEL: @three_lines
// CHECK:         %[[TOTALS:.*]] = memref.alloc() : memref<3x[[N:.*]]xf32>
// CHECK:         scf.parallel
// CHECK:           memref.store %{{.*}}, %[[TOTALS]]
// CHECK:         scf.for
// CHECK:           scf.for %{{.*}} iter_args(%[[BEFORE:.*]] = %c) -> (f32) {
// CHECK:             memref.store %[[BEFORE]], %[[TOTALS]]
// CHECK:         scf.parallel
// CHECK-LABEL: @four_lines
// CHECK-NOT:     memref.alloc()
// CHECK:         scf.parallel
// CHECK-NOT:     scf.parallel
func.func private @three_lines(%x: memref<3x60000xf32>, %c: f32, %y: memref<3x60000xf32>) attributes {hlo.kernel = "custom"} {
  linalg_ext.scan {dimension = 1 : i64, reverse = false} ins(%x, %c : memref<3x60000xf32>, f32) outs(%y : memref<3x60000xf32>) ({
  ^bb0(%a: f32, %b: f32):
    %m = arith.addf %a, %b : f32
    linalg.yield %m : f32
  })
  return
}
func.func private @four_lines(%x: memref<4x60000xf32>, %c: f32, %y: memref<4x60000xf32>) attributes {hlo.kernel = "custom"} {
  linalg_ext.scan {dimension = 1 : i64, reverse = false} ins(%x, %c : memref<4x60000xf32>, f32) outs(%y : memref<4x60000xf32>) ({
  ^bb0(%a: f32, %b: f32):
    %m = arith.addf %a, %b : f32
    linalg.yield %m : f32
  })
  return
}
