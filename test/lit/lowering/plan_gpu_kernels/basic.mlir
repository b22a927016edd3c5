// RUN: hlo-opt %s --plan-gpu-kernels | filecheck %s
// RUN: hlo-opt %s --plan-gpu-kernels | hlo-opt --plan-gpu-kernels | filecheck %s
// Each kind of plan, as chosen for a kernel.

#i = affine_map<(i) -> (i)>
#none = affine_map<(i) -> ()>
#ij = affine_map<(i, j) -> (i, j)>
#ji = affine_map<(i, j) -> (j, i)>
#row = affine_map<(i, j) -> (i)>
#column = affine_map<(i, j) -> (j)>
#mk = affine_map<(m, n, k) -> (m, k)>
#kn = affine_map<(m, n, k) -> (k, n)>
#nk = affine_map<(m, n, k) -> (n, k)>
#mn = affine_map<(m, n, k) -> (m, n)>
#n = affine_map<(m, n) -> (n)>
#same = affine_map<(m, n) -> (m, n)>

// Vectors, and how many of them a thread takes; those along a loop that a row is broadcast over.
// CHECK-LABEL: @whole(
// CHECK:       linalg.generic{{.*}}gpu.plan = #gpu.elementwise<width = 4, items = 4>
func.func private @whole(%a: memref<1024x16384xf32>, %o: memref<1024x16384xf32>) attributes {hlo.kernel = "loop"} {
  linalg.generic {indexing_maps = [#ij, #ij], iterator_types = ["parallel", "parallel"]} ins(%a : memref<1024x16384xf32>) outs(%o : memref<1024x16384xf32>) {
  ^bb(%x: f32, %z: f32):
    %s = arith.addf %x, %x : f32
    linalg.yield %s : f32
  }
  func.return
}
// CHECK-LABEL: @broadcasts(
// CHECK:       linalg.generic{{.*}}gpu.plan = #gpu.elementwise<width = 4, items = 4, along = 0>
func.func private @broadcasts(%a: memref<1024x16384xf16>, %r: memref<16384xf32>, %c: memref<1024xf32>, %o: memref<1024x16384xf32>) attributes {hlo.kernel = "loop"} {
  linalg.generic {indexing_maps = [#ij, #column, #row, #ij], iterator_types = ["parallel", "parallel"]} ins(%a, %r, %c : memref<1024x16384xf16>, memref<16384xf32>, memref<1024xf32>) outs(%o : memref<1024x16384xf32>) {
  ^bb(%x: f16, %y: f32, %w: f32, %z: f32):
    %e = arith.extf %x : f16 to f32
    %s = arith.addf %e, %y : f32
    %t = arith.mulf %s, %w : f32
    linalg.yield %t : f32
  }
  func.return
}
// CHECK-LABEL: @crossing(
// CHECK:       linalg.generic{{.*}}gpu.plan = #gpu.elementwise<width = 4, items = 4, crosses>
func.func private @crossing(%a: memref<20481x777xf32>, %r: memref<777xf32>, %o: memref<20481x777xf32>) attributes {hlo.kernel = "loop"} {
  linalg.generic {indexing_maps = [#ij, #column, #ij], iterator_types = ["parallel", "parallel"]} ins(%a, %r : memref<20481x777xf32>, memref<777xf32>) outs(%o : memref<20481x777xf32>) {
  ^bb(%x: f32, %y: f32, %z: f32):
    %s = arith.addf %x, %y : f32
    linalg.yield %s : f32
  }
  func.return
}

// The parts of a concatenation have plans of their own and one launch.
// CHECK-LABEL: @concatenate(
// CHECK:       memref.copy{{.*}}gpu.plan = #gpu.elementwise
// CHECK:       memref.copy{{.*}}gpu.plan = #gpu.elementwise, gpu.joined
func.func private @concatenate(%a: memref<32x64xf32>, %b: memref<32x64xf32>, %o: memref<32x128xf32>) attributes {hlo.kernel = "concatenate"} {
  %0 = memref.subview %o[0, 0] [32, 64] [1, 1] : memref<32x128xf32> to memref<32x64xf32, strided<[128, 1]>>
  "memref.copy"(%a, %0) : (memref<32x64xf32>, memref<32x64xf32, strided<[128, 1]>>) -> ()
  %1 = memref.subview %o[0, 64] [32, 64] [1, 1] : memref<32x128xf32> to memref<32x64xf32, strided<[128, 1], offset: 64>>
  "memref.copy"(%b, %1) : (memref<32x64xf32>, memref<32x64xf32, strided<[128, 1], offset: 64>>) -> ()
  func.return
}

// An input that is contiguous along another loop goes through tiles in shared memory.
// CHECK-LABEL: @whole_tiles(
// CHECK:       linalg.generic{{.*}}gpu.plan = #gpu.transpose<64x64, loop = 0, inputs = [0]>
func.func private @whole_tiles(%a: memref<4096x2048xf32>, %c: memref<2048x4096xf32>, %o: memref<2048x4096xf32>) attributes {hlo.kernel = "loop"} {
  linalg.generic {indexing_maps = [#ji, #ij, #ij], iterator_types = ["parallel", "parallel"]} ins(%a, %c : memref<4096x2048xf32>, memref<2048x4096xf32>) outs(%o : memref<2048x4096xf32>) {
  ^bb(%x: f32, %y: f32, %z: f32):
    %s = arith.addf %x, %y : f32
    linalg.yield %s : f32
  }
  func.return
}

// Reductions along rows, with what follows them; in two launches where rows are few; along columns.
// CHECK-LABEL: @rows(
// CHECK:       linalg.generic{{.*}}gpu.plan = #gpu.rows<threads = 32, rows = 8, width = 4, unroll = 4, partials = 4, blocks = 4>
// CHECK:       linalg.generic{{.*}}gpu.joined
func.func private @rows(%a: memref<65536x1024xf32>, %o: memref<65536xf32>) attributes {hlo.kernel = "reduce"} {
  %zero = arith.constant 0.0 : f32
  %sum = memref.alloc() : memref<65536xf32>
  linalg.fill ins(%zero : f32) outs(%sum : memref<65536xf32>)
  linalg.generic {indexing_maps = [#ij, #row], iterator_types = ["parallel", "reduction"]} ins(%a : memref<65536x1024xf32>) outs(%sum : memref<65536xf32>) {
  ^bb(%x: f32, %acc: f32):
    %s = arith.addf %acc, %x : f32
    linalg.yield %s : f32
  }
  linalg.generic {indexing_maps = [#i, #i], iterator_types = ["parallel"]} ins(%sum : memref<65536xf32>) outs(%o : memref<65536xf32>) {
  ^bb(%x: f32, %z: f32):
    %r = math.sqrt %x : f32
    linalg.yield %r : f32
  }
  func.return
}
// CHECK-LABEL: @all(
// CHECK:       linalg.generic{{.*}}gpu.plan = #gpu.rows<threads = 512, width = 4, unroll = 4, partials = 4, part = 32256, blocks = 2, then = #gpu.rows<threads = 256, width = 4, blocks = 4>>
func.func private @all(%a: memref<67108864xf32>, %o: memref<f32>) attributes {hlo.kernel = "reduce"} {
  %two = arith.constant 2.0 : f32
  linalg.fill ins(%two : f32) outs(%o : memref<f32>)
  linalg.generic {indexing_maps = [#i, #none], iterator_types = ["reduction"]} ins(%a : memref<67108864xf32>) outs(%o : memref<f32>) {
  ^bb(%x: f32, %acc: f32):
    %s = arith.addf %acc, %x : f32
    linalg.yield %s : f32
  }
  func.return
}
// CHECK-LABEL: @columns(
// CHECK:       linalg.generic{{.*}}gpu.plan = #gpu.columns<32x16, width = 4, unroll = 4, partials = 4, part = 512, blocks = 2, then = #gpu.columns<256x1, width = 4, unroll = 4, blocks = 4>>
func.func private @columns(%a: memref<4096x8192xf32>, %o: memref<8192xf32>) attributes {hlo.kernel = "reduce"} {
  %lowest = arith.constant 0xFF800000 : f32
  linalg.fill ins(%lowest : f32) outs(%o : memref<8192xf32>)
  linalg.generic {indexing_maps = [#ij, #column], iterator_types = ["reduction", "parallel"]} ins(%a : memref<4096x8192xf32>) outs(%o : memref<8192xf32>) {
  ^bb(%x: f32, %acc: f32):
    %s = arith.maximumf %acc, %x : f32
    linalg.yield %s : f32
  }
  func.return
}

// An operation that is not known to be associative: a thread per result.
// CHECK-LABEL: @alternating(
// CHECK:       linalg.generic{{.*}}gpu.plan = #gpu.points
func.func private @alternating(%a: memref<65536x256xf32>, %o: memref<65536xf32>) attributes {hlo.kernel = "reduce"} {
  %zero = arith.constant 0.0 : f32
  linalg.fill ins(%zero : f32) outs(%o : memref<65536xf32>)
  linalg.generic {indexing_maps = [#ij, #row], iterator_types = ["parallel", "reduction"]} ins(%a : memref<65536x256xf32>) outs(%o : memref<65536xf32>) {
  ^bb(%x: f32, %acc: f32):
    %s = arith.subf %x, %acc : f32
    linalg.yield %s : f32
  }
  func.return
}

// A chain of four operations, whose row stays in registers.
// CHECK-LABEL: @normalized(
// CHECK:       linalg.generic{{.*}}gpu.plan = #gpu.rows<threads = 128, width = 4, keep, blocks = 7>
// CHECK:       linalg.generic{{.*}}gpu.joined
// CHECK:       linalg.generic{{.*}}gpu.joined
// CHECK:       linalg.generic{{.*}}gpu.joined
func.func private @normalized(%a: memref<32768x4096xf32>, %o: memref<32768x4096xf32>) attributes {hlo.kernel = "row", hlo.row_dims = 1 : i64} {
  %lowest = arith.constant 0xFF800000 : f32
  %zero = arith.constant 0.0 : f32
  %max = memref.alloc() : memref<32768xf32>
  linalg.fill ins(%lowest : f32) outs(%max : memref<32768xf32>)
  linalg.generic {indexing_maps = [#ij, #row], iterator_types = ["parallel", "reduction"]} ins(%a : memref<32768x4096xf32>) outs(%max : memref<32768xf32>) {
  ^bb(%x: f32, %acc: f32):
    %m = arith.maximumf %acc, %x : f32
    linalg.yield %m : f32
  }
  %shifted = memref.alloc() : memref<32768x4096xf32>
  linalg.generic {indexing_maps = [#row, #ij, #ij], iterator_types = ["parallel", "parallel"]} ins(%max, %a : memref<32768xf32>, memref<32768x4096xf32>) outs(%shifted : memref<32768x4096xf32>) {
  ^bb(%m: f32, %x: f32, %z: f32):
    %d = arith.subf %x, %m : f32
    linalg.yield %d : f32
  }
  %sum = memref.alloc() : memref<32768xf32>
  linalg.fill ins(%zero : f32) outs(%sum : memref<32768xf32>)
  linalg.generic {indexing_maps = [#ij, #row], iterator_types = ["parallel", "reduction"]} ins(%shifted : memref<32768x4096xf32>) outs(%sum : memref<32768xf32>) {
  ^bb(%x: f32, %acc: f32):
    %s = arith.addf %acc, %x : f32
    linalg.yield %s : f32
  }
  linalg.generic {indexing_maps = [#row, #ij, #ij], iterator_types = ["parallel", "parallel"]} ins(%sum, %shifted : memref<32768xf32>, memref<32768x4096xf32>) outs(%o : memref<32768x4096xf32>) {
  ^bb(%s: f32, %x: f32, %z: f32):
    %q = arith.divf %x, %s : f32
    linalg.yield %q : f32
  }
  func.return
}

// Contractions: on registers, on tensor cores with an epilogue, split along k.
// CHECK-LABEL: @dot_0(
// CHECK:       linalg.generic{{.*}}gpu.plan = #gpu.tile<128x128x8, thread = 8x8, raster = 8, blocks = 2>
func.func private @dot_0(%a: memref<1024x256xf32>, %b: memref<256x2048xf32>, %c: memref<1024x2048xf32>) attributes {hlo.kernel = "dot"} {
  %zero = arith.constant 0.0 : f32
  linalg.fill ins(%zero : f32) outs(%c : memref<1024x2048xf32>)
  linalg.generic {indexing_maps = [#mk, #kn, #mn], iterator_types = ["parallel", "parallel", "reduction"]} ins(%a, %b : memref<1024x256xf32>, memref<256x2048xf32>) outs(%c : memref<1024x2048xf32>) attrs = {xhlo.contraction} {
  ^bb0(%x: f32, %y: f32, %sum: f32):
    %p = arith.mulf %x, %y fastmath<reassoc,contract> : f32
    %s = arith.addf %sum, %p fastmath<reassoc,contract> : f32
    linalg.yield %s : f32
  }
  func.return
}
// CHECK-LABEL: @dot_1(
// CHECK:       linalg.generic{{.*}}gpu.plan = #gpu.tensor_tile<128x64x64, warp = 32x32, stages = 4, copies, raster = 4, blocks = 2>
// CHECK:       linalg.generic{{.*}}gpu.joined
func.func private @dot_1(%a: memref<512x256xf16>, %b: memref<1024x256xf16>, %bias: memref<1024xf16>, %c: memref<512x1024xf16>) attributes {hlo.kernel = "dot"} {
  %zero = arith.constant 0.0 : f32
  %sums = memref.alloc() : memref<512x1024xf32>
  linalg.fill ins(%zero : f32) outs(%sums : memref<512x1024xf32>)
  linalg.generic {indexing_maps = [#mk, #nk, #mn], iterator_types = ["parallel", "parallel", "reduction"]} ins(%a, %b : memref<512x256xf16>, memref<1024x256xf16>) outs(%sums : memref<512x1024xf32>) attrs = {xhlo.contraction} {
  ^bb0(%x: f16, %y: f16, %sum: f32):
    %l = arith.extf %x : f16 to f32
    %r = arith.extf %y : f16 to f32
    %p = arith.mulf %l, %r fastmath<reassoc,contract> : f32
    %s = arith.addf %sum, %p fastmath<reassoc,contract> : f32
    linalg.yield %s : f32
  }
  linalg.generic {indexing_maps = [#same, #n, #same], iterator_types = ["parallel", "parallel"]} ins(%sums, %bias : memref<512x1024xf32>, memref<1024xf16>) outs(%c : memref<512x1024xf16>) {
  ^bb0(%x: f32, %y: f16, %old: f16):
    %r = arith.extf %y : f16 to f32
    %s = arith.addf %x, %r : f32
    %t = math.tanh %s : f32
    %narrow = arith.truncf %t : f32 to f16
    linalg.yield %narrow : f16
  }
  func.return
}
// CHECK-LABEL: @dot_2(
// CHECK:       linalg.generic{{.*}}gpu.plan = #gpu.tile<64x64x16, thread = 4x4, splits = 64, blocks = 2>
func.func private @dot_2(%a: memref<32x8192xf32>, %c: memref<32x32xf32>) attributes {hlo.kernel = "dot"} {
  %zero = arith.constant 0.0 : f32
  linalg.fill ins(%zero : f32) outs(%c : memref<32x32xf32>)
  linalg.generic {indexing_maps = [#mk, #nk, #mn], iterator_types = ["parallel", "parallel", "reduction"]} ins(%a, %a : memref<32x8192xf32>, memref<32x8192xf32>) outs(%c : memref<32x32xf32>) attrs = {xhlo.contraction} {
  ^bb0(%x: f32, %y: f32, %sum: f32):
    %p = arith.mulf %x, %y fastmath<reassoc,contract> : f32
    %s = arith.addf %sum, %p fastmath<reassoc,contract> : f32
    linalg.yield %s : f32
  }
  func.return
}

// Sorts, scans, scatters.
// CHECK-LABEL: @sort_row(
// CHECK:       linalg_ext.sort_by_key{{.*}}gpu.plan = #gpu.sort<tile = 2048>
func.func private @sort_row(%x: memref<2000xf32>) attributes {hlo.kernel = "custom"} {
  linalg_ext.sort_by_key {dimension = 0 : i64} outs(%x : memref<2000xf32>) ({
  ^bb0(%a: f32):
    %k = arith.bitcast %a : f32 to i32
    linalg.yield %k : i32
  })
  func.return
}
// CHECK-LABEL: @scan_columns(
// CHECK:       linalg_ext.scan{{.*}}gpu.plan = #gpu.scan_threads<chunk = 100>
func.func private @scan_columns(%x: memref<100x65536xf32>, %y: memref<100x65536xf32>) attributes {hlo.kernel = "custom"} {
  %z = arith.constant 0.0 : f32
  linalg_ext.scan {dimension = 0 : i64, reverse = false} ins(%x, %z : memref<100x65536xf32>, f32) outs(%y : memref<100x65536xf32>) ({
  ^bb0(%a: f32, %b: f32):
    %s = arith.addf %a, %b : f32
    linalg.yield %s : f32
  })
  func.return
}
// CHECK-LABEL: @long_row(
// CHECK:       linalg_ext.scan{{.*}}gpu.plan = #gpu.scan_blocks<chunk = 11520, elements = 15>
func.func private @long_row(%x: memref<1000000xf32>, %y: memref<1000000xf32>) attributes {hlo.kernel = "custom"} {
  %z = arith.constant 0.0 : f32
  linalg_ext.scan {dimension = 0 : i64, reverse = false} ins(%x, %z : memref<1000000xf32>, f32) outs(%y : memref<1000000xf32>) ({
  ^bb0(%a: f32, %b: f32):
    %s = arith.addf %a, %b : f32
    linalg.yield %s : f32
  })
  func.return
}
// CHECK-LABEL: @scatter(
// CHECK:       linalg_ext.scatter{{.*}}gpu.plan = #gpu.sorted_scatter<sort = #gpu.sort<tile = 128>>
func.func private @scatter(%x: memref<50x33xf32>, %i: memref<70x1xi32>, %u: memref<70x33xf32>) attributes {hlo.kernel = "custom"} {
  linalg_ext.scatter {window = array<i64: 1>, inserted = array<i64: 0>, batching = array<i64>, index_batching = array<i64>, index_map = array<i64: 0>, vector_dim = 1 : i64, is_unsigned = false, is_unique = false} ins(%i, %u : memref<70x1xi32>, memref<70x33xf32>) outs(%x : memref<50x33xf32>) ({
  ^bb0(%a: f32, %b: f32):
    %s = arith.addf %a, %b : f32
    linalg.yield %s : f32
  })
  func.return
}
// CHECK-LABEL: @unique(
// CHECK:       linalg_ext.scatter{{.*}}gpu.plan = #gpu.points
func.func private @unique(%x: memref<50x33xf32>, %i: memref<20x1xi32>, %u: memref<20x33xf32>) attributes {hlo.kernel = "custom"} {
  linalg_ext.scatter {window = array<i64: 1>, inserted = array<i64: 0>, batching = array<i64>, index_batching = array<i64>, index_map = array<i64: 0>, vector_dim = 1 : i64, is_unsigned = false, is_unique = true} ins(%i, %u : memref<20x1xi32>, memref<20x33xf32>) outs(%x : memref<50x33xf32>) ({
  ^bb0(%a: f32, %b: f32):
    %s = arith.addf %a, %b : f32
    linalg.yield %s : f32
  })
  func.return
}
// CHECK-LABEL: @overlapping(
// CHECK:       linalg_ext.select_and_scatter{{.*}}gpu.plan = #gpu.points
func.func private @overlapping(%x: memref<16xf32>, %s: memref<7xf32>, %y: memref<16xf32>) attributes {hlo.kernel = "custom"} {
  linalg_ext.select_and_scatter {sizes = array<i64: 3>, strides = array<i64: 2>, low = array<i64: 0>} ins(%x, %s : memref<16xf32>, memref<7xf32>) outs(%y : memref<16xf32>) ({
  ^bb0(%a: f32, %b: f32):
    %p = arith.cmpf oge, %a, %b : f32
    linalg.yield %p : i1
  }, {
  ^bb0(%a: f32, %b: f32):
    %t = arith.addf %a, %b : f32
    linalg.yield %t : f32
  })
  func.return
}
// CHECK-LABEL: @short_rows(
// CHECK:       linalg_ext.scan{{.*}}gpu.plan = #gpu.scan_rows<rows = 256>
func.func private @short_rows(%x: memref<5000x40xf32>, %z: f32, %y: memref<5000x40xf32>) attributes {hlo.kernel = "loop"} {
  linalg_ext.scan {dimension = 1 : i64, reverse = false} ins(%x, %z : memref<5000x40xf32>, f32) outs(%y : memref<5000x40xf32>) ({
  ^bb0(%a: f32, %b: f32):
    %s = arith.addf %a, %b : f32
    linalg.yield %s : f32
  })
  func.return
}

// Loops: a thread per iteration, or one thread for all. Nothing to do needs no launch.
// CHECK-LABEL: @loops(
// CHECK:       gpu.plan = #gpu.points
// CHECK:       gpu.plan = #gpu.serial
// CHECK:       linalg.fill{{.*}}gpu.plan = #gpu.none
func.func private @loops(%x: memref<100xf32>, %y: memref<0xf32>) attributes {hlo.kernel = "loop"} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c100 = arith.constant 100 : index
  %one = arith.constant 1.0 : f32
  "scf.parallel"(%c0, %c100, %c1) <{operandSegmentSizes = array<i32: 1, 1, 1, 0>}> ({
  ^bb0(%i: index):
    memref.store %one, %x[%i] : memref<100xf32>
    scf.reduce
  }) : (index, index, index) -> ()
  scf.for %i = %c0 to %c100 step %c1 {
    %v = memref.load %x[%c0] : memref<100xf32>
    memref.store %v, %x[%i] : memref<100xf32>
  }
  linalg.fill ins(%one : f32) outs(%y : memref<0xf32>)
  func.return
}
