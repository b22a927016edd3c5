// RUN: hlo-opt %s --plan-buffers --verify-diagnostics --split-input-file

// One buffer would hold both the result of the last iteration and that of this one.
func.func @carried(%x: memref<16xf32>, %out: memref<16xf32>) {
  %r = scf.while (%u = %x) : (memref<16xf32>) -> memref<16xf32> {
    %more = func.call @more(%u) : (memref<16xf32>) -> i1
    scf.condition(%more) %u : memref<16xf32>
  } do {
  ^bb0(%u: memref<16xf32>):
    // expected-error@+1 {{is carried from one iteration of 'scf.while' to the next: plan-buffers gives the buffers of all iterations one place}}
    %b = memref.alloc() : memref<16xf32>
    func.call @k(%u, %b) : (memref<16xf32>, memref<16xf32>) -> ()
    scf.yield %b : memref<16xf32>
  }
  func.call @k(%r, %out) : (memref<16xf32>, memref<16xf32>) -> ()
  func.return
}

func.func private @k(memref<16xf32>, memref<16xf32>)
func.func private @more(memref<16xf32>) -> i1

// -----

func.func @main(%x: memref<16xf32>) {
  // expected-error@+1 {{calls a host function, which has an arena of its own: plan-buffers comes after inline}}
  func.call @inner(%x) : (memref<16xf32>) -> ()
  func.return
}

func.func private @inner(%x: memref<16xf32>) {
  func.return
}

// -----

// Where the arena is planned already, nothing is left to do; a buffer that somebody added has no place in it.
builtin.module attributes {xhlo.arena_size = 64 : i64} {
  func.func @main(%arena: memref<64xi8>) {
    // expected-error@+1 {{'memref.alloc' op is new in a module whose buffers are planned}}
    %0 = memref.alloc() : memref<4xf32>
    return
  }
}
