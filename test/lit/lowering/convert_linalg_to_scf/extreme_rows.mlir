// RUN: hlo-opt %s --convert-linalg-to-scf="vector-bits=256" | filecheck %s
// RUN: hlo-opt %s --convert-linalg-to-scf | filecheck %s --check-prefix=OTHER
// RUN: hlo-opt %s --convert-linalg-to-scf="vector-bits=128" | filecheck %s --check-prefix=OTHER

#wide = affine_map<(i, j) -> (i, j)>
#thin = affine_map<(i, j) -> (i)>

// The last of three vectors overlaps the second. NaN, and the sign of a zero, is one bit of each lane.
// CHECK-LABEL: func.func private @floats
// CHECK:         scf.for
// CHECK-NOT:     scf.for
// CHECK-COUNT-3:   vector.load %{{.*}} : memref<20xf32, {{.*}}>, vector<8xf32>
// CHECK-COUNT-2:   arith.maxnumf %{{.*}} fastmath<nnan,nsz> : vector<8xf32>
// CHECK:           vector.reduction <maxnumf>, %{{.*}} fastmath<nnan,nsz> : vector<8xf32> into f32
// CHECK-COUNT-2:   arith.cmpf uno, %{{.*}} : vector<8xf32>
// CHECK:           vector.reduction <or>, %{{.*}} : vector<8xi1> into i1
// CHECK-COUNT-2:   arith.andi %{{.*}} : vector<8xi32>
// CHECK:           arith.cmpi slt, %{{.*}} : vector<8xi32>
// CHECK:           vector.bitcast %{{.*}} : vector<8xi1> to vector<1xi8>
// CHECK:           memref.store
// OTHER-LABEL: func.func private @floats
// OTHER-NOT:     vector.
func.func private @floats(%x: memref<40x20xf32>, %o: memref<40xf32>) attributes {hlo.kernel = "reduce"} {
  %init = arith.constant 0xFF800000 : f32
  linalg.fill ins(%init : f32) outs(%o : memref<40xf32>)
  linalg.generic {indexing_maps = [#wide, #thin], iterator_types = ["parallel", "reduction"]} ins(%x : memref<40x20xf32>) outs(%o : memref<40xf32>) {
  ^bb(%a: f32, %z: f32):
    %m = arith.maximumf %z, %a : f32
    linalg.yield %m : f32
  }
  func.return
}

// Half a vector, for fewer elements than a whole one has.
// CHECK-LABEL: func.func private @integers
// CHECK-COUNT-2:   vector.load %{{.*}} : memref<7xi32, {{.*}}>, vector<4xi32>
// CHECK:           arith.minui %{{.*}} : vector<4xi32>
// CHECK-NEXT:      vector.reduction <minui>, %{{.*}} : vector<4xi32> into i32
// OTHER-LABEL: func.func private @integers
// OTHER-NOT:     vector.
func.func private @integers(%x: memref<40x7xi32>, %o: memref<40xi32>) attributes {hlo.kernel = "reduce"} {
  %init = arith.constant -1 : i32
  linalg.fill ins(%init : i32) outs(%o : memref<40xi32>)
  linalg.generic {indexing_maps = [#wide, #thin], iterator_types = ["parallel", "reduction"]} ins(%x : memref<40x7xi32>) outs(%o : memref<40xi32>) {
  ^bb(%a: i32, %z: i32):
    %m = arith.minui %z, %a : i32
    linalg.yield %m : i32
  }
  func.return
}

// One vector of floats, and elements that are computed, are left to LLVM.
// CHECK-LABEL: func.func private @others
// CHECK-NOT:     vector.
func.func private @others(%x: memref<40x8xf32>, %y: memref<40x20xf32>, %o: memref<40xf32>, %p: memref<40xf32>) attributes {hlo.kernel = "reduce"} {
  %init = arith.constant 0xFF800000 : f32
  linalg.fill ins(%init : f32) outs(%o : memref<40xf32>)
  linalg.generic {indexing_maps = [#wide, #thin], iterator_types = ["parallel", "reduction"]} ins(%x : memref<40x8xf32>) outs(%o : memref<40xf32>) {
  ^bb(%a: f32, %z: f32):
    %m = arith.maximumf %z, %a : f32
    linalg.yield %m : f32
  }
  linalg.fill ins(%init : f32) outs(%p : memref<40xf32>)
  linalg.generic {indexing_maps = [#wide, #thin], iterator_types = ["parallel", "reduction"]} ins(%y : memref<40x20xf32>) outs(%p : memref<40xf32>) {
  ^bb(%a: f32, %z: f32):
    %n = arith.negf %a : f32
    %m = arith.maximumf %z, %n : f32
    linalg.yield %m : f32
  }
  func.return
}
