// RUN: hlo-opt %s --convert-linalg-to-scf | filecheck %s

// Loops over arrays of 128 KB stay on one thread, those over 256 KB are shared: copies as well as loops that read many
// arrays, so that the lines of an array stay in one thread's caches from one loop to the next.
// CHECK-LABEL: func.func private @copy_small
// CHECK-NOT:     scf.parallel
func.func private @copy_small(%a: memref<128x256xf32>, %o: memref<128x256xf32>) attributes {hlo.kernel = "loop"} {
  linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i, j)>], iterator_types = ["parallel", "parallel"]} ins(%a : memref<128x256xf32>) outs(%o : memref<128x256xf32>) {
  ^bb(%x: f32, %z: f32):
    linalg.yield %x : f32
  }
  func.return
}

// CHECK-LABEL: func.func private @sum_small
// CHECK-NOT:     scf.parallel
func.func private @sum_small(%a: memref<128x256xf32>, %b: memref<128x256xf32>, %c: memref<128x256xf32>, %d: memref<128x256xf32>, %o: memref<128x256xf32>) attributes {hlo.kernel = "loop"} {
  linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i, j)>], iterator_types = ["parallel", "parallel"]} ins(%a, %b, %c, %d : memref<128x256xf32>, memref<128x256xf32>, memref<128x256xf32>, memref<128x256xf32>) outs(%o : memref<128x256xf32>) {
  ^bb(%x: f32, %y: f32, %v: f32, %w: f32, %z: f32):
    %0 = arith.addf %x, %y : f32
    %1 = arith.addf %v, %w : f32
    %2 = arith.addf %0, %1 : f32
    linalg.yield %2 : f32
  }
  func.return
}

// CHECK-LABEL: func.func private @copy_large
// CHECK:         "scf.parallel"
func.func private @copy_large(%a: memref<256x256xf32>, %o: memref<256x256xf32>) attributes {hlo.kernel = "loop"} {
  linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i, j)>], iterator_types = ["parallel", "parallel"]} ins(%a : memref<256x256xf32>) outs(%o : memref<256x256xf32>) {
  ^bb(%x: f32, %z: f32):
    linalg.yield %x : f32
  }
  func.return
}

// CHECK-LABEL: func.func private @sum_large
// CHECK:         "scf.parallel"
func.func private @sum_large(%a: memref<256x256xf32>, %b: memref<256x256xf32>, %o: memref<256x256xf32>) attributes {hlo.kernel = "loop"} {
  linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i, j)>], iterator_types = ["parallel", "parallel"]} ins(%a, %b : memref<256x256xf32>, memref<256x256xf32>) outs(%o : memref<256x256xf32>) {
  ^bb(%x: f32, %y: f32, %z: f32):
    %0 = arith.addf %x, %y : f32
    linalg.yield %0 : f32
  }
  func.return
}

// Elementary functions take longer than the arrays.
// CHECK-LABEL: func.func private @functions
// CHECK:         "scf.parallel"
func.func private @functions(%a: memref<128x256xf32>, %o: memref<128x256xf32>) attributes {hlo.kernel = "loop"} {
  linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i, j)>], iterator_types = ["parallel", "parallel"]} ins(%a : memref<128x256xf32>) outs(%o : memref<128x256xf32>) {
  ^bb(%x: f32, %z: f32):
    %0 = math.tanh %x : f32
    linalg.yield %0 : f32
  }
  func.return
}

// Elements that are not neighbours in memory are read one by one.
// CHECK-LABEL: func.func private @gather
// CHECK:         "scf.parallel"
func.func private @gather(%i: memref<32768xindex>, %a: memref<4096xf32>, %o: memref<32768xf32>) attributes {hlo.kernel = "loop"} {
  linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>], iterator_types = ["parallel"]} ins(%i : memref<32768xindex>) outs(%o : memref<32768xf32>) {
  ^bb(%x: index, %z: f32):
    %0 = memref.load %a[%x] : memref<4096xf32>
    linalg.yield %0 : f32
  }
  func.return
}
