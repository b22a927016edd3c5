// RUN: hlo-opt %s --apply-tuning | filecheck %s --check-prefix=NONE
// RUN: hlo-opt %s --convert-contractions-to-vector=vector-bits=512 | filecheck %s
// RUN: not hlo-opt %s --convert-contractions-to-vector=vector-bits=256 2>&1 | filecheck %s --check-prefix=NARROW
// RUN: not hlo-opt %s '--apply-tuning=file="no-such-file.json"' 2>&1 | filecheck %s --check-prefix=MISSING

// A stated tiling: panels of 7 rows of A and of 2 vectors of B; a task has 2 of A and all 3 of B.
// NONE-NOT:  xhlo.tiling
// NONE:      xhlo.contraction
// NONE-NOT:  xhlo.tiling

// CHECK:       func.func private @dot_0(
// CHECK:         func.call @dot_0_pack
// CHECK:         func.call @dot_0_block
// CHECK:       func.func private @dot_0_block(
// CHECK-NEXT:    memref.alloca() : memref<7x32xf32>
// CHECK-COUNT-14: vector.fma
// CHECK-NOT:      vector.fma

// NARROW: error: 'linalg.generic' op states xhlo.tiling = {{.*}}, whose blocks this machine does not have
// MISSING: error: {{.*}}the tuning file no-such-file.json cannot be read
func.func private @dot_0(%a: memref<200x600xf32>, %b: memref<600x90xf32>, %c: memref<200x90xf32>) attributes {hlo.kernel = "dot"} {
  %0 = arith.constant 0.000000e+00 : f32
  linalg.fill ins(%0 : f32) outs(%c : memref<200x90xf32>)
  linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d2)>, affine_map<(d0, d1, d2) -> (d2, d1)>, affine_map<(d0, d1, d2) -> (d0, d1)>], iterator_types = ["parallel", "parallel", "reduction"]} ins(%a, %b : memref<200x600xf32>, memref<600x90xf32>) outs(%c : memref<200x90xf32>) attrs = {xhlo.contraction, xhlo.tiling = {rows = 7 : i64, vectors = 2 : i64, tile_rows = 2 : i64, tile_columns = 3 : i64}} {
  ^bb0(%1: f32, %2: f32, %3: f32):
    %4 = arith.mulf %1, %2 : f32
    %5 = arith.addf %3, %4 : f32
    linalg.yield %5 : f32
  }
  func.return
}
