// RUN: hlo-opt %s --split-input-file --verify-diagnostics
// Plans whose numbers contradict each other or a limit of all chips.

func.func @f(%a: memref<8xf32>, %x: f32) {
  // expected-error@+1 {{a block of 48 threads is not a multiple of 32}}
  linalg.fill {gpu.plan = #gpu.block<threads = 48>} ins(%x : f32) outs(%a : memref<8xf32>)
  func.return
}

// -----

func.func @f(%a: memref<8xf32>, %x: f32) {
  // expected-error@+1 {{the numbers of shared buffers ascend}}
  linalg.fill {gpu.plan = #gpu.block<threads = 32, shared = [2, 1]>} ins(%x : f32) outs(%a : memref<8xf32>)
  func.return
}

// -----

func.func @f(%a: memref<8xf32>, %x: f32) {
  // expected-error@+1 {{width is 3, not a power of two}}
  linalg.fill {gpu.plan = #gpu.elementwise<width = 3>} ins(%x : f32) outs(%a : memref<8xf32>)
  func.return
}

// -----

func.func @f(%a: memref<8xf32>, %x: f32) {
  // expected-error@+1 {{width is 32: one access moves 16 elements at most}}
  linalg.fill {gpu.plan = #gpu.elementwise<width = 32>} ins(%x : f32) outs(%a : memref<8xf32>)
  func.return
}

// -----

func.func @f(%a: memref<8xf32>, %x: f32) {
  // expected-error@+1 {{items is 0, less than 1}}
  linalg.fill {gpu.plan = #gpu.elementwise<items = 0>} ins(%x : f32) outs(%a : memref<8xf32>)
  func.return
}

// -----

func.func @f(%a: memref<8xf32>, %x: f32) {
  // expected-error@+1 {{along is -1, less than 0}}
  linalg.fill {gpu.plan = #gpu.elementwise<along = -1>} ins(%x : f32) outs(%a : memref<8xf32>)
  func.return
}

// -----

func.func @f(%a: memref<8xf32>, %x: f32) {
  // expected-error@+1 {{a block of 2048 threads: the limit is 1024}}
  linalg.fill {gpu.plan = #gpu.points<threads = 2048>} ins(%x : f32) outs(%a : memref<8xf32>)
  func.return
}

// -----

func.func @f(%a: memref<8xf32>, %x: f32) {
  // expected-error@+1 {{a tile has two sides}}
  linalg.fill {gpu.plan = #gpu.transpose<64, loop = 0, inputs = [0]>} ins(%x : f32) outs(%a : memref<8xf32>)
  func.return
}

// -----

func.func @f(%a: memref<8xf32>, %x: f32) {
  // expected-error@+1 {{other_side is 48, not a power of two}}
  linalg.fill {gpu.plan = #gpu.transpose<64x48, loop = 0, inputs = [0]>} ins(%x : f32) outs(%a : memref<8xf32>)
  func.return
}

// -----

func.func @f(%a: memref<8xf32>, %x: f32) {
  // expected-error@+1 {{no input goes through shared memory}}
  linalg.fill {gpu.plan = #gpu.transpose<64x64, loop = 0, inputs = []>} ins(%x : f32) outs(%a : memref<8xf32>)
  func.return
}

// -----

func.func @f(%a: memref<8xf32>, %x: f32) {
  // expected-error@+1 {{threads is 5, not a power of two}}
  linalg.fill {gpu.plan = #gpu.rows<threads = 5, rows = 8>} ins(%x : f32) outs(%a : memref<8xf32>)
  func.return
}

// -----

func.func @f(%a: memref<8xf32>, %x: f32) {
  // expected-error@+1 {{a block of 24 threads is not a multiple of 32}}
  linalg.fill {gpu.plan = #gpu.rows<threads = 8, rows = 3>} ins(%x : f32) outs(%a : memref<8xf32>)
  func.return
}

// -----

func.func @f(%a: memref<8xf32>, %x: f32) {
  // expected-error@+1 {{a row of more than a warp has a block of its own}}
  linalg.fill {gpu.plan = #gpu.rows<threads = 128, rows = 2>} ins(%x : f32) outs(%a : memref<8xf32>)
  func.return
}

// -----

func.func @f(%a: memref<8xf32>, %x: f32) {
  // expected-error@+1 {{a block of 2048 threads: the limit is 1024}}
  linalg.fill {gpu.plan = #gpu.rows<threads = 2048>} ins(%x : f32) outs(%a : memref<8xf32>)
  func.return
}

// -----

func.func @f(%a: memref<8xf32>, %x: f32) {
  // expected-error@+1 {{partials is 2, more than unroll, which is 1}}
  linalg.fill {gpu.plan = #gpu.rows<threads = 32, partials = 2>} ins(%x : f32) outs(%a : memref<8xf32>)
  func.return
}

// -----

func.func @f(%a: memref<8xf32>, %x: f32) {
  // expected-error@+1 {{values are kept in registers only where rows are not cut}}
  linalg.fill {gpu.plan = #gpu.rows<threads = 32, keep, part = 8, then = #gpu.rows<threads = 32>>} ins(%x : f32) outs(%a : memref<8xf32>)
  func.return
}

// -----

func.func @f(%a: memref<8xf32>, %x: f32) {
  // expected-error@+1 {{a block of several rows does not cut them}}
  linalg.fill {gpu.plan = #gpu.rows<threads = 8, rows = 4, part = 8, then = #gpu.rows<threads = 32>>} ins(%x : f32) outs(%a : memref<8xf32>)
  func.return
}

// -----

func.func @f(%a: memref<8xf32>, %x: f32) {
  // expected-error@+1 {{the results of parts are combined `then` by an uncut #gpu.rows}}
  linalg.fill {gpu.plan = #gpu.rows<threads = 32, part = 8>} ins(%x : f32) outs(%a : memref<8xf32>)
  func.return
}

// -----

func.func @f(%a: memref<8xf32>, %x: f32) {
  // expected-error@+1 {{nothing is cut into parts}}
  linalg.fill {gpu.plan = #gpu.rows<threads = 32, then = #gpu.rows<threads = 32>>} ins(%x : f32) outs(%a : memref<8xf32>)
  func.return
}

// -----

func.func @f(%a: memref<8xf32>, %x: f32) {
  // expected-error@+1 {{the results of parts are combined `then` by an uncut #gpu.columns}}
  linalg.fill {gpu.plan = #gpu.columns<32x8, part = 8, then = #gpu.rows<threads = 32>>} ins(%x : f32) outs(%a : memref<8xf32>)
  func.return
}

// -----

func.func @f(%a: memref<8xf32>, %x: f32) {
  // expected-error@+1 {{lanes is 24, not a power of two}}
  linalg.fill {gpu.plan = #gpu.columns<24x8>} ins(%x : f32) outs(%a : memref<8xf32>)
  func.return
}

// -----

func.func @f(%a: memref<8xf32>, %x: f32) {
  // expected-error@+1 {{a block of 16 threads is not a multiple of 32}}
  linalg.fill {gpu.plan = #gpu.columns<4x4>} ins(%x : f32) outs(%a : memref<8xf32>)
  func.return
}

// -----

func.func @f(%a: memref<8xf32>, %x: f32) {
  // expected-error@+1 {{a tile has three sizes: m, n and k}}
  linalg.fill {gpu.plan = #gpu.tile<64x64, thread = 4x4>} ins(%x : f32) outs(%a : memref<8xf32>)
  func.return
}

// -----

func.func @f(%a: memref<8xf32>, %x: f32) {
  // expected-error@+1 {{thread has two sizes, of m and of n}}
  linalg.fill {gpu.plan = #gpu.tile<64x64x16, thread = 4>} ins(%x : f32) outs(%a : memref<8xf32>)
  func.return
}

// -----

func.func @f(%a: memref<8xf32>, %x: f32) {
  // expected-error@+1 {{n is 96, not a power of two}}
  linalg.fill {gpu.plan = #gpu.tile<64x96x16, thread = 4x4>} ins(%x : f32) outs(%a : memref<8xf32>)
  func.return
}

// -----

func.func @f(%a: memref<8xf32>, %x: f32) {
  // expected-error@+1 {{a part of 128 is larger than the tile's 64}}
  linalg.fill {gpu.plan = #gpu.tile<64x64x16, thread = 128x4>} ins(%x : f32) outs(%a : memref<8xf32>)
  func.return
}

// -----

func.func @f(%a: memref<8xf32>, %x: f32) {
  // expected-error@+1 {{a block of 4096 threads: the limit is 1024}}
  linalg.fill {gpu.plan = #gpu.tile<256x256x8, thread = 4x4>} ins(%x : f32) outs(%a : memref<8xf32>)
  func.return
}

// -----

func.func @f(%a: memref<8xf32>, %x: f32) {
  // expected-error@+1 {{a warp multiplies 16 rows by 16 columns at least}}
  linalg.fill {gpu.plan = #gpu.tensor_tile<64x64x16, warp = 8x32>} ins(%x : f32) outs(%a : memref<8xf32>)
  func.return
}

// -----

func.func @f(%a: memref<8xf32>, %x: f32) {
  // expected-error@+1 {{fewer than two stages}}
  linalg.fill {gpu.plan = #gpu.tensor_tile<64x64x16, warp = 32x32, stages = 1>} ins(%x : f32) outs(%a : memref<8xf32>)
  func.return
}

// -----

func.func @f(%a: memref<8xf32>, %x: f32) {
  // expected-error@+1 {{tiles that go through registers have two stages}}
  linalg.fill {gpu.plan = #gpu.tensor_tile<64x64x16, warp = 32x32, stages = 3>} ins(%x : f32) outs(%a : memref<8xf32>)
  func.return
}

// -----

func.func @f(%a: memref<8xf32>, %x: f32) {
  // expected-error@+1 {{a chunk of 100 is not whole tiles of 480 elements}}
  linalg.fill {gpu.plan = #gpu.scan_blocks<chunk = 100, elements = 15, threads = 32>} ins(%x : f32) outs(%a : memref<8xf32>)
  func.return
}

// -----

func.func @f(%a: memref<8xf32>, %x: f32) {
  // expected-error@+1 {{a block of 2000 threads: the limit is 1024}}
  linalg.fill {gpu.plan = #gpu.scan_rows<rows = 2000>} ins(%x : f32) outs(%a : memref<8xf32>)
  func.return
}

// -----

func.func @f(%a: memref<8xf32>, %x: f32) {
  // expected-error@+1 {{tile is 100, not a power of two}}
  linalg.fill {gpu.plan = #gpu.sort<tile = 100>} ins(%x : f32) outs(%a : memref<8xf32>)
  func.return
}

// -----

func.func @f(%a: memref<8xf32>, %x: f32) {
  // expected-error@+1 {{a block of 2048 threads: the limit is 1024}}
  linalg.fill {gpu.plan = #gpu.sort<tile = 4096>} ins(%x : f32) outs(%a : memref<8xf32>)
  func.return
}

// -----

func.func @f(%a: memref<8xf32>, %x: f32) {
  // expected-error@+1 {{sort is not a #gpu.sort}}
  linalg.fill {gpu.plan = #gpu.sorted_scatter<sort = #gpu.points>} ins(%x : f32) outs(%a : memref<8xf32>)
  func.return
}

// -----

func.func @f(%a: memref<8xf32>, %x: f32) {
  // expected-error@+1 {{#gpu.rows needs threads}}
  linalg.fill {gpu.plan = #gpu.rows<width = 4>} ins(%x : f32) outs(%a : memref<8xf32>)
  func.return
}

// -----

func.func @f(%a: memref<8xf32>, %x: f32) {
  // expected-error@+1 {{lanes is unknown; the parameters of #gpu.rows are threads, rows}}
  linalg.fill {gpu.plan = #gpu.rows<threads = 4, lanes = 4>} ins(%x : f32) outs(%a : memref<8xf32>)
  func.return
}

// -----

func.func @f(%a: memref<8xf32>, %x: f32) {
  // expected-error@+1 {{threads is given twice; the parameters of #gpu.rows are threads}}
  linalg.fill {gpu.plan = #gpu.rows<threads = 4, threads = 4>} ins(%x : f32) outs(%a : memref<8xf32>)
  func.return
}

// -----

func.func @f(%a: memref<8xf32>, %x: f32) {
  // expected-error@+1 {{sort is not a plan}}
  linalg.fill {gpu.plan = #gpu.sorted_scatter<sort = 4 : i32>} ins(%x : f32) outs(%a : memref<8xf32>)
  func.return
}

// -----

func.func @f(%a: memref<8xf32>, %x: f32) {
  // expected-error@+1 {{a tile has two sides: lanes and groups}}
  linalg.fill {gpu.plan = #gpu.columns<32>} ins(%x : f32) outs(%a : memref<8xf32>)
  func.return
}
