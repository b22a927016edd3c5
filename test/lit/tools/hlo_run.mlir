// RUN: hlo-run %s --target=reference | filecheck %s
// RUN: hlo-run %s --target=reference --outputs %t.npz
// RUN: hlo-run %s --target=reference --expect %t.npz | filecheck %s --check-prefix=SAME
// RUN: hlo-run %s --target=reference --seed 1 --outputs %t.other.npz
// RUN: not hlo-run %s --target=reference --expect %t.other.npz | filecheck %s --check-prefix=OTHER
// RUN: hlo-run %s --target=reference --repeat 2 | filecheck %s --check-prefix=REPEAT

// CHECK:  result 0: float32[3]
// CHECK:  result 1: int32[]
// CHECK:  7
// SAME:   output abs rel ulp
// SAME:   0 0.00e+00 0.00e+00 0 ok
// SAME:   1 0.00e+00 0.00e+00 - ok
// OTHER:  0 {{.*}} WRONG: relative error
// OTHER:  1 {{.*}} ok
// REPEAT: 2 runs: median {{.*}} ms, least {{.*}} ms
func.func @main(%x: tensor<3xf32>) -> (tensor<3xf32>, tensor<i32>) {
  %0 = stablehlo.add %x, %x : tensor<3xf32>
  %c = stablehlo.constant dense<7> : tensor<i32>
  return %0, %c : tensor<3xf32>, tensor<i32>
}
