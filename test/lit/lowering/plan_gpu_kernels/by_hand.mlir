// RUN: hlo-opt %s --plan-gpu-kernels | filecheck %s
// Existing plans stay; the operations between them are planned as if they were alone.

#i = affine_map<(i) -> (i)>
#ij = affine_map<(i, j) -> (i, j)>
#row = affine_map<(i, j) -> (i)>

// CHECK-LABEL: @kept
// CHECK:         outs(%o : memref<1024xf32>) attrs = {gpu.plan = #gpu.elementwise<threads = 32>}
func.func private @kept(%a: memref<1024xf32>, %o: memref<1024xf32>) attributes {hlo.kernel = "loop"} {
  linalg.generic {indexing_maps = [#i, #i], iterator_types = ["parallel"]} ins(%a : memref<1024xf32>) outs(%o : memref<1024xf32>) attrs = {gpu.plan = #gpu.elementwise<threads = 32>} {
  ^bb(%x: f32, %z: f32):
    linalg.yield %x : f32
  }
  func.return
}

// The second operation would join the first, but has a launch of its own; the third joins the second.
// CHECK-LABEL: @cut
// CHECK:         outs(%sum : memref<64xf32>) attrs = {gpu.plan = #gpu.rows<{{.*}}>}
// CHECK:         outs(%p : memref<64xf32>) attrs = {gpu.plan = #gpu.elementwise<threads = 64>}
// CHECK:         outs(%q : memref<64xf32>) attrs = {gpu.plan = #gpu.elementwise<threads = 64>, gpu.joined}
// CHECK:         outs(%r : memref<64xf32>) attrs = {gpu.plan = #gpu.elementwise}
func.func private @cut(%a: memref<64x1024xf32>, %p: memref<64xf32>, %q: memref<64xf32>, %r: memref<64xf32>) attributes {hlo.kernel = "reduction"} {
  %zero = arith.constant 0.0 : f32
  %sum = memref.alloc() : memref<64xf32>
  linalg.fill ins(%zero : f32) outs(%sum : memref<64xf32>)
  linalg.generic {indexing_maps = [#ij, #row], iterator_types = ["parallel", "reduction"]} ins(%a : memref<64x1024xf32>) outs(%sum : memref<64xf32>) {
  ^bb(%x: f32, %acc: f32):
    %s = arith.addf %acc, %x : f32
    linalg.yield %s : f32
  }
  linalg.generic {indexing_maps = [#i, #i], iterator_types = ["parallel"]} ins(%sum : memref<64xf32>) outs(%p : memref<64xf32>) attrs = {gpu.plan = #gpu.elementwise<threads = 64>} {
  ^bb(%x: f32, %z: f32):
    linalg.yield %x : f32
  }
  linalg.generic {indexing_maps = [#i, #i], iterator_types = ["parallel"]} ins(%sum : memref<64xf32>) outs(%q : memref<64xf32>) attrs = {gpu.plan = #gpu.elementwise<threads = 64>, gpu.joined} {
  ^bb(%x: f32, %z: f32):
    linalg.yield %x : f32
  }
  linalg.generic {indexing_maps = [#i, #i], iterator_types = ["parallel"]} ins(%q : memref<64xf32>) outs(%r : memref<64xf32>) {
  ^bb(%x: f32, %z: f32):
    linalg.yield %x : f32
  }
  func.return
}
