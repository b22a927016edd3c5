// RUN: hlo-opt %s --convert-linalg-to-scf | filecheck %s

#all = affine_map<(i, c) -> (i, c)>
#columns = affine_map<(i, c) -> (c)>

// Five rows are read in one pass, from the initial value on, which nothing stores.
// CHECK-LABEL: func.func private @few
// CHECK:         scf.for
// CHECK-COUNT-5:   arith.maximumf
// CHECK-NEXT:      memref.store
// CHECK-NOT:     scf.for
// CHECK:         func.return
func.func private @few(%x: memref<5x40xf32>, %o: memref<40xf32>) attributes {hlo.kernel = "reduce"} {
  %init = arith.constant 0xFF800000 : f32
  linalg.fill ins(%init : f32) outs(%o : memref<40xf32>)
  linalg.generic {indexing_maps = [#all, #columns], iterator_types = ["reduction", "parallel"]} ins(%x : memref<5x40xf32>) outs(%o : memref<40xf32>) {
  ^bb(%a: f32, %z: f32):
    %m = arith.maximumf %z, %a : f32
    linalg.yield %m : f32
  }
  func.return
}

// So are those that choose a number and its place.
// CHECK-LABEL: func.func private @places
// CHECK:         scf.for
// CHECK-COUNT-3:   arith.cmpf oge
// CHECK:           memref.store
// CHECK-NEXT:      memref.store
// CHECK-NOT:     scf.for
// CHECK:         func.return
func.func private @places(%x: memref<3x40xf32>, %v: memref<40xf32>, %k: memref<40xi32>) attributes {hlo.kernel = "reduce"} {
  %low = arith.constant 0xFF800000 : f32
  %none = arith.constant 0 : i32
  linalg.fill ins(%low : f32) outs(%v : memref<40xf32>)
  linalg.fill ins(%none : i32) outs(%k : memref<40xi32>)
  linalg.generic {indexing_maps = [#all, #columns, #columns], iterator_types = ["reduction", "parallel"]} ins(%x : memref<3x40xf32>) outs(%v, %k : memref<40xf32>, memref<40xi32>) {
  ^bb(%a: f32, %b: f32, %i: i32):
    %n = linalg.index 0 : index
    %j = arith.index_cast %n : index to i32
    %c = arith.cmpf oge, %b, %a : f32
    %w = arith.select %c, %b, %a : f32
    %p = arith.select %c, %i, %j : i32
    linalg.yield %w, %p : f32, i32
  }
  func.return
}

// Nine rows take several passes, over results that a loop before fills.
// CHECK-LABEL: func.func private @many
// CHECK:         scf.for
// CHECK-NEXT:      memref.store
// CHECK:         scf.for
// CHECK:           scf.for
func.func private @many(%x: memref<9x40xf32>, %o: memref<40xf32>) attributes {hlo.kernel = "reduce"} {
  %init = arith.constant 0xFF800000 : f32
  linalg.fill ins(%init : f32) outs(%o : memref<40xf32>)
  linalg.generic {indexing_maps = [#all, #columns], iterator_types = ["reduction", "parallel"]} ins(%x : memref<9x40xf32>) outs(%o : memref<40xf32>) {
  ^bb(%a: f32, %z: f32):
    %m = arith.maximumf %z, %a : f32
    linalg.yield %m : f32
  }
  func.return
}
