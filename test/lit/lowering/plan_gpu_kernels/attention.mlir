// RUN: hlo-opt %s --plan-gpu-kernels --fuse-remarks 2> %t.remarks | filecheck %s
// RUN: filecheck %s --check-prefix=REMARK < %t.remarks
// RUN: hlo-opt %s --plan-gpu-kernels=chip=sm_75 | filecheck %s --check-prefix=SMALL
// The plans of row kernels with products: tiles that fit into shared memory and registers.

#mk = affine_map<(b, m, n, k) -> (b, m, k)>
#nk = affine_map<(b, m, n, k) -> (b, n, k)>
#kn = affine_map<(b, m, n, k) -> (b, k, n)>
#out = affine_map<(b, m, n, k) -> (b, m, n)>
#wide = affine_map<(b, m, n) -> (b, m, n)>
#row = affine_map<(b, m, n) -> (b, m)>

// Two stages of copies where two blocks fit beside each other. The T4 has no asynchronous copies, and 64 KB.
// CHECK-LABEL: @narrow
// CHECK:         outs(%s : {{.*}}) attrs = {xhlo.contraction, gpu.plan = #gpu.streamed_rows<64x64, threads = 128, tensor, stages = 2, copies>}
// CHECK-COUNT-3: gpu.joined
// SMALL-LABEL: @narrow
// SMALL:         gpu.plan = #gpu.streamed_rows<64x64, threads = 128, tensor>
func.func private @narrow(%q: memref<2x256x64xf16>, %k: memref<2x256x64xf16>, %v: memref<2x256x64xf16>, %o: memref<2x256x64xf32>) attributes {hlo.kernel = "row", hlo.row_dims = 2 : i64} {
  %zero = arith.constant 0.0 : f32
  %lowest = arith.constant 0xFF800000 : f32
  %s = memref.alloc() : memref<2x256x256xf32>
  linalg.fill ins(%zero : f32) outs(%s : memref<2x256x256xf32>)
  linalg.generic {indexing_maps = [#mk, #nk, #out], iterator_types = ["parallel", "parallel", "parallel", "reduction"]} ins(%q, %k : memref<2x256x64xf16>, memref<2x256x64xf16>) outs(%s : memref<2x256x256xf32>) attrs = {xhlo.contraction} {
  ^bb0(%x: f16, %y: f16, %sum: f32):
    %xw = arith.extf %x : f16 to f32
    %yw = arith.extf %y : f16 to f32
    %z = arith.mulf %xw, %yw fastmath<reassoc,contract> : f32
    %t = arith.addf %sum, %z fastmath<reassoc,contract> : f32
    linalg.yield %t : f32
  }
  %max = memref.alloc() : memref<2x256xf32>
  linalg.fill ins(%lowest : f32) outs(%max : memref<2x256xf32>)
  linalg.generic {indexing_maps = [#wide, #row], iterator_types = ["parallel", "parallel", "reduction"]} ins(%s : memref<2x256x256xf32>) outs(%max : memref<2x256xf32>) {
  ^bb0(%x: f32, %m: f32):
    %t = arith.maximumf %m, %x : f32
    linalg.yield %t : f32
  }
  %w = memref.alloc() : memref<2x256x256xf16>
  linalg.generic {indexing_maps = [#wide, #row, #wide], iterator_types = ["parallel", "parallel", "parallel"]} ins(%s, %max : memref<2x256x256xf32>, memref<2x256xf32>) outs(%w : memref<2x256x256xf16>) {
  ^bb0(%x: f32, %m: f32, %old: f16):
    %y = arith.subf %x, %m : f32
    %z = math.exp %y : f32
    %p = arith.truncf %z : f32 to f16
    linalg.yield %p : f16
  }
  linalg.fill ins(%zero : f32) outs(%o : memref<2x256x64xf32>)
  linalg.generic {indexing_maps = [#mk, #kn, #out], iterator_types = ["parallel", "parallel", "parallel", "reduction"]} ins(%w, %v : memref<2x256x256xf16>, memref<2x256x64xf16>) outs(%o : memref<2x256x64xf32>) attrs = {xhlo.contraction} {
  ^bb0(%x: f16, %y: f16, %sum: f32):
    %xw = arith.extf %x : f16 to f32
    %yw = arith.extf %y : f16 to f32
    %z = arith.mulf %xw, %yw fastmath<reassoc,contract> : f32
    %t = arith.addf %sum, %z fastmath<reassoc,contract> : f32
    linalg.yield %t : f32
  }
  func.return
}

// Fewer keys at a time where sums of 256 columns fill the registers.
// CHECK-LABEL: @wide
// CHECK:         gpu.plan = #gpu.streamed_rows<64x32, threads = 128, tensor, stages = 2, copies>
func.func private @wide(%q: memref<2x256x256xf16>, %k: memref<2x256x256xf16>, %v: memref<2x256x256xf16>, %o: memref<2x256x256xf32>) attributes {hlo.kernel = "row", hlo.row_dims = 2 : i64} {
  %zero = arith.constant 0.0 : f32
  %lowest = arith.constant 0xFF800000 : f32
  %s = memref.alloc() : memref<2x256x256xf32>
  linalg.fill ins(%zero : f32) outs(%s : memref<2x256x256xf32>)
  linalg.generic {indexing_maps = [#mk, #nk, #out], iterator_types = ["parallel", "parallel", "parallel", "reduction"]} ins(%q, %k : memref<2x256x256xf16>, memref<2x256x256xf16>) outs(%s : memref<2x256x256xf32>) attrs = {xhlo.contraction} {
  ^bb0(%x: f16, %y: f16, %sum: f32):
    %xw = arith.extf %x : f16 to f32
    %yw = arith.extf %y : f16 to f32
    %z = arith.mulf %xw, %yw fastmath<reassoc,contract> : f32
    %t = arith.addf %sum, %z fastmath<reassoc,contract> : f32
    linalg.yield %t : f32
  }
  %max = memref.alloc() : memref<2x256xf32>
  linalg.fill ins(%lowest : f32) outs(%max : memref<2x256xf32>)
  linalg.generic {indexing_maps = [#wide, #row], iterator_types = ["parallel", "parallel", "reduction"]} ins(%s : memref<2x256x256xf32>) outs(%max : memref<2x256xf32>) {
  ^bb0(%x: f32, %m: f32):
    %t = arith.maximumf %m, %x : f32
    linalg.yield %t : f32
  }
  %w = memref.alloc() : memref<2x256x256xf16>
  linalg.generic {indexing_maps = [#wide, #row, #wide], iterator_types = ["parallel", "parallel", "parallel"]} ins(%s, %max : memref<2x256x256xf32>, memref<2x256xf32>) outs(%w : memref<2x256x256xf16>) {
  ^bb0(%x: f32, %m: f32, %old: f16):
    %y = arith.subf %x, %m : f32
    %z = math.exp %y : f32
    %p = arith.truncf %z : f32 to f16
    linalg.yield %p : f16
  }
  linalg.fill ins(%zero : f32) outs(%o : memref<2x256x256xf32>)
  linalg.generic {indexing_maps = [#mk, #kn, #out], iterator_types = ["parallel", "parallel", "parallel", "reduction"]} ins(%w, %v : memref<2x256x256xf16>, memref<2x256x256xf16>) outs(%o : memref<2x256x256xf32>) attrs = {xhlo.contraction} {
  ^bb0(%x: f16, %y: f16, %sum: f32):
    %xw = arith.extf %x : f16 to f32
    %yw = arith.extf %y : f16 to f32
    %z = arith.mulf %xw, %yw fastmath<reassoc,contract> : f32
    %t = arith.addf %sum, %z fastmath<reassoc,contract> : f32
    linalg.yield %t : f32
  }
  func.return
}

// CHECK-LABEL: @plain
// CHECK:         gpu.plan = #gpu.streamed_rows<64x64, threads = 256, stages = 2, copies>
// SMALL-LABEL: @plain
// SMALL:         gpu.plan = #gpu.streamed_rows<64x64, threads = 256>
func.func private @plain(%q: memref<2x256x32xf32>, %k: memref<2x256x32xf32>, %v: memref<2x256x32xf32>, %o: memref<2x256x32xf32>) attributes {hlo.kernel = "row", hlo.row_dims = 2 : i64} {
  %zero = arith.constant 0.0 : f32
  %lowest = arith.constant 0xFF800000 : f32
  %s = memref.alloc() : memref<2x256x256xf32>
  linalg.fill ins(%zero : f32) outs(%s : memref<2x256x256xf32>)
  linalg.generic {indexing_maps = [#mk, #nk, #out], iterator_types = ["parallel", "parallel", "parallel", "reduction"]} ins(%q, %k : memref<2x256x32xf32>, memref<2x256x32xf32>) outs(%s : memref<2x256x256xf32>) attrs = {xhlo.contraction} {
  ^bb0(%x: f32, %y: f32, %sum: f32):
    %z = arith.mulf %x, %y fastmath<reassoc,contract> : f32
    %t = arith.addf %sum, %z fastmath<reassoc,contract> : f32
    linalg.yield %t : f32
  }
  %max = memref.alloc() : memref<2x256xf32>
  linalg.fill ins(%lowest : f32) outs(%max : memref<2x256xf32>)
  linalg.generic {indexing_maps = [#wide, #row], iterator_types = ["parallel", "parallel", "reduction"]} ins(%s : memref<2x256x256xf32>) outs(%max : memref<2x256xf32>) {
  ^bb0(%x: f32, %m: f32):
    %t = arith.maximumf %m, %x : f32
    linalg.yield %t : f32
  }
  %w = memref.alloc() : memref<2x256x256xf32>
  linalg.generic {indexing_maps = [#wide, #row, #wide], iterator_types = ["parallel", "parallel", "parallel"]} ins(%s, %max : memref<2x256x256xf32>, memref<2x256xf32>) outs(%w : memref<2x256x256xf32>) {
  ^bb0(%x: f32, %m: f32, %old: f32):
    %y = arith.subf %x, %m : f32
    %z = math.exp %y : f32
    linalg.yield %z : f32
  }
  linalg.fill ins(%zero : f32) outs(%o : memref<2x256x32xf32>)
  linalg.generic {indexing_maps = [#mk, #kn, #out], iterator_types = ["parallel", "parallel", "parallel", "reduction"]} ins(%w, %v : memref<2x256x256xf32>, memref<2x256x32xf32>) outs(%o : memref<2x256x32xf32>) attrs = {xhlo.contraction} {
  ^bb0(%x: f32, %y: f32, %sum: f32):
    %z = arith.mulf %x, %y fastmath<reassoc,contract> : f32
    %t = arith.addf %sum, %z fastmath<reassoc,contract> : f32
    linalg.yield %t : f32
  }
  func.return
}

// No tile is larger than it needs to be for few rows.
// CHECK-LABEL: @few
// CHECK:         gpu.plan = #gpu.streamed_rows<32x32, threads = 128, stages = 2, copies>
func.func private @few(%q: memref<2x16x32xf32>, %k: memref<2x16x32xf32>, %v: memref<2x16x32xf32>, %o: memref<2x16x32xf32>) attributes {hlo.kernel = "row", hlo.row_dims = 2 : i64} {
  %zero = arith.constant 0.0 : f32
  %lowest = arith.constant 0xFF800000 : f32
  %s = memref.alloc() : memref<2x16x16xf32>
  linalg.fill ins(%zero : f32) outs(%s : memref<2x16x16xf32>)
  linalg.generic {indexing_maps = [#mk, #nk, #out], iterator_types = ["parallel", "parallel", "parallel", "reduction"]} ins(%q, %k : memref<2x16x32xf32>, memref<2x16x32xf32>) outs(%s : memref<2x16x16xf32>) attrs = {xhlo.contraction} {
  ^bb0(%x: f32, %y: f32, %sum: f32):
    %z = arith.mulf %x, %y fastmath<reassoc,contract> : f32
    %t = arith.addf %sum, %z fastmath<reassoc,contract> : f32
    linalg.yield %t : f32
  }
  %max = memref.alloc() : memref<2x16xf32>
  linalg.fill ins(%lowest : f32) outs(%max : memref<2x16xf32>)
  linalg.generic {indexing_maps = [#wide, #row], iterator_types = ["parallel", "parallel", "reduction"]} ins(%s : memref<2x16x16xf32>) outs(%max : memref<2x16xf32>) {
  ^bb0(%x: f32, %m: f32):
    %t = arith.maximumf %m, %x : f32
    linalg.yield %t : f32
  }
  %w = memref.alloc() : memref<2x16x16xf32>
  linalg.generic {indexing_maps = [#wide, #row, #wide], iterator_types = ["parallel", "parallel", "parallel"]} ins(%s, %max : memref<2x16x16xf32>, memref<2x16xf32>) outs(%w : memref<2x16x16xf32>) {
  ^bb0(%x: f32, %m: f32, %old: f32):
    %y = arith.subf %x, %m : f32
    %z = math.exp %y : f32
    linalg.yield %z : f32
  }
  linalg.fill ins(%zero : f32) outs(%o : memref<2x16x32xf32>)
  linalg.generic {indexing_maps = [#mk, #kn, #out], iterator_types = ["parallel", "parallel", "parallel", "reduction"]} ins(%w, %v : memref<2x16x16xf32>, memref<2x16x32xf32>) outs(%o : memref<2x16x32xf32>) attrs = {xhlo.contraction} {
  ^bb0(%x: f32, %y: f32, %sum: f32):
    %z = arith.mulf %x, %y fastmath<reassoc,contract> : f32
    %t = arith.addf %sum, %z fastmath<reassoc,contract> : f32
    linalg.yield %t : f32
  }
  func.return
}

// Sums of 1024 columns do not fit: separate launches.
// REMARK: remark: the products of these rows are launches of their own: no tile of them fits into the shared memory and the registers of sm_90
// CHECK-LABEL: @apart
// CHECK-NOT:     gpu.streamed_rows
// CHECK:         func.return
func.func private @apart(%q: memref<2x64x1024xf32>, %k: memref<2x64x1024xf32>, %v: memref<2x64x1024xf32>, %o: memref<2x64x1024xf32>) attributes {hlo.kernel = "row", hlo.row_dims = 2 : i64} {
  %zero = arith.constant 0.0 : f32
  %lowest = arith.constant 0xFF800000 : f32
  %s = memref.alloc() : memref<2x64x64xf32>
  linalg.fill ins(%zero : f32) outs(%s : memref<2x64x64xf32>)
  linalg.generic {indexing_maps = [#mk, #nk, #out], iterator_types = ["parallel", "parallel", "parallel", "reduction"]} ins(%q, %k : memref<2x64x1024xf32>, memref<2x64x1024xf32>) outs(%s : memref<2x64x64xf32>) attrs = {xhlo.contraction} {
  ^bb0(%x: f32, %y: f32, %sum: f32):
    %z = arith.mulf %x, %y fastmath<reassoc,contract> : f32
    %t = arith.addf %sum, %z fastmath<reassoc,contract> : f32
    linalg.yield %t : f32
  }
  %max = memref.alloc() : memref<2x64xf32>
  linalg.fill ins(%lowest : f32) outs(%max : memref<2x64xf32>)
  linalg.generic {indexing_maps = [#wide, #row], iterator_types = ["parallel", "parallel", "reduction"]} ins(%s : memref<2x64x64xf32>) outs(%max : memref<2x64xf32>) {
  ^bb0(%x: f32, %m: f32):
    %t = arith.maximumf %m, %x : f32
    linalg.yield %t : f32
  }
  %w = memref.alloc() : memref<2x64x64xf32>
  linalg.generic {indexing_maps = [#wide, #row, #wide], iterator_types = ["parallel", "parallel", "parallel"]} ins(%s, %max : memref<2x64x64xf32>, memref<2x64xf32>) outs(%w : memref<2x64x64xf32>) {
  ^bb0(%x: f32, %m: f32, %old: f32):
    %y = arith.subf %x, %m : f32
    %z = math.exp %y : f32
    linalg.yield %z : f32
  }
  linalg.fill ins(%zero : f32) outs(%o : memref<2x64x1024xf32>)
  linalg.generic {indexing_maps = [#mk, #kn, #out], iterator_types = ["parallel", "parallel", "parallel", "reduction"]} ins(%w, %v : memref<2x64x64xf32>, memref<2x64x1024xf32>) outs(%o : memref<2x64x1024xf32>) attrs = {xhlo.contraction} {
  ^bb0(%x: f32, %y: f32, %sum: f32):
    %z = arith.mulf %x, %y fastmath<reassoc,contract> : f32
    %t = arith.addf %sum, %z fastmath<reassoc,contract> : f32
    linalg.yield %t : f32
  }
  func.return
}
