// RUN: hlo-opt --fuse --lower --emit=asm --triple=x86_64-linux-gnu --cpu=x86-64-v3 %s | filecheck %s
// RUN: hlo-opt --fuse --lower --emit=asm --triple=x86_64-linux-gnu --cpu=x86-64-v4 %s | filecheck %s --check-prefix=WIDE

// Points that have left the loop keep their place, which is stored with the others' and not left out by a mask.
// CHECK-NOT: maskmov
// CHECK:     vblendvps
// CHECK-NOT: maskmov
// WIDE-NOT: vmovups %zmm{{[0-9]+}}, {{.*}} {%k
// WIDE:     vmulps {{.*}}%zmm
// WIDE-NOT: vmovups %zmm{{[0-9]+}}, {{.*}} {%k
func.func @main(%x: tensor<4096xf32>, %y: tensor<4096xf32>) -> (tensor<4096xf32>, tensor<4096xi32>) {
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %none = stablehlo.constant dense<0> : tensor<4096xi32>
  %one = stablehlo.constant dense<1> : tensor<i32>
  %end = stablehlo.constant dense<50> : tensor<i32>
  %most = stablehlo.constant dense<4.0> : tensor<4096xf32>
  %0:4 = stablehlo.while(%i = %zero, %a = %x, %b = %y, %n = %none)
      : tensor<i32>, tensor<4096xf32>, tensor<4096xf32>, tensor<4096xi32>
  cond {
    %c = stablehlo.compare LT, %i, %end : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %c : tensor<i1>
  } do {
    %next = stablehlo.add %i, %one : tensor<i32>
    %aa = stablehlo.multiply %a, %a : tensor<4096xf32>
    %bb = stablehlo.multiply %b, %b : tensor<4096xf32>
    %ab = stablehlo.multiply %a, %b : tensor<4096xf32>
    %size = stablehlo.add %aa, %bb : tensor<4096xf32>
    %difference = stablehlo.subtract %aa, %bb : tensor<4096xf32>
    %c = stablehlo.add %difference, %x : tensor<4096xf32>
    %d = stablehlo.add %ab, %y : tensor<4096xf32>
    %inside = stablehlo.compare LT, %size, %most : (tensor<4096xf32>, tensor<4096xf32>) -> tensor<4096xi1>
    %e = stablehlo.select %inside, %c, %a : tensor<4096xi1>, tensor<4096xf32>
    %f = stablehlo.select %inside, %d, %b : tensor<4096xi1>, tensor<4096xf32>
    %count = stablehlo.convert %inside : (tensor<4096xi1>) -> tensor<4096xi32>
    %m = stablehlo.add %n, %count : tensor<4096xi32>
    stablehlo.return %next, %e, %f, %m : tensor<i32>, tensor<4096xf32>, tensor<4096xf32>, tensor<4096xi32>
  }
  func.return %0#1, %0#3 : tensor<4096xf32>, tensor<4096xi32>
}
