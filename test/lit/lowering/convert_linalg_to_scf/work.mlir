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

// So do powers, of fewer elements than exponentials do; functions of f16, which are computed in f32; and those of f64.
// CHECK-LABEL: func.func private @power
// CHECK:         "scf.parallel"
func.func private @power(%a: memref<4096xf32>, %o: memref<4096xf32>) attributes {hlo.kernel = "loop"} {
  linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>], iterator_types = ["parallel"]} ins(%a : memref<4096xf32>) outs(%o : memref<4096xf32>) {
  ^bb(%x: f32, %z: f32):
    %0 = math.powf %x, %x : f32
    linalg.yield %0 : f32
  }
  func.return
}

// CHECK-LABEL: func.func private @exponential
// CHECK-NOT:     scf.parallel
func.func private @exponential(%a: memref<12288xf32>, %o: memref<12288xf32>) attributes {hlo.kernel = "loop"} {
  linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>], iterator_types = ["parallel"]} ins(%a : memref<12288xf32>) outs(%o : memref<12288xf32>) {
  ^bb(%x: f32, %z: f32):
    %0 = math.exp %x : f32
    linalg.yield %0 : f32
  }
  func.return
}

// CHECK-LABEL: func.func private @exponential_of_few_bits
// CHECK:         "scf.parallel"
func.func private @exponential_of_few_bits(%a: memref<24576xf16>, %o: memref<24576xf16>) attributes {hlo.kernel = "loop"} {
  linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>], iterator_types = ["parallel"]} ins(%a : memref<24576xf16>) outs(%o : memref<24576xf16>) {
  ^bb(%x: f16, %z: f16):
    %0 = math.exp %x : f16
    linalg.yield %0 : f16
  }
  func.return
}

// CHECK-LABEL: func.func private @exponential_of_many_bits
// CHECK:         "scf.parallel"
func.func private @exponential_of_many_bits(%a: memref<8192xf64>, %o: memref<8192xf64>) attributes {hlo.kernel = "loop"} {
  linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>], iterator_types = ["parallel"]} ins(%a : memref<8192xf64>) outs(%o : memref<8192xf64>) {
  ^bb(%x: f64, %z: f64):
    %0 = math.exp %x : f64
    linalg.yield %0 : f64
  }
  func.return
}

// No vector divides integers of 64 bits.
// CHECK-LABEL: func.func private @wide_division
// CHECK:         "scf.parallel"
func.func private @wide_division(%a: memref<4096xi64>, %o: memref<4096xi64>) attributes {hlo.kernel = "loop"} {
  linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>], iterator_types = ["parallel"]} ins(%a : memref<4096xi64>) outs(%o : memref<4096xi64>) {
  ^bb(%x: i64, %z: i64):
    %0 = arith.divui %x, %x : i64
    linalg.yield %0 : i64
  }
  func.return
}

// The elements of short rows are combined one by one, those of long rows by vectors.
// CHECK-LABEL: func.func private @short_rows
// CHECK:         "scf.parallel"
func.func private @short_rows(%a: memref<1024x16xf32>, %o: memref<1024xf32>) attributes {hlo.kernel = "reduce"} {
  linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i)>], iterator_types = ["parallel", "reduction"]} ins(%a : memref<1024x16xf32>) outs(%o : memref<1024xf32>) {
  ^bb(%x: f32, %z: f32):
    %0 = arith.maximumf %x, %z : f32
    linalg.yield %0 : f32
  }
  func.return
}

// CHECK-LABEL: func.func private @long_rows
// CHECK-NOT:     scf.parallel
func.func private @long_rows(%a: memref<128x128xf32>, %o: memref<128xf32>) attributes {hlo.kernel = "reduce"} {
  linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i)>], iterator_types = ["parallel", "reduction"]} ins(%a : memref<128x128xf32>) outs(%o : memref<128xf32>) {
  ^bb(%x: f32, %z: f32):
    %0 = arith.maximumf %x, %z : f32
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
