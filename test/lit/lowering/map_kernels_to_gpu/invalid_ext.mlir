// RUN: hlo-opt %s --map-kernels-to-gpu --split-input-file --verify-diagnostics
// Plans that do not fit their operation: sorts, scans and scatters; operations without a plan.

func.func private @k(%x: memref<99x99xf32>, %i: memref<99x1xi32>, %z: f32, %y: memref<99x99xf32>) attributes {hlo.kernel = "loop"} {
  // expected-error@+1 {{the scanned dimension is not the last}}
  linalg_ext.scan {gpu.plan = #gpu.scan_blocks<chunk = 480, elements = 15, threads = 32>, dimension = 0 : i64, reverse = false} ins(%x, %z : memref<99x99xf32>, f32) outs(%y : memref<99x99xf32>) ({
  ^bb0(%a: f32, %b: f32):
    %s = arith.addf %a, %b : f32
    linalg.yield %s : f32
  })
  func.return
}

// -----

func.func private @k(%x: memref<99x99xf32>, %i: memref<99x1xi32>, %z: f32, %y: memref<99x99xf32>) attributes {hlo.kernel = "loop"} {
  // expected-error@+1 {{the scanned dimension is not the last}}
  linalg_ext.scan {gpu.plan = #gpu.scan_rows<rows = 32>, dimension = 0 : i64, reverse = false} ins(%x, %z : memref<99x99xf32>, f32) outs(%y : memref<99x99xf32>) ({
  ^bb0(%a: f32, %b: f32):
    %s = arith.addf %a, %b : f32
    linalg.yield %s : f32
  })
  func.return
}

// -----

func.func private @k(%x: memref<99x99xf32>, %i: memref<99x1xi32>, %z: f32, %y: memref<99x99xf32>) attributes {hlo.kernel = "loop"} {
  // expected-error@+1 {{405504 bytes of shared memory; a block of sm_90 has 232448}}
  linalg_ext.scan {gpu.plan = #gpu.scan_rows<rows = 1024>, dimension = 1 : i64, reverse = false} ins(%x, %z : memref<99x99xf32>, f32) outs(%y : memref<99x99xf32>) ({
  ^bb0(%a: f32, %b: f32):
    %s = arith.addf %a, %b : f32
    linalg.yield %s : f32
  })
  func.return
}

// -----

func.func private @k(%x: memref<99x99xf32>, %i: memref<99x1xi32>, %z: f32, %y: memref<99x99xf32>) attributes {hlo.kernel = "loop"} {
  // expected-error@+1 {{it is the plan of another operation}}
  linalg_ext.scan {gpu.plan = #gpu.sort<tile = 64>, dimension = 1 : i64, reverse = false} ins(%x, %z : memref<99x99xf32>, f32) outs(%y : memref<99x99xf32>) ({
  ^bb0(%a: f32, %b: f32):
    %s = arith.addf %a, %b : f32
    linalg.yield %s : f32
  })
  func.return
}

// -----

func.func private @k(%x: memref<99x99xf32>, %i: memref<99x1xi32>, %z: f32, %y: memref<99x99xf32>) attributes {hlo.kernel = "loop"} {
  // expected-error@+1 {{sorts, scans and scatters have plans of their own}}
  linalg_ext.scan {gpu.plan = #gpu.serial, dimension = 1 : i64, reverse = false} ins(%x, %z : memref<99x99xf32>, f32) outs(%y : memref<99x99xf32>) ({
  ^bb0(%a: f32, %b: f32):
    %s = arith.addf %a, %b : f32
    linalg.yield %s : f32
  })
  func.return
}

// -----

func.func private @k(%x: memref<99x99xf32>, %i: memref<99x1xi32>, %z: f32, %y: memref<99x99xf32>) attributes {hlo.kernel = "loop"} {
  // expected-error@+1 {{rows of 99 have several tiles each}}
  linalg_ext.sort_by_key {gpu.plan = #gpu.sort<tile = 32, rows = 4>, dimension = 1 : i64} outs(%y : memref<99x99xf32>) ({
  ^bb0(%a: f32):
    %k = arith.bitcast %a : f32 to i32
    linalg.yield %k : i32
  })
  func.return
}

// -----

func.func private @k(%x: memref<99x99xf32>, %i: memref<99x1xi32>, %z: f32, %y: memref<99x99xf32>) attributes {hlo.kernel = "loop"} {
  // expected-error@+1 {{two updates may meet in one place; #gpu.sorted_scatter orders them}}
  linalg_ext.scatter {gpu.plan = #gpu.points, window = array<i64: 1>, inserted = array<i64: 0>, batching = array<i64>, index_batching = array<i64>, index_map = array<i64: 0>, vector_dim = 1 : i64, is_unsigned = false, is_unique = false} ins(%i, %x : memref<99x1xi32>, memref<99x99xf32>) outs(%y : memref<99x99xf32>) ({
  ^bb0(%a: f32, %b: f32):
    %s = arith.addf %a, %b : f32
    linalg.yield %s : f32
  })
  func.return
}

// -----

func.func private @k(%a: memref<8xf32>, %o: memref<8xf32>) attributes {hlo.kernel = "loop"} {
  // expected-error@+1 {{'memref.copy' op has no plan; plan-gpu-kernels writes plans, map-kernels-to-gpu reads them}}
  "memref.copy"(%a, %o) : (memref<8xf32>, memref<8xf32>) -> ()
  func.return
}

// -----

func.func private @k(%a: memref<8xf32>, %o: memref<8xf32>) attributes {hlo.kernel = "loop"} {
  // expected-error@+1 {{joins a launch, but no operation before it has a plan}}
  "memref.copy"(%a, %o) {gpu.joined} : (memref<8xf32>, memref<8xf32>) -> ()
  func.return
}

// -----

func.func private @k(%y: memref<99x99xf32>) attributes {hlo.kernel = "loop"} {
  // expected-error@+1 {{#gpu.none does not fit: the operation works on elements}}
  linalg_ext.sort_by_key {gpu.plan = #gpu.none, dimension = 1 : i64} outs(%y : memref<99x99xf32>) ({
  ^bb0(%a: f32):
    %k = arith.bitcast %a : f32 to i32
    linalg.yield %k : i32
  })
  func.return
}

// -----

func.func private @k(%a: memref<8xf32>, %o: memref<8xf32>, %p: memref<8xf32>) attributes {hlo.kernel = "loop"} {
  // expected-error@+1 {{#gpu.serial does not fit: operations that join it have plans of their own}}
  "memref.copy"(%a, %o) {gpu.plan = #gpu.serial} : (memref<8xf32>, memref<8xf32>) -> ()
  "memref.copy"(%a, %p) {gpu.plan = #gpu.elementwise, gpu.joined} : (memref<8xf32>, memref<8xf32>) -> ()
  func.return
}

// -----

func.func private @k(%a: memref<8xf32>, %o: memref<8xf32>) attributes {hlo.kernel = "loop"} {
  // expected-error@+1 {{gpu.plan is "fast", not a plan such as #gpu.elementwise}}
  "memref.copy"(%a, %o) {gpu.plan = "fast"} : (memref<8xf32>, memref<8xf32>) -> ()
  func.return
}
