// A sum that is cut into chunks, of more rows than a block has: where registers are few, the task of a chunk packs what
// it reads of B, panel by panel, and multiplies all rows by it. B is not packed by way of memory before.
// RUN: hlo-opt %s --convert-contractions-to-vector='vector-bits=256 registers=16' | filecheck %s

#a = affine_map<(m, n, k) -> (m, k)>
#b = affine_map<(m, n, k) -> (k, n)>
#c = affine_map<(m, n, k) -> (m, n)>

// CHECK-LABEL: func.func private @long(
// CHECK-NOT:     memref.alloc() : memref<1048576xf32>
// CHECK-NOT:     func.call
// CHECK:         "scf.parallel"
// CHECK:           %[[PANEL:.*]] = memref.alloca() : memref<8192xf32>
// CHECK:           scf.for
// CHECK:             func.call @long_pack(%y, %{{.*}}, %[[PANEL]],
// CHECK:             scf.for
// CHECK:               func.call @long_block(%x, %{{.*}}, %[[PANEL]],
// CHECK:               func.call @long_block_1(%x, %{{.*}}, %[[PANEL]],
func.func private @long(%x: memref<64x16384xf32>, %y: memref<16384x64xf32>, %z: memref<64x64xf32>) attributes {hlo.kernel = "dot"} {
  %zero = arith.constant 0.0 : f32
  linalg.fill ins(%zero : f32) outs(%z : memref<64x64xf32>)
  linalg.generic {indexing_maps = [#a, #b, #c], iterator_types = ["parallel", "parallel", "reduction"]} ins(%x, %y : memref<64x16384xf32>, memref<16384x64xf32>) outs(%z : memref<64x64xf32>) attrs = {xhlo.contraction} {
  ^bb0(%a: f32, %b: f32, %acc: f32):
    %p = arith.mulf %a, %b : f32
    %s = arith.addf %acc, %p : f32
    linalg.yield %s : f32
  }
  func.return
}
