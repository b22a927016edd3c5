// RUN: hlo-opt %s --convert-to-llvm | filecheck %s

// CHECK:       #[[GROUP:.*]] = #llvm.access_group<id = distinct[0]<>>

// CHECK-LABEL: llvm.func internal @kernel(%x: !llvm.ptr {llvm.noalias}, %y: !llvm.ptr {llvm.noalias})
// CHECK-SAME:    passthrough = ["noinline", "nounwind"]
// CHECK:         %[[CONTEXT:.*]] = llvm.alloca {{.*}} x !llvm.struct<(!llvm.ptr, !llvm.ptr)>
// CHECK:         llvm.store %x
// CHECK:         llvm.store %y
// CHECK:         %[[THUNK:.*]] = llvm.mlir.addressof @body.thunk : !llvm.ptr
// CHECK:         llvm.call @xhlo_parallel_for(%[[THUNK]], %[[CONTEXT]], %{{.*}})
func.func private @kernel(%x: memref<64xf32>, %y: memref<64xf32>) attributes {hlo.kernel = "loop"} {
  cpu.parallel_for @body(%x, %y : memref<64xf32>, memref<64xf32>) {count = 4 : i64}
  func.return
}

// The captures are different buffers, so the body's parameters do not alias; its loop needs no check.
// CHECK-LABEL: llvm.func internal @body
// CHECK-SAME:    %{{.*}}: !llvm.ptr {llvm.noalias}, %{{.*}}: !llvm.ptr {llvm.noalias}, %{{.*}}: i64, %{{.*}}: i64
// CHECK:         llvm.load %{{.*}} {access_groups = [#[[GROUP]]]
// CHECK:         llvm.store {{.*}} {access_groups = [#[[GROUP]]]
// CHECK:         llvm.cond_br {{.*}} {loop_annotation = #llvm.loop_annotation<interleave = <count = 2 : i32>, unroll = <count = 4 : i32>, parallelAccesses = #[[GROUP]]>}
func.func private @body(%x: memref<64xf32>, %y: memref<64xf32>, %lo: index, %slot: index)
    attributes {xhlo.parallel_body} {
  %c1 = arith.constant 1 : index
  %c16 = arith.constant 16 : index
  %hi = arith.addi %lo, %c16 : index
  cf.br ^loop(%lo : index)
^loop(%i: index):
  %v = memref.load %x[%i] : memref<64xf32>
  memref.store %v, %y[%i] : memref<64xf32>
  %next = arith.addi %i, %c1 : index
  %more = arith.cmpi slt, %next, %hi : index
  cf.cond_br %more, ^loop(%next : index), ^done {xhlo.parallel, xhlo.interleave = 2 : i64, xhlo.unroll = 4 : i64}
^done:
  func.return
}

// The body is called for each iteration of a range, with its first one as the slot.
// CHECK-LABEL: llvm.func internal @body.thunk
// CHECK-SAME:    (%{{.*}}: !llvm.ptr, %[[LO:[0-9]+]]: i64, %[[HI:[0-9]+]]: i64)
// CHECK-COUNT-2: llvm.load
// CHECK:         %[[SOME:.*]] = llvm.icmp "ult" %[[LO]], %[[HI]]
// CHECK-NEXT:    llvm.cond_br %[[SOME]], ^[[EACH:bb[0-9]+]](%[[LO]] : i64), ^[[END:bb[0-9]+]]
// CHECK:       ^[[EACH]](%[[I:.*]]: i64):
// CHECK-NEXT:    llvm.call @body(%{{.*}}, %{{.*}}, %[[I]], %[[LO]])
// CHECK:         llvm.cond_br %{{.*}}, ^[[EACH]](%{{.*}} : i64), ^[[END]]

// CHECK-LABEL: llvm.func internal @main
func.func @main(%x: memref<64xf32>, %y: memref<64xf32>) {
  func.call @kernel(%x, %y) : (memref<64xf32>, memref<64xf32>) -> ()
  func.return
}

// CHECK-LABEL: llvm.func @xhlo_entry(%{{.*}}: !llvm.ptr)
// CHECK:         %[[X:.*]] = llvm.load
// CHECK:         %[[Y:.*]] = llvm.load
// CHECK:         llvm.call @main(%[[X]], %[[Y]])
