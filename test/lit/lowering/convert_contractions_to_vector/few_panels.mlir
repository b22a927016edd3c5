// RUN: hlo-opt %s --convert-contractions-to-vector='vector-bits=512 registers=32' | filecheck %s
// Many rows by few columns, the rows apart along k: each task packs the rows of its tile, once for all panels of the
// columns, which are packed beforehand.

#x = affine_map<(m, n, k) -> (k, m)>
#w = affine_map<(m, n, k) -> (k, n)>
#y = affine_map<(m, n, k) -> (m, n)>

// CHECK-LABEL: func.func private @gradient(
// CHECK:         %[[COLUMNS:.*]] = memref.alloc() : memref<{{.*}}xf32>
// CHECK-NOT:     memref.alloc(
// CHECK:         func.call @gradient_pack(%w,
// CHECK:         "scf.parallel"
// CHECK-NOT:     "scf.parallel"
// CHECK:           %[[ROWS:.*]] = memref.alloca() : memref<{{.*}}xf32>
// CHECK:           scf.for
// CHECK:             func.call @gradient_pack{{.*}}(%x, %{{.*}}, %[[ROWS]],
// CHECK:           scf.for
// CHECK-NOT:         @gradient_pack
// CHECK:             scf.for
// CHECK:               func.call @gradient_block(%[[ROWS]], %{{.*}}, %[[COLUMNS]],
func.func private @gradient(%x: memref<300x9216xf32>, %w: memref<300x70xf32>, %y: memref<9216x70xf32>) attributes {hlo.kernel = "dot"} {
  %zero = arith.constant 0.0 : f32
  linalg.fill ins(%zero : f32) outs(%y : memref<9216x70xf32>)
  linalg.generic {indexing_maps = [#x, #w, #y], iterator_types = ["parallel", "parallel", "reduction"]} ins(%x, %w : memref<300x9216xf32>, memref<300x70xf32>) outs(%y : memref<9216x70xf32>) attrs = {xhlo.contraction} {
  ^bb0(%a: f32, %b: f32, %z: f32):
    %p = arith.mulf %a, %b fastmath<reassoc,contract> : f32
    %s = arith.addf %z, %p fastmath<reassoc,contract> : f32
    linalg.yield %s : f32
  }
  func.return
}
