// RUN: hlo-opt %s --convert-contractions-to-vector | filecheck %s

#a = affine_map<(m, n, k) -> (m, k)>
#b = affine_map<(m, n, k) -> (k, n)>
#c = affine_map<(m, n, k) -> (m, n)>

// Several passes over k add to C. Its block is asked for before each, and is read as a whole before any of it is written.
// CHECK-LABEL: func.func private @deep_block(
// CHECK:         cpu.prefetch %{{.*}} {to_write} : memref<32xf32, strided<[1], offset: ?>>
// CHECK:         vector.fma
// CHECK:         scf.if
// CHECK:           vector.load
// CHECK-NOT:       vector.store
// CHECK:           vector.load
// CHECK:           vector.store
// CHECK-NOT:       vector.load
// CHECK:         } else {
func.func private @deep(%x: memref<512x2048xf32>, %y: memref<2048x1024xf32>, %o: memref<512x1024xf32>) attributes {hlo.kernel = "dot"} {
  %zero = arith.constant 0.0 : f32
  linalg.fill ins(%zero : f32) outs(%o : memref<512x1024xf32>)
  linalg.generic {indexing_maps = [#a, #b, #c], iterator_types = ["parallel", "parallel", "reduction"]} ins(%x, %y : memref<512x2048xf32>, memref<2048x1024xf32>) outs(%o : memref<512x1024xf32>) attrs = {xhlo.contraction} {
  ^bb(%p: f32, %q: f32, %z: f32):
    %r = arith.mulf %p, %q fastmath<reassoc,contract> : f32
    %s = arith.addf %z, %r fastmath<reassoc,contract> : f32
    linalg.yield %s : f32
  }
  func.return
}

// More rows than the L2 cache holds, by a larger B: each task packs panels of B, and all rows are multiplied by them.
// CHECK-LABEL: func.func private @streamed(
// CHECK-NOT:     memref<4194304xf32>
// CHECK-DAG:     %[[four:.*]] = arith.constant 4 : index
// CHECK-DAG:     %[[panels:.*]] = arith.constant 37 : index
// CHECK:           %[[local:.*]] = memref.alloca() : memref<65536xf32>
// CHECK:           func.call @streamed_pack_1(%y, %{{.*}}, %[[local]],
// CHECK:           scf.for %{{.*}} = %{{.*}} to %[[panels]] step
// CHECK-NEXT:        scf.for %[[j:.*]] = %{{.*}} to %{{.*}} step
// CHECK-NEXT:          arith.remui %[[j]], %[[four]] : index
// CHECK:               func.call @streamed_block
func.func private @streamed(%x: memref<512x1024xf32>, %y: memref<1024x4096xf32>, %o: memref<512x4096xf32>) attributes {hlo.kernel = "dot"} {
  %zero = arith.constant 0.0 : f32
  linalg.fill ins(%zero : f32) outs(%o : memref<512x4096xf32>)
  linalg.generic {indexing_maps = [#a, #b, #c], iterator_types = ["parallel", "parallel", "reduction"]} ins(%x, %y : memref<512x1024xf32>, memref<1024x4096xf32>) outs(%o : memref<512x4096xf32>) attrs = {xhlo.contraction} {
  ^bb(%p: f32, %q: f32, %z: f32):
    %r = arith.mulf %p, %q fastmath<reassoc,contract> : f32
    %s = arith.addf %z, %r fastmath<reassoc,contract> : f32
    linalg.yield %s : f32
  }
  func.return
}

// All rows of A stay in half of the L2 cache: each task packs the panels of B that it reads, which are in memory once.
// CHECK-LABEL: func.func private @low(
// CHECK:         memref.alloc() : memref<66560xf32>
// CHECK-NOT:     memref.alloc()
// CHECK:         "scf.parallel"
// CHECK:         memref.alloca()
// CHECK:         func.call @{{.*}}pack_1(%y
func.func private @low(%x: memref<128x512xf32>, %y: memref<512x784xf32>, %o: memref<128x784xf32>) attributes {hlo.kernel = "dot"} {
  %zero = arith.constant 0.0 : f32
  linalg.fill ins(%zero : f32) outs(%o : memref<128x784xf32>)
  linalg.generic {indexing_maps = [#a, #b, #c], iterator_types = ["parallel", "parallel", "reduction"]} ins(%x, %y : memref<128x512xf32>, memref<512x784xf32>) outs(%o : memref<128x784xf32>) attrs = {xhlo.contraction} {
  ^bb(%p: f32, %q: f32, %z: f32):
    %r = arith.mulf %p, %q fastmath<reassoc,contract> : f32
    %s = arith.addf %z, %r fastmath<reassoc,contract> : f32
    linalg.yield %s : f32
  }
  func.return
}
