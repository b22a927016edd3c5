// RUN: hlo-opt %s --map-kernels-to-gpu --split-input-file --verify-diagnostics

// Only what nobody writes has a copy in shared memory.

#i = affine_map<(i) -> (i)>
#none = affine_map<() -> ()>

func.func private @recurrence(%h0: memref<64xf32>, %w: memref<64x64xf32>, %0: memref<64xf32>) attributes {hlo.kernel = "while"} {
  %go = memref.alloc() : memref<i1>
  %i = memref.alloc() : memref<i32>
  %h = memref.alloc() : memref<64xf32>
  %g = memref.alloc() : memref<64xf32>
  %zero = arith.constant 0 : i32
  // expected-error@+1 {{#gpu.block<threads = 32, shared = [2]> does not fit: buffer 2 is none that is allocated here or only read}}
  linalg.fill {gpu.plan = #gpu.block<threads = 32, shared = [2]>} ins(%zero : i32) outs(%i : memref<i32>)
  "memref.copy"(%h0, %h) {gpu.joined} : (memref<64xf32>, memref<64xf32>) -> ()
  scf.while () : () -> () {
    linalg.generic {indexing_maps = [#none, #none], iterator_types = []} ins(%i : memref<i32>) outs(%go : memref<i1>) {
    ^bb(%n: i32, %z: i1):
      %most = arith.constant 20 : i32
      %less = arith.cmpi slt, %n, %most : i32
      linalg.yield %less : i1
    }
    %c = memref.load %go[] : memref<i1>
    scf.condition(%c)
  } do {
    %none = arith.constant 0.0 : f32
    linalg.fill ins(%none : f32) outs(%g : memref<64xf32>)
    linalg.generic {indexing_maps = [affine_map<(j, k) -> (k)>, affine_map<(j, k) -> (k, j)>, affine_map<(j, k) -> (j)>], iterator_types = ["parallel", "reduction"]} ins(%h, %w : memref<64xf32>, memref<64x64xf32>) outs(%g : memref<64xf32>) attrs = {xhlo.contraction} {
    ^bb(%a: f32, %b: f32, %s: f32):
      %p = arith.mulf %a, %b : f32
      %q = arith.addf %s, %p : f32
      linalg.yield %q : f32
    }
    linalg.generic {indexing_maps = [#i, #i], iterator_types = ["parallel"]} ins(%g : memref<64xf32>) outs(%h : memref<64xf32>) {
    ^bb(%a: f32, %z: f32):
      %t = math.tanh %a : f32
      linalg.yield %t : f32
    }
    linalg.generic {indexing_maps = [#none], iterator_types = []} outs(%i : memref<i32>) {
    ^bb(%n: i32):
      %one = arith.constant 1 : i32
      %m = arith.addi %n, %one : i32
      linalg.yield %m : i32
    }
    scf.yield
  } attributes {gpu.joined, xhlo.trip_count = 20 : i64}
  "memref.copy"(%h, %0) {gpu.joined} : (memref<64xf32>, memref<64xf32>) -> ()
  func.return
}

// -----

#i = affine_map<(i) -> (i)>
#none = affine_map<() -> ()>

func.func private @recurrence(%h0: memref<64xf32>, %w: memref<64x64xf32>, %0: memref<64xf32>) attributes {hlo.kernel = "while"} {
  %go = memref.alloc() : memref<i1>
  %i = memref.alloc() : memref<i32>
  %h = memref.alloc() : memref<64xf32>
  %g = memref.alloc() : memref<64xf32>
  %zero = arith.constant 0 : i32
  // expected-error@+1 {{buffer 7 is none that is allocated here or only read}}
  linalg.fill {gpu.plan = #gpu.block<threads = 32, shared = [7]>} ins(%zero : i32) outs(%i : memref<i32>)
  "memref.copy"(%h0, %h) {gpu.joined} : (memref<64xf32>, memref<64xf32>) -> ()
  scf.while () : () -> () {
    linalg.generic {indexing_maps = [#none, #none], iterator_types = []} ins(%i : memref<i32>) outs(%go : memref<i1>) {
    ^bb(%n: i32, %z: i1):
      %most = arith.constant 20 : i32
      %less = arith.cmpi slt, %n, %most : i32
      linalg.yield %less : i1
    }
    %c = memref.load %go[] : memref<i1>
    scf.condition(%c)
  } do {
    %none = arith.constant 0.0 : f32
    linalg.fill ins(%none : f32) outs(%g : memref<64xf32>)
    linalg.generic {indexing_maps = [affine_map<(j, k) -> (k)>, affine_map<(j, k) -> (k, j)>, affine_map<(j, k) -> (j)>], iterator_types = ["parallel", "reduction"]} ins(%h, %w : memref<64xf32>, memref<64x64xf32>) outs(%g : memref<64xf32>) attrs = {xhlo.contraction} {
    ^bb(%a: f32, %b: f32, %s: f32):
      %p = arith.mulf %a, %b : f32
      %q = arith.addf %s, %p : f32
      linalg.yield %q : f32
    }
    linalg.generic {indexing_maps = [#i, #i], iterator_types = ["parallel"]} ins(%g : memref<64xf32>) outs(%h : memref<64xf32>) {
    ^bb(%a: f32, %z: f32):
      %t = math.tanh %a : f32
      linalg.yield %t : f32
    }
    linalg.generic {indexing_maps = [#none], iterator_types = []} outs(%i : memref<i32>) {
    ^bb(%n: i32):
      %one = arith.constant 1 : i32
      %m = arith.addi %n, %one : i32
      linalg.yield %m : i32
    }
    scf.yield
  } attributes {gpu.joined, xhlo.trip_count = 20 : i64}
  "memref.copy"(%h, %0) {gpu.joined} : (memref<64xf32>, memref<64xf32>) -> ()
  func.return
}

// -----

// Every thread has a counter of its own.

#i = affine_map<(i) -> (i)>
#none = affine_map<() -> ()>

func.func private @recurrence(%h0: memref<64xf32>, %w: memref<64x64xf32>, %0: memref<64xf32>) attributes {hlo.kernel = "while"} {
  %go = memref.alloc() : memref<i1>
  %i = memref.alloc() : memref<i32>
  %h = memref.alloc() : memref<64xf32>
  %g = memref.alloc() : memref<64xf32>
  %zero = arith.constant 0 : i32
  // expected-error@+1 {{buffer 4 is none that is allocated here or only read}}
  linalg.fill {gpu.plan = #gpu.block<threads = 32, shared = [4]>} ins(%zero : i32) outs(%i : memref<i32>)
  "memref.copy"(%h0, %h) {gpu.joined} : (memref<64xf32>, memref<64xf32>) -> ()
  scf.while () : () -> () {
    linalg.generic {indexing_maps = [#none, #none], iterator_types = []} ins(%i : memref<i32>) outs(%go : memref<i1>) {
    ^bb(%n: i32, %z: i1):
      %most = arith.constant 20 : i32
      %less = arith.cmpi slt, %n, %most : i32
      linalg.yield %less : i1
    }
    %c = memref.load %go[] : memref<i1>
    scf.condition(%c)
  } do {
    %none = arith.constant 0.0 : f32
    linalg.fill ins(%none : f32) outs(%g : memref<64xf32>)
    linalg.generic {indexing_maps = [affine_map<(j, k) -> (k)>, affine_map<(j, k) -> (k, j)>, affine_map<(j, k) -> (j)>], iterator_types = ["parallel", "reduction"]} ins(%h, %w : memref<64xf32>, memref<64x64xf32>) outs(%g : memref<64xf32>) attrs = {xhlo.contraction} {
    ^bb(%a: f32, %b: f32, %s: f32):
      %p = arith.mulf %a, %b : f32
      %q = arith.addf %s, %p : f32
      linalg.yield %q : f32
    }
    linalg.generic {indexing_maps = [#i, #i], iterator_types = ["parallel"]} ins(%g : memref<64xf32>) outs(%h : memref<64xf32>) {
    ^bb(%a: f32, %z: f32):
      %t = math.tanh %a : f32
      linalg.yield %t : f32
    }
    linalg.generic {indexing_maps = [#none], iterator_types = []} outs(%i : memref<i32>) {
    ^bb(%n: i32):
      %one = arith.constant 1 : i32
      %m = arith.addi %n, %one : i32
      linalg.yield %m : i32
    }
    scf.yield
  } attributes {gpu.joined, xhlo.trip_count = 20 : i64}
  "memref.copy"(%h, %0) {gpu.joined} : (memref<64xf32>, memref<64xf32>) -> ()
  func.return
}

// -----

#i = affine_map<(i) -> (i)>
#none = affine_map<() -> ()>

func.func private @recurrence(%h0: memref<256xf32>, %w: memref<256x256xf32>, %0: memref<256xf32>) attributes {hlo.kernel = "while"} {
  %go = memref.alloc() : memref<i1>
  %i = memref.alloc() : memref<i32>
  %h = memref.alloc() : memref<256xf32>
  %g = memref.alloc() : memref<256xf32>
  %zero = arith.constant 0 : i32
  // expected-error@+1 {{262144 bytes of shared memory; a block of sm_90 has 232448}}
  linalg.fill {gpu.plan = #gpu.block<threads = 32, shared = [1]>} ins(%zero : i32) outs(%i : memref<i32>)
  "memref.copy"(%h0, %h) {gpu.joined} : (memref<256xf32>, memref<256xf32>) -> ()
  scf.while () : () -> () {
    linalg.generic {indexing_maps = [#none, #none], iterator_types = []} ins(%i : memref<i32>) outs(%go : memref<i1>) {
    ^bb(%n: i32, %z: i1):
      %most = arith.constant 20 : i32
      %less = arith.cmpi slt, %n, %most : i32
      linalg.yield %less : i1
    }
    %c = memref.load %go[] : memref<i1>
    scf.condition(%c)
  } do {
    %none = arith.constant 0.0 : f32
    linalg.fill ins(%none : f32) outs(%g : memref<256xf32>)
    linalg.generic {indexing_maps = [affine_map<(j, k) -> (k)>, affine_map<(j, k) -> (k, j)>, affine_map<(j, k) -> (j)>], iterator_types = ["parallel", "reduction"]} ins(%h, %w : memref<256xf32>, memref<256x256xf32>) outs(%g : memref<256xf32>) attrs = {xhlo.contraction} {
    ^bb(%a: f32, %b: f32, %s: f32):
      %p = arith.mulf %a, %b : f32
      %q = arith.addf %s, %p : f32
      linalg.yield %q : f32
    }
    linalg.generic {indexing_maps = [#i, #i], iterator_types = ["parallel"]} ins(%g : memref<256xf32>) outs(%h : memref<256xf32>) {
    ^bb(%a: f32, %z: f32):
      %t = math.tanh %a : f32
      linalg.yield %t : f32
    }
    linalg.generic {indexing_maps = [#none], iterator_types = []} outs(%i : memref<i32>) {
    ^bb(%n: i32):
      %one = arith.constant 1 : i32
      %m = arith.addi %n, %one : i32
      linalg.yield %m : i32
    }
    scf.yield
  } attributes {gpu.joined, xhlo.trip_count = 20 : i256}
  "memref.copy"(%h, %0) {gpu.joined} : (memref<256xf32>, memref<256xf32>) -> ()
  func.return
}

// -----

#i = affine_map<(i) -> (i)>
#none = affine_map<() -> ()>

func.func private @recurrence(%h0: memref<64xf32>, %w: memref<64x64xf32>, %0: memref<64xf32>) attributes {hlo.kernel = "while"} {
  %go = memref.alloc() : memref<i1>
  %i = memref.alloc() : memref<i32>
  %h = memref.alloc() : memref<64xf32>
  %g = memref.alloc() : memref<64xf32>
  %zero = arith.constant 0 : i32
  // expected-error@+1 {{a parallel loop is around all operations, and of known length}}
  linalg.fill {gpu.plan = #gpu.block<threads = 32>} ins(%zero : i32) outs(%i : memref<i32>)
  "memref.copy"(%h0, %h) {gpu.joined} : (memref<64xf32>, memref<64xf32>) -> ()
  scf.while () : () -> () {
    linalg.generic {indexing_maps = [#none, #none], iterator_types = []} ins(%i : memref<i32>) outs(%go : memref<i1>) {
    ^bb(%n: i32, %z: i1):
      %most = arith.constant 20 : i32
      %less = arith.cmpi slt, %n, %most : i32
      linalg.yield %less : i1
    }
    %c = memref.load %go[] : memref<i1>
    scf.condition(%c)
  } do {
    %none = arith.constant 0.0 : f32
    %from = arith.constant 0 : index
    %to = arith.constant 4 : index
    %by = arith.constant 1 : index
    "scf.parallel"(%from, %to, %by) <{operandSegmentSizes = array<i32: 1, 1, 1, 0>}> ({
    ^bb(%k: index):
      linalg.fill ins(%none : f32) outs(%g : memref<64xf32>)
      scf.reduce
    }) : (index, index, index) -> ()
    linalg.fill ins(%none : f32) outs(%g : memref<64xf32>)
    linalg.generic {indexing_maps = [affine_map<(j, k) -> (k)>, affine_map<(j, k) -> (k, j)>, affine_map<(j, k) -> (j)>], iterator_types = ["parallel", "reduction"]} ins(%h, %w : memref<64xf32>, memref<64x64xf32>) outs(%g : memref<64xf32>) attrs = {xhlo.contraction} {
    ^bb(%a: f32, %b: f32, %s: f32):
      %p = arith.mulf %a, %b : f32
      %q = arith.addf %s, %p : f32
      linalg.yield %q : f32
    }
    linalg.generic {indexing_maps = [#i, #i], iterator_types = ["parallel"]} ins(%g : memref<64xf32>) outs(%h : memref<64xf32>) {
    ^bb(%a: f32, %z: f32):
      %t = math.tanh %a : f32
      linalg.yield %t : f32
    }
    linalg.generic {indexing_maps = [#none], iterator_types = []} outs(%i : memref<i32>) {
    ^bb(%n: i32):
      %one = arith.constant 1 : i32
      %m = arith.addi %n, %one : i32
      linalg.yield %m : i32
    }
    scf.yield
  } attributes {gpu.joined, xhlo.trip_count = 20 : i64}
  "memref.copy"(%h, %0) {gpu.joined} : (memref<64xf32>, memref<64xf32>) -> ()
  func.return
}

// -----

#i = affine_map<(i) -> (i)>
#none = affine_map<() -> ()>

func.func private @recurrence(%h0: memref<64xf32>, %w: memref<64x64xf32>, %0: memref<64xf32>) attributes {hlo.kernel = "while"} {
  %go = memref.alloc() : memref<i1>
  %i = memref.alloc() : memref<i32>
  %h = memref.alloc() : memref<64xf32>
  %g = memref.alloc() : memref<64xf32>
  %zero = arith.constant 0 : i32
  // expected-error@+1 {{#gpu.block<threads = 32, shared = [1]> does not fit: a block runs all operations of a kernel}}
  linalg.fill {gpu.plan = #gpu.block<threads = 32, shared = [1]>} ins(%zero : i32) outs(%i : memref<i32>)
  "memref.copy"(%h0, %h) {gpu.joined} : (memref<64xf32>, memref<64xf32>) -> ()
  scf.while () : () -> () {
    linalg.generic {indexing_maps = [#none, #none], iterator_types = []} ins(%i : memref<i32>) outs(%go : memref<i1>) {
    ^bb(%n: i32, %z: i1):
      %most = arith.constant 20 : i32
      %less = arith.cmpi slt, %n, %most : i32
      linalg.yield %less : i1
    }
    %c = memref.load %go[] : memref<i1>
    scf.condition(%c)
  } do {
    %none = arith.constant 0.0 : f32
    linalg.fill ins(%none : f32) outs(%g : memref<64xf32>)
    linalg.generic {indexing_maps = [affine_map<(j, k) -> (k)>, affine_map<(j, k) -> (k, j)>, affine_map<(j, k) -> (j)>], iterator_types = ["parallel", "reduction"]} ins(%h, %w : memref<64xf32>, memref<64x64xf32>) outs(%g : memref<64xf32>) attrs = {xhlo.contraction} {
    ^bb(%a: f32, %b: f32, %s: f32):
      %p = arith.mulf %a, %b : f32
      %q = arith.addf %s, %p : f32
      linalg.yield %q : f32
    }
    linalg.generic {indexing_maps = [#i, #i], iterator_types = ["parallel"]} ins(%g : memref<64xf32>) outs(%h : memref<64xf32>) {
    ^bb(%a: f32, %z: f32):
      %t = math.tanh %a : f32
      linalg.yield %t : f32
    }
    linalg.generic {indexing_maps = [#none], iterator_types = []} outs(%i : memref<i32>) {
    ^bb(%n: i32):
      %one = arith.constant 1 : i32
      %m = arith.addi %n, %one : i32
      linalg.yield %m : i32
    }
    scf.yield
  } attributes {gpu.joined, xhlo.trip_count = 20 : i64}
  "memref.copy"(%h, %0) {gpu.plan = #gpu.elementwise} : (memref<64xf32>, memref<64xf32>) -> ()
  func.return
}

// -----

#i = affine_map<(i) -> (i)>
#none = affine_map<() -> ()>

func.func private @stack(%s: memref<64xf32>) attributes {hlo.kernel = "while"} {
  %i = memref.alloc() : memref<i32>
  %zero = arith.constant 0 : i32
  // expected-error@+1 {{memref.alloca is not for a block}}
  linalg.fill {gpu.plan = #gpu.block<threads = 32>} ins(%zero : i32) outs(%i : memref<i32>)
  scf.while () : () -> () {
    %n = memref.load %i[] : memref<i32>
    %most = arith.constant 20 : i32
    %less = arith.cmpi slt, %n, %most : i32
    scf.condition(%less)
  } do {
    // Each thread would have an array of its own, of which it writes a part.
    %own = memref.alloca() : memref<64xf32>
    "memref.copy"(%s, %own) : (memref<64xf32>, memref<64xf32>) -> ()
    linalg.generic {indexing_maps = [#none], iterator_types = []} outs(%i : memref<i32>) {
    ^bb(%n: i32):
      %one = arith.constant 1 : i32
      %m = arith.addi %n, %one : i32
      linalg.yield %m : i32
    }
    scf.yield
  } attributes {gpu.joined, xhlo.trip_count = 20 : i64}
  func.return
}

// -----

#i = affine_map<(i) -> (i)>
#none = affine_map<() -> ()>

func.func private @atomic(%s: memref<64xf32>) attributes {hlo.kernel = "while"} {
  %i = memref.alloc() : memref<i32>
  %zero = arith.constant 0 : i32
  // expected-error@+1 {{memref.atomic_rmw is not for a block}}
  linalg.fill {gpu.plan = #gpu.block<threads = 32>} ins(%zero : i32) outs(%i : memref<i32>)
  scf.while () : () -> () {
    %n = memref.load %i[] : memref<i32>
    %most = arith.constant 20 : i32
    %less = arith.cmpi slt, %n, %most : i32
    scf.condition(%less)
  } do {
    %c0 = arith.constant 0 : index
    %more = arith.constant 1.0 : f32
    %old = "memref.atomic_rmw"(%more, %s, %c0) <{kind = 0 : i64}> : (f32, memref<64xf32>, index) -> f32
    linalg.generic {indexing_maps = [#none], iterator_types = []} outs(%i : memref<i32>) {
    ^bb(%n: i32):
      %one = arith.constant 1 : i32
      %m = arith.addi %n, %one : i32
      linalg.yield %m : i32
    }
    scf.yield
  } attributes {gpu.joined, xhlo.trip_count = 20 : i64}
  func.return
}

// -----

#i = affine_map<(i) -> (i)>
#none = affine_map<() -> ()>

func.func private @plans_inside(%s: memref<64xf32>) attributes {hlo.kernel = "while"} {
  %i = memref.alloc() : memref<i32>
  %zero = arith.constant 0 : i32
  // expected-error@+1 {{linalg.generic, which the block runs, has a plan of its own}}
  linalg.fill {gpu.plan = #gpu.block<threads = 32>} ins(%zero : i32) outs(%i : memref<i32>)
  scf.while () : () -> () {
    %n = memref.load %i[] : memref<i32>
    %most = arith.constant 20 : i32
    %less = arith.cmpi slt, %n, %most : i32
    scf.condition(%less)
  } do {
    linalg.generic {indexing_maps = [#i], iterator_types = ["parallel"]} outs(%s : memref<64xf32>) attrs = {gpu.plan = #gpu.elementwise} {
    ^bb(%a: f32):
      %b = arith.addf %a, %a : f32
      linalg.yield %b : f32
    }
    linalg.generic {indexing_maps = [#none], iterator_types = []} outs(%i : memref<i32>) {
    ^bb(%n: i32):
      %one = arith.constant 1 : i32
      %m = arith.addi %n, %one : i32
      linalg.yield %m : i32
    }
    scf.yield
  } attributes {gpu.joined, xhlo.trip_count = 20 : i64}
  func.return
}
