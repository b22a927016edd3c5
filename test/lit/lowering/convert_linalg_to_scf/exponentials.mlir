// RUN: hlo-opt %s --convert-linalg-to-scf="vector-bits=256" | filecheck %s
// RUN: hlo-opt %s --convert-linalg-to-scf | filecheck %s --check-prefix=MANY
// RUN: hlo-opt %s --convert-linalg-to-scf="vector-bits=128" | filecheck %s --check-prefix=MANY

// A pass over the accumulators combines one row where constants of an exponential take AVX2's registers, else four.
// CHECK-LABEL: func.func private @columns
// CHECK-COUNT-1: math.exp
// CHECK-NOT:     math.exp
// CHECK:         func.return
// MANY-LABEL:  func.func private @columns
// MANY-COUNT-4:  math.exp
// MANY-NOT:      math.exp
// MANY:          func.return
func.func private @columns(%a: memref<32x64xf32>, %o: memref<64xf32>) attributes {hlo.kernel = "reduce"} {
  %zero = arith.constant 0.0 : f32
  linalg.fill ins(%zero : f32) outs(%o : memref<64xf32>)
  linalg.generic {indexing_maps = [affine_map<(i, j) -> (j, i)>, affine_map<(i, j) -> (i)>], iterator_types = ["parallel", "reduction"]} ins(%a : memref<32x64xf32>) outs(%o : memref<64xf32>) {
  ^bb(%x: f32, %z: f32):
    %e = math.exp %x : f32
    %s = arith.addf %z, %e fastmath<reassoc> : f32
    linalg.yield %s : f32
  }
  func.return
}

// Periodic functions branch.
// CHECK-LABEL: func.func private @periodic
// CHECK-COUNT-4: math.cos
func.func private @periodic(%a: memref<32x64xf32>, %o: memref<64xf32>) attributes {hlo.kernel = "reduce"} {
  %zero = arith.constant 0.0 : f32
  linalg.fill ins(%zero : f32) outs(%o : memref<64xf32>)
  linalg.generic {indexing_maps = [affine_map<(i, j) -> (j, i)>, affine_map<(i, j) -> (i)>], iterator_types = ["parallel", "reduction"]} ins(%a : memref<32x64xf32>) outs(%o : memref<64xf32>) {
  ^bb(%x: f32, %z: f32):
    %c = math.cos %x : f32
    %e = math.exp %c : f32
    %s = arith.addf %z, %e fastmath<reassoc> : f32
    linalg.yield %s : f32
  }
  func.return
}
