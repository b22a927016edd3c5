// With sixteen registers a micro-kernel of floats takes four steps along k in an iteration and leaves packed panels to
// the processor's own prefetches: fewer instructions for the same multiply-adds. Elements of A are read in their order,
// since LLVM would read one of the last step first. Sums of integers, which LLVM would add
// in another order, and 32 registers take one step, and ask for what comes.
// RUN: hlo-opt %s --convert-contractions-to-vector='vector-bits=256' | filecheck %s
// RUN: hlo-opt %s --convert-contractions-to-vector='vector-bits=512' | filecheck %s --check-prefix=WIDE

#a = affine_map<(i, j, k) -> (i, k)>
#b = affine_map<(i, j, k) -> (k, j)>
#c = affine_map<(i, j, k) -> (i, j)>

// CHECK-LABEL: func.func private @floats_block(
// CHECK:         %{{.*}}:12 = scf.for
// CHECK-NOT:       cpu.prefetch
// CHECK-COUNT-2:   vector.load
// CHECK-NEXT:      llvm.fence syncscope("singlethread") acq_rel
// CHECK:           vector.fma
// CHECK-NEXT:      vector.fma
// CHECK-NEXT:      llvm.fence syncscope("singlethread") acq_rel
// CHECK-COUNT-10:  vector.fma
// CHECK-NOT:       llvm.fence
// CHECK:         } {xhlo.unroll = 4 : i64}
// WIDE-LABEL:  func.func private @floats_block(
// WIDE:          scf.for
// WIDE:            cpu.prefetch
// WIDE:            vector.fma
// WIDE-NOT:      {{xhlo.unroll|llvm.fence}}
// WIDE:          func.return
func.func private @floats(%a: memref<512x512xf32>, %b: memref<512x512xf32>, %c: memref<512x512xf32>) attributes {hlo.kernel = "dot"} {
  %zero = arith.constant 0.0 : f32
  linalg.fill ins(%zero : f32) outs(%c : memref<512x512xf32>)
  linalg.generic {indexing_maps = [#a, #b, #c], iterator_types = ["parallel", "parallel", "reduction"]} ins(%a, %b : memref<512x512xf32>, memref<512x512xf32>) outs(%c : memref<512x512xf32>) attrs = {xhlo.contraction} {
  ^bb0(%x: f32, %y: f32, %acc: f32):
    %p = arith.mulf %x, %y : f32
    %s = arith.addf %acc, %p : f32
    linalg.yield %s : f32
  }
  func.return
}

// CHECK-LABEL: func.func private @integers_block(
// CHECK:         scf.for
// CHECK:           cpu.prefetch
// CHECK-NOT:     xhlo.unroll
// CHECK:         func.return
func.func private @integers(%a: memref<512x512xi32>, %b: memref<512x512xi32>, %c: memref<512x512xi32>) attributes {hlo.kernel = "dot"} {
  %zero = arith.constant 0 : i32
  linalg.fill ins(%zero : i32) outs(%c : memref<512x512xi32>)
  linalg.generic {indexing_maps = [#a, #b, #c], iterator_types = ["parallel", "parallel", "reduction"]} ins(%a, %b : memref<512x512xi32>, memref<512x512xi32>) outs(%c : memref<512x512xi32>) attrs = {xhlo.contraction} {
  ^bb0(%x: i32, %y: i32, %acc: i32):
    %p = arith.muli %x, %y : i32
    %s = arith.addi %acc, %p : i32
    linalg.yield %s : i32
  }
  func.return
}
