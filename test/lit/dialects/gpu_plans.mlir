// RUN: hlo-opt %s | filecheck %s
// RUN: hlo-opt %s | hlo-opt | filecheck %s
// RUN: hlo-opt %s --mlir-print-op-generic | hlo-opt | filecheck %s
// Plans of launches: parameters that have their default value are not printed.

// CHECK-LABEL: @plans
func.func @plans(%a: memref<8xf32>, %x: f32) {
  // CHECK-NEXT: {gpu.plan = #gpu.elementwise<width = 4, items = 2, along = 0, threads = 128>}
  linalg.fill {gpu.plan = #gpu.elementwise<threads = 128, width = 4, items = 2, along = 0>} ins(%x : f32) outs(%a : memref<8xf32>)
  // CHECK-NEXT: {gpu.plan = #gpu.elementwise<crosses>, gpu.joined}
  linalg.fill {gpu.plan = #gpu.elementwise<width = 1, crosses>, gpu.joined} ins(%x : f32) outs(%a : memref<8xf32>)
  // CHECK-NEXT: {gpu.plan = #gpu.block<threads = 96, shared = [0, 3]>}
  linalg.fill {gpu.plan = #gpu.block<shared = [0, 3], threads = 96>} ins(%x : f32) outs(%a : memref<8xf32>)
  // CHECK-NEXT: {gpu.plan = #gpu.transpose<64x32, loop = 1, inputs = [0, 2]>}
  linalg.fill {gpu.plan = #gpu.transpose<64x32, loop = 1, inputs = [0, 2]>} ins(%x : f32) outs(%a : memref<8xf32>)
  // CHECK-NEXT: {gpu.plan = #gpu.rows<threads = 8, rows = 4, width = 4, keep, blocks = 2>}
  linalg.fill {gpu.plan = #gpu.rows<threads = 8, rows = 4, width = 4, keep, blocks = 2>} ins(%x : f32) outs(%a : memref<8xf32>)
  // CHECK-NEXT: {gpu.plan = #gpu.rows<threads = 512, unroll = 4, partials = 4, part = 512, then = #gpu.rows<threads = 32, rows = 8>>}
  linalg.fill {gpu.plan = #gpu.rows<threads = 512, unroll = 4, partials = 4, part = 512, then = #gpu.rows<threads = 32, rows = 8>>} ins(%x : f32) outs(%a : memref<8xf32>)
  // CHECK-NEXT: {gpu.plan = #gpu.columns<32x8, width = 2>}
  linalg.fill {gpu.plan = #gpu.columns<32x8, width = 2>} ins(%x : f32) outs(%a : memref<8xf32>)
  // CHECK-NEXT: {gpu.plan = #gpu.tile<128x64x16, thread = 8x4, splits = 2, raster = 4>}
  linalg.fill {gpu.plan = #gpu.tile<128x64x16, thread = 8x4, splits = 2, raster = 4>} ins(%x : f32) outs(%a : memref<8xf32>)
  // CHECK-NEXT: {gpu.plan = #gpu.tensor_tile<128x64x32, warp = 64x32, stages = 3, copies>}
  linalg.fill {gpu.plan = #gpu.tensor_tile<128x64x32, warp = 64x32, stages = 3, copies>} ins(%x : f32) outs(%a : memref<8xf32>)
  // CHECK-NEXT: {gpu.plan = #gpu.sorted_scatter<sort = #gpu.sort<tile = 64, rows = 2>>}
  linalg.fill {gpu.plan = #gpu.sorted_scatter<sort = #gpu.sort<tile = 64, rows = 2>>} ins(%x : f32) outs(%a : memref<8xf32>)
  // CHECK-NEXT: {gpu.plan = #gpu.scan_blocks<chunk = 480, elements = 15, threads = 32>}
  linalg.fill {gpu.plan = #gpu.scan_blocks<chunk = 480, elements = 15, threads = 32>} ins(%x : f32) outs(%a : memref<8xf32>)
  // CHECK-NEXT: {gpu.plan = #gpu.scan_threads<chunk = 9>}
  linalg.fill {gpu.plan = #gpu.scan_threads<chunk = 9>} ins(%x : f32) outs(%a : memref<8xf32>)
  // CHECK-NEXT: {gpu.plan = #gpu.scan_rows<rows = 64>}
  linalg.fill {gpu.plan = #gpu.scan_rows<rows = 64>} ins(%x : f32) outs(%a : memref<8xf32>)
  // CHECK-NEXT: {gpu.plan = #gpu.points}
  linalg.fill {gpu.plan = #gpu.points<threads = 256>} ins(%x : f32) outs(%a : memref<8xf32>)
  // CHECK-NEXT: {gpu.plan = [#gpu.library, #gpu.serial, #gpu.none]}
  linalg.fill {gpu.plan = [#gpu.library, #gpu.serial, #gpu.none]} ins(%x : f32) outs(%a : memref<8xf32>)
  func.return
}
