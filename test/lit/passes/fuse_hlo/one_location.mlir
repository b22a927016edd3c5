// Decisions belong to operations, not to locations: in a layer that is called twice and inlined, both products
// have one location, and only the second is followed by its epilogue. The first one's result is transposed.
// RUN: hlo-opt %s --fuse-hlo=epilogues=dots --fuse-remarks -o %t.mlir 2> %t.remarks
// RUN: filecheck %s --check-prefix=REMARK < %t.remarks
// RUN: filecheck %s --check-prefix=FUSED < %t.mlir

// REMARK:      layer.py:7:1: remark: not fused hlo.dot_general with hlo.transpose: hlo.dot_general is a kernel of its own, its result is in memory
// REMARK-NEXT: remark: fused hlo.transpose into the loop fusion of hlo.negate
// REMARK-NEXT: remark: not fused hlo.negate with hlo.dot_general
// REMARK-NEXT: layer.py:7:1: remark: fused hlo.dot_general with hlo.tanh, its epilogue: saves 73.7 KB
// REMARK-NOT:  remark

// FUSED:      hlo.fusion dot
// FUSED-NEXT:   hlo.dot_general
// FUSED-NEXT:   hlo.return
// FUSED:      hlo.fusion loop
// FUSED-NEXT:   hlo.transpose
// FUSED:      hlo.fusion dot
// FUSED-NEXT:   hlo.dot_general
// FUSED-NEXT:   hlo.tanh
func.func @main(%x: tensor<64x96xf32>, %w: tensor<96x96xf32>) -> tensor<96x96xf32> {
  %0 = hlo.dot_general %x, %w, contracting_dims = [1] x [0] : (tensor<64x96xf32>, tensor<96x96xf32>) -> tensor<64x96xf32> loc("layer.py":7:1)
  %1 = hlo.transpose %0, dims = [1, 0] : (tensor<64x96xf32>) -> tensor<96x64xf32>
  %2 = hlo.negate %1 : tensor<96x64xf32>
  %3 = hlo.dot_general %2, %x, contracting_dims = [1] x [0] : (tensor<96x64xf32>, tensor<64x96xf32>) -> tensor<96x96xf32> loc("layer.py":7:1)
  %4 = hlo.tanh %3 : tensor<96x96xf32>
  func.return %4 : tensor<96x96xf32>
}
