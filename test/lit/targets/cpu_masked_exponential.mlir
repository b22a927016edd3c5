// RUN: hlo-opt --fuse --lower --emit=asm --triple=x86_64-linux-gnu --cpu=x86-64-v4 %s | filecheck %s

// Elements whose exponential is 0 are kept from the multiplication by a power of two, which would underflow, by masks of
// instructions that are there anyway.
// CHECK: vminps {{.*}} {%k1} {z}
// CHECK: vscalefps {{.*}} {%k1} {z}
func.func @main(%x: tensor<4096xf32>) -> tensor<4096xf32> {
  %0 = stablehlo.exponential %x : tensor<4096xf32>
  func.return %0 : tensor<4096xf32>
}
