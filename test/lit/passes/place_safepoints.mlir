// RUN: hlo-opt %s --place-safepoints | filecheck %s
// RUN: hlo-opt %s --place-safepoints --place-safepoints | filecheck %s
// RUN: hlo-opt %s --place-safepoints --convert-loops-to-cf --convert-to-llvm | filecheck %s --check-prefix=LLVM

// The loop of the entry asks before each iteration, and not when it ends; the kernel's own loop does not.
// CHECK:       func.func @main(%x: memref<i64>, %arena: memref<64xi8>)
// CHECK:         func.call @test(%x, %c)
// CHECK:         %[[C:[a-z0-9_]+]] = memref.load %c[]
// CHECK-NEXT:    %[[BOTH:[0-9]+]] = scf.if %[[C]] -> (i1) {
// CHECK-NEXT:      %[[GO:[0-9]+]] = cpu.safepoint(%arena : memref<64xi8>)
// CHECK-NEXT:      scf.yield %[[GO]] : i1
// CHECK-NEXT:    } else {
// CHECK-NEXT:      scf.yield %[[C]] : i1
// CHECK-NEXT:    }
// CHECK-NEXT:    scf.condition(%[[BOTH]])
// CHECK-NOT:     cpu.safepoint

// The arena is nobody else's, and a safepoint touches no memory of the program: numbers stay in registers around it.
// LLVM:        llvm.func internal @main(%{{.*}}: !llvm.ptr, %arena: !llvm.ptr {llvm.noalias})
// LLVM:        llvm.cond_br %more, ^[[ASK:bb[0-9]+]], ^[[ENDS:bb[0-9]+]]
// LLVM:        ^[[ASK]]:
// LLVM-NEXT:   %[[ANSWER:[0-9]+]] = llvm.call @xhlo_goes_on(%arena) : (!llvm.ptr) -> i64
// LLVM-NEXT:   %[[GO:[0-9]+]] = llvm.icmp "ne" %[[ANSWER]], %{{[0-9]+}} : i64
// LLVM:        llvm.func @xhlo_goes_on(!llvm.ptr) -> i64 attributes {passthrough = ["nounwind", "willreturn", "memory(inaccessiblemem: readwrite)"]}
builtin.module attributes {xhlo.arena_size = 64 : i64} {
  func.func @main(%x: memref<i64>, %arena: memref<64xi8>) {
    %zero = arith.constant 0 : index
    %c = memref.view %arena[%zero][] : memref<64xi8> to memref<i1>
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
    %one = arith.constant 1 : i64
    %last = scf.while (%i = %n) : (i64) -> i64 {
      %more = arith.cmpi slt, %i, %one : i64
      scf.condition(%more) %i : i64
    } do {
    ^bb0(%i: i64):
      %next = arith.addi %i, %one : i64
      scf.yield %next : i64
    }
    memref.store %last, %x[] : memref<i64>
    func.return
  }
}
