// RUN: hlo-opt %s --place-safepoints | filecheck %s
// RUN: hlo-opt %s --place-safepoints --place-safepoints | filecheck %s

// A program without intermediate buffers has an arena of no bytes, and no address. Its runs need a name to be stopped.
// CHECK:       builtin.module attributes {xhlo.arena_size = 64 : i64} {
// CHECK-NEXT:    func.func @main(%x: memref<i64>, %c: memref<i1>, %arena: memref<64xi8>) {
// CHECK:           cpu.safepoint(%arena : memref<64xi8>)
// CHECK-NOT:       cpu.safepoint
builtin.module attributes {xhlo.arena_size = 0 : i64} {
  func.func @main(%x: memref<i64>, %c: memref<i1>, %arena: memref<0xi8>) {
    scf.while () : () -> () {
      func.call @test(%x, %c) : (memref<i64>, memref<i1>) -> ()
      %more = memref.load %c[] : memref<i1>
      scf.condition(%more)
    } do {
      scf.yield
    }
    func.return
  }

  func.func private @test(%x: memref<i64>, %c: memref<i1>) attributes {hlo.kernel = "loop"} {
    %n = memref.load %x[] : memref<i64>
    %zero = arith.constant 0 : i64
    %more = arith.cmpi ne, %n, %zero : i64
    memref.store %more, %c[] : memref<i1>
    func.return
  }
}
