// RUN: hlo-opt %s --verify-roundtrip | filecheck %s
// RUN: hlo-opt %s --inline | filecheck %s --check-prefix=INLINE

func.func private @twice(%x: tensor<f32>) -> tensor<f32> {
  %0 = stablehlo.add %x, %x : tensor<f32>
  return %0 : tensor<f32>
}

// CHECK-LABEL: func.func @main
// INLINE: builtin.module
// INLINE-NEXT: func.func @main(%[[X:.*]]: tensor<f32>)
// INLINE-NEXT: %[[Y:.*]] = hlo.add %[[X]], %[[X]]
// INLINE-NEXT: %[[Z:.*]] = hlo.add %[[Y]], %[[Y]]
// INLINE-NEXT: func.return %[[Z]]
func.func @main(%x: tensor<f32>) -> tensor<f32> {
  // CHECK-NEXT: hlo.composite "my.twice" %x {composite_attributes = {n = 2 : i32}, decomposition = @twice, version = 3 : i32} : (tensor<f32>) -> tensor<f32>
  %0 = stablehlo.composite "my.twice" %x {composite_attributes = {n = 2 : i32}, decomposition = @twice, version = 3 : i32} : (tensor<f32>) -> tensor<f32>
  // CHECK-NEXT: hlo.composite "my.twice" %{{.*}} {decomposition = @twice} : (tensor<f32>) -> tensor<f32>
  %1 = "stablehlo.composite"(%0) {name = "my.twice", decomposition = @twice} : (tensor<f32>) -> tensor<f32>
  return %1 : tensor<f32>
}
