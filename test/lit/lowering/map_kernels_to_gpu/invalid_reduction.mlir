// RUN: hlo-opt %s --map-kernels-to-gpu --split-input-file --verify-diagnostics
// Plans that do not fit their operation or the chip: reductions.

// Rows: the width of an access, whole vectors, registers to keep, resident threads.

#ij = affine_map<(i, j) -> (i, j)>
#row = affine_map<(i, j) -> (i)>

func.func private @k(%a: memref<64x1000xf32>, %o: memref<64xf32>) attributes {hlo.kernel = "reduction"} {
  %zero = arith.constant 0.0 : f32
  linalg.fill ins(%zero : f32) outs(%o : memref<64xf32>)
  // expected-error@+1 {{an access moves 16 bytes, aligned to as many}}
  linalg.generic {indexing_maps = [#ij, #row], iterator_types = ["parallel", "reduction"]} ins(%a : memref<64x1000xf32>) outs(%o : memref<64xf32>) attrs = {gpu.plan = #gpu.rows<threads = 32, width = 16>} {
  ^bb(%x: f32, %acc: f32):
    %s = arith.addf %acc, %x : f32
    linalg.yield %s : f32
  }
  func.return
}

// -----

#ij = affine_map<(i, j) -> (i, j)>
#row = affine_map<(i, j) -> (i)>

func.func private @k(%a: memref<64x1000xf32>, %o: memref<64xf32>) attributes {hlo.kernel = "reduction"} {
  %zero = arith.constant 0.0 : f32
  linalg.fill ins(%zero : f32) outs(%o : memref<64xf32>)
  // expected-error@+1 {{no pass over a row needs what an earlier one read or computed}}
  linalg.generic {indexing_maps = [#ij, #row], iterator_types = ["parallel", "reduction"]} ins(%a : memref<64x1000xf32>) outs(%o : memref<64xf32>) attrs = {gpu.plan = #gpu.rows<threads = 32, keep>} {
  ^bb(%x: f32, %acc: f32):
    %s = arith.addf %acc, %x : f32
    linalg.yield %s : f32
  }
  func.return
}

// -----

#ij = affine_map<(i, j) -> (i, j)>
#row = affine_map<(i, j) -> (i)>

func.func private @k(%a: memref<64x4096xf32>, %o: memref<64x4096xf32>) attributes {hlo.kernel = "row", hlo.row_dims = 1 : i64} {
  %lowest = arith.constant 0xFF800000 : f32
  %max = memref.alloc() : memref<64xf32>
  linalg.fill ins(%lowest : f32) outs(%max : memref<64xf32>)
  // expected-error@+1 {{512 registers of a thread to keep; the limit is 255}}
  linalg.generic {indexing_maps = [#ij, #row], iterator_types = ["parallel", "reduction"]} ins(%a : memref<64x4096xf32>) outs(%max : memref<64xf32>) attrs = {gpu.plan = #gpu.rows<threads = 8, rows = 4, width = 4, keep>} {
  ^bb(%x: f32, %acc: f32):
    %m = arith.maximumf %acc, %x : f32
    linalg.yield %m : f32
  }
  linalg.generic {indexing_maps = [#row, #ij, #ij], iterator_types = ["parallel", "parallel"]} ins(%max, %a : memref<64xf32>, memref<64x4096xf32>) outs(%o : memref<64x4096xf32>) attrs = {gpu.joined} {
  ^bb(%m: f32, %x: f32, %z: f32):
    %d = arith.subf %x, %m : f32
    linalg.yield %d : f32
  }
  func.return
}

// -----

#ij = affine_map<(i, j) -> (i, j)>
#row = affine_map<(i, j) -> (i)>

func.func private @k(%a: memref<64x1000xf32>, %o: memref<64xf32>) attributes {hlo.kernel = "reduction"} {
  %zero = arith.constant 0.0 : f32
  linalg.fill ins(%zero : f32) outs(%o : memref<64xf32>)
  // expected-error@+1 {{3072 resident threads; a multiprocessor of sm_90 has 2048}}
  linalg.generic {indexing_maps = [#ij, #row], iterator_types = ["parallel", "reduction"]} ins(%a : memref<64x1000xf32>) outs(%o : memref<64xf32>) attrs = {gpu.plan = #gpu.rows<threads = 1024, blocks = 3>} {
  ^bb(%x: f32, %acc: f32):
    %s = arith.addf %acc, %x : f32
    linalg.yield %s : f32
  }
  func.return
}

// -----

// Parts of rows.

#ij = affine_map<(i, j) -> (i, j)>
#row = affine_map<(i, j) -> (i)>

func.func private @k(%a: memref<64x1000xf32>, %o: memref<64xf32>) attributes {hlo.kernel = "reduction"} {
  %zero = arith.constant 0.0 : f32
  linalg.fill ins(%zero : f32) outs(%o : memref<64xf32>)
  // expected-error@+1 {{a part of 1000 is all of the 1000 there are}}
  linalg.generic {indexing_maps = [#ij, #row], iterator_types = ["parallel", "reduction"]} ins(%a : memref<64x1000xf32>) outs(%o : memref<64xf32>) attrs = {gpu.plan = #gpu.rows<threads = 32, part = 1000, then = #gpu.rows<threads = 32>>} {
  ^bb(%x: f32, %acc: f32):
    %s = arith.addf %acc, %x : f32
    linalg.yield %s : f32
  }
  func.return
}

// -----

#ij = affine_map<(i, j) -> (i, j)>
#row = affine_map<(i, j) -> (i)>

func.func private @k(%a: memref<64x4096xf32>, %o: memref<64x4096xf32>) attributes {hlo.kernel = "row", hlo.row_dims = 1 : i64} {
  %lowest = arith.constant 0xFF800000 : f32
  %max = memref.alloc() : memref<64xf32>
  linalg.fill ins(%lowest : f32) outs(%max : memref<64xf32>)
  // expected-error@+1 {{parts of a row are reduced on their own; this one takes several passes}}
  linalg.generic {indexing_maps = [#ij, #row], iterator_types = ["parallel", "reduction"]} ins(%a : memref<64x4096xf32>) outs(%max : memref<64xf32>) attrs = {gpu.plan = #gpu.rows<threads = 256, width = 4, part = 512, then = #gpu.rows<threads = 32>>} {
  ^bb(%x: f32, %acc: f32):
    %m = arith.maximumf %acc, %x : f32
    linalg.yield %m : f32
  }
  linalg.generic {indexing_maps = [#row, #ij, #ij], iterator_types = ["parallel", "parallel"]} ins(%max, %a : memref<64xf32>, memref<64x4096xf32>) outs(%o : memref<64x4096xf32>) attrs = {gpu.joined} {
  ^bb(%m: f32, %x: f32, %z: f32):
    %d = arith.subf %x, %m : f32
    linalg.yield %d : f32
  }
  func.return
}

// -----

#ij = affine_map<(i, j) -> (i, j)>
#row = affine_map<(i, j) -> (i)>

func.func private @k(%a: memref<64x1000xf32>, %o: memref<64xf32>) attributes {hlo.kernel = "reduction"} {
  %zero = arith.constant 0.0 : f32
  linalg.fill ins(%zero : f32) outs(%o : memref<64xf32>)
  // expected-error@+1 {{10 elements do not divide into vectors of 16}}
  linalg.generic {indexing_maps = [#ij, #row], iterator_types = ["parallel", "reduction"]} ins(%a : memref<64x1000xf32>) outs(%o : memref<64xf32>) attrs = {gpu.plan = #gpu.rows<threads = 32, part = 100, then = #gpu.rows<threads = 32, width = 16>>} {
  ^bb(%x: f32, %acc: f32):
    %s = arith.addf %acc, %x : f32
    linalg.yield %s : f32
  }
  func.return
}

// -----

// Columns.

#column = affine_map<(i, j) -> (j)>
#ij = affine_map<(i, j) -> (i, j)>

func.func private @k(%a: memref<1000x63xf32>, %o: memref<63xf32>) attributes {hlo.kernel = "reduction"} {
  %zero = arith.constant 0.0 : f32
  linalg.fill ins(%zero : f32) outs(%o : memref<63xf32>)
  // expected-error@+1 {{63 elements do not divide into vectors of 4}}
  linalg.generic {indexing_maps = [#ij, #column], iterator_types = ["reduction", "parallel"]} ins(%a : memref<1000x63xf32>) outs(%o : memref<63xf32>) attrs = {gpu.plan = #gpu.columns<32x8, width = 4>} {
  ^bb(%x: f32, %acc: f32):
    %s = arith.addf %acc, %x : f32
    linalg.yield %s : f32
  }
  func.return
}

// -----

#ij = affine_map<(i, j) -> (i, j)>

func.func private @k(%a: memref<8x1000xf32>, %o: memref<f32>) attributes {hlo.kernel = "reduction"} {
  %zero = arith.constant 0.0 : f32
  linalg.fill ins(%zero : f32) outs(%o : memref<f32>)
  // expected-error@+1 {{columns are of one pass over kept and reduced loops}}
  linalg.generic {indexing_maps = [#ij, affine_map<(i, j) -> ()>], iterator_types = ["reduction", "reduction"]} ins(%a : memref<8x1000xf32>) outs(%o : memref<f32>) attrs = {gpu.plan = #gpu.columns<32x8>} {
  ^bb(%x: f32, %acc: f32):
    %s = arith.addf %acc, %x : f32
    linalg.yield %s : f32
  }
  func.return
}

// -----

#ij = affine_map<(i, j) -> (i, j)>
#row = affine_map<(i, j) -> (i)>

func.func private @k(%a: memref<64x4096xf32>, %o: memref<64x4096xf32>) attributes {hlo.kernel = "row", hlo.row_dims = 1 : i64} {
  %lowest = arith.constant 0xFF800000 : f32
  %max = memref.alloc() : memref<64xf32>
  linalg.fill ins(%lowest : f32) outs(%max : memref<64xf32>)
  // expected-error@+1 {{columns are of one pass over kept and reduced loops}}
  linalg.generic {indexing_maps = [#ij, #row], iterator_types = ["parallel", "reduction"]} ins(%a : memref<64x4096xf32>) outs(%max : memref<64xf32>) attrs = {gpu.plan = #gpu.columns<32x8>} {
  ^bb(%x: f32, %acc: f32):
    %m = arith.maximumf %acc, %x : f32
    linalg.yield %m : f32
  }
  linalg.generic {indexing_maps = [#row, #ij, #ij], iterator_types = ["parallel", "parallel"]} ins(%max, %a : memref<64xf32>, memref<64x4096xf32>) outs(%o : memref<64x4096xf32>) attrs = {gpu.joined} {
  ^bb(%m: f32, %x: f32, %z: f32):
    %d = arith.subf %x, %m : f32
    linalg.yield %d : f32
  }
  func.return
}

// -----

// The warps of the chip.

#ij = affine_map<(i, j) -> (i, j)>
#row = affine_map<(i, j) -> (i)>

func.func private @k(%a: memref<64x1000xf32>, %o: memref<64xf32>) attributes {hlo.kernel = "reduction"} {
  %zero = arith.constant 0.0 : f32
  linalg.fill ins(%zero : f32) outs(%o : memref<64xf32>)
  // expected-error@+1 {{a row of more than a warp has a block of its own}}
  linalg.generic {indexing_maps = [#ij, #row], iterator_types = ["parallel", "reduction"]} ins(%a : memref<64x1000xf32>) outs(%o : memref<64xf32>) attrs = {gpu.plan = #gpu.rows<threads = 64, rows = 2>} {
  ^bb(%x: f32, %acc: f32):
    %s = arith.addf %acc, %x : f32
    linalg.yield %s : f32
  }
  func.return
}
