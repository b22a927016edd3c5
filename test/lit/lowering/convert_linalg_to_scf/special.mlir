// RUN: hlo-opt %s --convert-linalg-to-scf | filecheck %s

// A special function is a stage: a loop over a tile, whose vectors expand-math chooses, and not one over single vectors.
// CHECK-LABEL: func.func private @special
// CHECK-DAG:     %[[TILE:.*]] = arith.constant 512 : index
// CHECK-DAG:     %[[ZERO:.*]] = arith.constant 0 : index
// CHECK-DAG:     %[[ONE:.*]] = arith.constant 1 : index
// CHECK:         scf.for %[[I:.*]] = %{{.*}} to %{{.*}} step %[[TILE]] {
// CHECK-NEXT:      scf.for %[[LANE:.*]] = %[[ZERO]] to %[[TILE]] step %[[ONE]] {
// CHECK:             math_ext.digamma
// CHECK:           } {xhlo.parallel}
func.func private @special(%x: memref<1024xf32>, %y: memref<1024xf32>) attributes {hlo.kernel = "loop"} {
  linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]} ins(%x : memref<1024xf32>) outs(%y : memref<1024xf32>) {
  ^bb0(%a: f32, %b: f32):
    %c = math_ext.digamma %a : f32
    linalg.yield %c : f32
  }
  func.return
}
