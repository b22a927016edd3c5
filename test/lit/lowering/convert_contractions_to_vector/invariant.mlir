// A factor that no iteration of the loops around all calls of a kernel changes is packed before the outermost, once for
// all calls with the same panels.
// RUN: hlo-opt %s --convert-contractions-to-vector='vector-bits=256 registers=16' | filecheck %s

#a = affine_map<(m, n, k) -> (m, k)>
#b = affine_map<(m, n, k) -> (k, n)>
#c = affine_map<(m, n, k) -> (m, n)>

// CHECK-LABEL: func.func public @main(
// CHECK-SAME:    %x: memref<32x128xf32>, %w: memref<128x128xf32>, %v: memref<128x128xf32>
// CHECK:         %[[PANELS:.*]] = memref.alloc() : memref<16384xf32>
// CHECK-NEXT:    func.call @kept_panels_0(%w, %[[PANELS]])
// CHECK-NOT:     _panels
// CHECK:         scf.for
// CHECK:           scf.for
// CHECK:             func.call @kept(%x, %[[PANELS]], %{{.*}})
// CHECK:             func.call @kept(%{{.*}}, %[[PANELS]], %x)
// The second loop changes the matrix, its inner loop does not; one kernel packs both.
// CHECK:         scf.for
// CHECK:           memref.copy
// CHECK:           %[[INNER:.*]] = memref.alloc() : memref<16384xf32>
// CHECK-NEXT:      func.call @kept_panels_0(%v, %[[INNER]])
// CHECK-NEXT:      scf.for
// CHECK:             func.call @changed(%x, %[[INNER]], %{{.*}})
// A loop that changes it by a kernel, or runs once, packs as before; so does a kernel that is called after the loop too.
// CHECK-NOT:     _panels
// CHECK:         func.return
// CHECK:       func.func private @kept(%{{.*}}: memref<32x128xf32>, %{{.*}}: memref<16384xf32>, %{{.*}}: memref<32x128xf32>)
// CHECK-NOT:     func.call @kept_pack
// CHECK:       func.func private @kept_panels_0(%[[B:.*]]: memref<128x128xf32>, %[[INTO:.*]]: memref<16384xf32>) attributes {hlo.kernel = "pack"}
// CHECK:         func.call @kept_panels_0_pack(%[[B]], %{{.*}}, %[[INTO]],
func.func public @main(%x: memref<32x128xf32>, %w: memref<128x128xf32>, %v: memref<128x128xf32>, %u: memref<128x128xf32>) {
  %zero = arith.constant 0 : index
  %one = arith.constant 1 : index
  %n = arith.constant 10 : index
  scf.for %i = %zero to %n step %one {
    scf.for %j = %zero to %n step %one {
      %y = memref.alloc() : memref<32x128xf32>
      func.call @kept(%x, %w, %y) : (memref<32x128xf32>, memref<128x128xf32>, memref<32x128xf32>) -> ()
      func.call @kept(%y, %w, %x) : (memref<32x128xf32>, memref<128x128xf32>, memref<32x128xf32>) -> ()
    }
  }
  scf.for %i = %zero to %n step %one {
    "memref.copy"(%w, %v) : (memref<128x128xf32>, memref<128x128xf32>) -> ()
    scf.for %j = %zero to %n step %one {
      %y = memref.alloc() : memref<32x128xf32>
      func.call @changed(%x, %v, %y) : (memref<32x128xf32>, memref<128x128xf32>, memref<32x128xf32>) -> ()
    }
  }
  scf.for %i = %zero to %n step %one {
    func.call @squared(%u, %u) : (memref<128x128xf32>, memref<128x128xf32>) -> ()
    func.call @written(%x, %u, %x) : (memref<32x128xf32>, memref<128x128xf32>, memref<32x128xf32>) -> ()
    func.call @later(%x, %w, %x) : (memref<32x128xf32>, memref<128x128xf32>, memref<32x128xf32>) -> ()
  }
  scf.for %i = %zero to %one step %one {
    func.call @once(%x, %w, %x) : (memref<32x128xf32>, memref<128x128xf32>, memref<32x128xf32>) -> ()
  } {xhlo.trip_count = 1 : i64}
  func.call @later(%x, %w, %x) : (memref<32x128xf32>, memref<128x128xf32>, memref<32x128xf32>) -> ()
  func.return
}
func.func private @kept(%x: memref<32x128xf32>, %w: memref<128x128xf32>, %y: memref<32x128xf32>) attributes {hlo.kernel = "dot"} {
  %zero = arith.constant 0.0 : f32
  linalg.fill ins(%zero : f32) outs(%y : memref<32x128xf32>)
  linalg.generic {indexing_maps = [#a, #b, #c], iterator_types = ["parallel", "parallel", "reduction"]} ins(%x, %w : memref<32x128xf32>, memref<128x128xf32>) outs(%y : memref<32x128xf32>) attrs = {xhlo.contraction} {
  ^bb0(%a: f32, %b: f32, %acc: f32):
    %p = arith.mulf %a, %b : f32
    %s = arith.addf %acc, %p : f32
    linalg.yield %s : f32
  }
  func.return
}
func.func private @changed(%x: memref<32x128xf32>, %w: memref<128x128xf32>, %y: memref<32x128xf32>) attributes {hlo.kernel = "dot"} {
  %zero = arith.constant 0.0 : f32
  linalg.fill ins(%zero : f32) outs(%y : memref<32x128xf32>)
  linalg.generic {indexing_maps = [#a, #b, #c], iterator_types = ["parallel", "parallel", "reduction"]} ins(%x, %w : memref<32x128xf32>, memref<128x128xf32>) outs(%y : memref<32x128xf32>) attrs = {xhlo.contraction} {
  ^bb0(%a: f32, %b: f32, %acc: f32):
    %p = arith.mulf %a, %b : f32
    %s = arith.addf %acc, %p : f32
    linalg.yield %s : f32
  }
  func.return
}
func.func private @written(%x: memref<32x128xf32>, %w: memref<128x128xf32>, %y: memref<32x128xf32>) attributes {hlo.kernel = "dot"} {
  %zero = arith.constant 0.0 : f32
  linalg.fill ins(%zero : f32) outs(%y : memref<32x128xf32>)
  linalg.generic {indexing_maps = [#a, #b, #c], iterator_types = ["parallel", "parallel", "reduction"]} ins(%x, %w : memref<32x128xf32>, memref<128x128xf32>) outs(%y : memref<32x128xf32>) attrs = {xhlo.contraction} {
  ^bb0(%a: f32, %b: f32, %acc: f32):
    %p = arith.mulf %a, %b : f32
    %s = arith.addf %acc, %p : f32
    linalg.yield %s : f32
  }
  func.return
}
func.func private @later(%x: memref<32x128xf32>, %w: memref<128x128xf32>, %y: memref<32x128xf32>) attributes {hlo.kernel = "dot"} {
  %zero = arith.constant 0.0 : f32
  linalg.fill ins(%zero : f32) outs(%y : memref<32x128xf32>)
  linalg.generic {indexing_maps = [#a, #b, #c], iterator_types = ["parallel", "parallel", "reduction"]} ins(%x, %w : memref<32x128xf32>, memref<128x128xf32>) outs(%y : memref<32x128xf32>) attrs = {xhlo.contraction} {
  ^bb0(%a: f32, %b: f32, %acc: f32):
    %p = arith.mulf %a, %b : f32
    %s = arith.addf %acc, %p : f32
    linalg.yield %s : f32
  }
  func.return
}
func.func private @once(%x: memref<32x128xf32>, %w: memref<128x128xf32>, %y: memref<32x128xf32>) attributes {hlo.kernel = "dot"} {
  %zero = arith.constant 0.0 : f32
  linalg.fill ins(%zero : f32) outs(%y : memref<32x128xf32>)
  linalg.generic {indexing_maps = [#a, #b, #c], iterator_types = ["parallel", "parallel", "reduction"]} ins(%x, %w : memref<32x128xf32>, memref<128x128xf32>) outs(%y : memref<32x128xf32>) attrs = {xhlo.contraction} {
  ^bb0(%a: f32, %b: f32, %acc: f32):
    %p = arith.mulf %a, %b : f32
    %s = arith.addf %acc, %p : f32
    linalg.yield %s : f32
  }
  func.return
}
func.func private @squared(%u: memref<128x128xf32>, %v: memref<128x128xf32>) attributes {hlo.kernel = "loop"} {
  linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i, j)>], iterator_types = ["parallel", "parallel"]} ins(%u : memref<128x128xf32>) outs(%v : memref<128x128xf32>) {
  ^bb0(%a: f32, %b: f32):
    %p = arith.mulf %a, %a : f32
    linalg.yield %p : f32
  }
  func.return
}
