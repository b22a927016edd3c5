// RUN: hlo-opt %s --plan-buffers | filecheck %s
// A buffer is live while any value that may alias it is used, whichever operation carried it there.

// Either of %a and %b is read after %c is written: three buffers of 64 bytes.
// CHECK-LABEL: func.func @select
// CHECK-SAME:    memref<192xi8>
func.func @select(%x: memref<16xf32>, %out: memref<16xf32>, %p: i1) {
  %a = memref.alloc() : memref<16xf32>
  func.call @k(%x, %a) : (memref<16xf32>, memref<16xf32>) -> ()
  %b = memref.alloc() : memref<16xf32>
  func.call @k(%x, %b) : (memref<16xf32>, memref<16xf32>) -> ()
  %either = arith.select %p, %a, %b : memref<16xf32>
  %c = memref.alloc() : memref<16xf32>
  func.call @k(%x, %c) : (memref<16xf32>, memref<16xf32>) -> ()
  func.call @k(%either, %out) : (memref<16xf32>, memref<16xf32>) -> ()
  func.return
}

// A branch yields %a, and the other its own %b: both outlive the branches, and %c must avoid both.
// CHECK-LABEL: func.func @if
// CHECK-SAME:    memref<192xi8>
func.func @if(%x: memref<16xf32>, %out: memref<16xf32>, %p: i1) {
  %a = memref.alloc() : memref<16xf32>
  func.call @k(%x, %a) : (memref<16xf32>, memref<16xf32>) -> ()
  %either = scf.if %p -> (memref<16xf32>) {
    scf.yield %a : memref<16xf32>
  } else {
    %b = memref.alloc() : memref<16xf32>
    func.call @k(%x, %b) : (memref<16xf32>, memref<16xf32>) -> ()
    scf.yield %b : memref<16xf32>
  }
  %c = memref.alloc() : memref<16xf32>
  func.call @k(%x, %c) : (memref<16xf32>, memref<16xf32>) -> ()
  func.call @k(%either, %out) : (memref<16xf32>, memref<16xf32>) -> ()
  func.return
}

// A loop that exchanges its two buffers; its result is one of them.
// CHECK-LABEL: func.func @while
// CHECK-SAME:    memref<192xi8>
func.func @while(%x: memref<16xf32>, %out: memref<16xf32>) {
  %a = memref.alloc() : memref<16xf32>
  %b = memref.alloc() : memref<16xf32>
  func.call @k(%x, %a) : (memref<16xf32>, memref<16xf32>) -> ()
  %r:2 = scf.while (%u = %a, %v = %b) : (memref<16xf32>, memref<16xf32>) -> (memref<16xf32>, memref<16xf32>) {
    %more = func.call @more(%u) : (memref<16xf32>) -> i1
    scf.condition(%more) %u, %v : memref<16xf32>, memref<16xf32>
  } do {
  ^bb0(%u: memref<16xf32>, %v: memref<16xf32>):
    func.call @k(%u, %v) : (memref<16xf32>, memref<16xf32>) -> ()
    scf.yield %v, %u : memref<16xf32>, memref<16xf32>
  }
  %c = memref.alloc() : memref<16xf32>
  func.call @k(%x, %c) : (memref<16xf32>, memref<16xf32>) -> ()
  func.call @k(%r#0, %out) : (memref<16xf32>, memref<16xf32>) -> ()
  func.return
}

// A function may return one of its arguments.
// CHECK-LABEL: func.func @call
// CHECK-SAME:    memref<128xi8>
func.func @call(%x: memref<16xf32>, %out: memref<16xf32>) {
  %a = memref.alloc() : memref<16xf32>
  %same = func.call @identity(%a) : (memref<16xf32>) -> memref<16xf32>
  %b = memref.alloc() : memref<16xf32>
  func.call @k(%x, %b) : (memref<16xf32>, memref<16xf32>) -> ()
  func.call @k(%same, %out) : (memref<16xf32>, memref<16xf32>) -> ()
  func.return
}

func.func private @k(memref<16xf32>, memref<16xf32>)
func.func private @more(memref<16xf32>) -> i1
func.func private @identity(memref<16xf32>) -> memref<16xf32>
