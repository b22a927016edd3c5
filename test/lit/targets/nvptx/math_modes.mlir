// RUN: hlo-opt %s --fuse --lower --target=nvptx --emit=ptx | filecheck %s --check-prefix=EXACT
// RUN: hlo-opt %s --fuse --lower --target=nvptx --math=strict --emit=ptx | filecheck %s --check-prefix=EXACT
// RUN: hlo-opt %s --fuse --lower --target=nvptx --math=fast --emit=ptx | filecheck %s --check-prefix=FAST

// Only mode fast uses approximate instructions and contracts products and sums.

// EXACT-NOT:   approx
// EXACT:       mul.rn.f32
// EXACT:       add.rn.f32
// EXACT:       div.rn.f32
// EXACT-NOT:   approx

// FAST:        ex2.approx.f32
// FAST:        fma.rn.f32
// FAST:        div.approx.f32
func.func @main(%x: tensor<1024xf32>, %y: tensor<1024xf32>) -> tensor<1024xf32> {
  %0 = hlo.exponential %x : tensor<1024xf32>
  %1 = hlo.multiply %0, %y : tensor<1024xf32>
  %2 = hlo.add %1, %x : tensor<1024xf32>
  %3 = hlo.divide %2, %y : tensor<1024xf32>
  func.return %3 : tensor<1024xf32>
}
