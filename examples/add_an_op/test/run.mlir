// RUN: hlo-run %s --compare=reference | filecheck %s

// Both forms compute what their reference says.
// CHECK:      cpu against reference:
// CHECK:      0 {{.*}} ok
// CHECK-NEXT: 1 {{.*}} ok
func.func @main(%x: tensor<1000xf32>) -> (tensor<1000xf32>, tensor<1000xf32>) {
  %0 = myops.gelu %x : tensor<1000xf32>
  %1 = myops.gelu %x {approximate = "tanh"} : tensor<1000xf32>
  return %0, %1 : tensor<1000xf32>, tensor<1000xf32>
}
