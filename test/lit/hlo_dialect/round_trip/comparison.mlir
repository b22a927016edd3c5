// RUN: hlo-opt %s --verify-roundtrip | filecheck %s

// CHECK-LABEL: func.func @compare
func.func @compare(%x: tensor<4xf32>, %i: tensor<4xi32>, %u: tensor<ui8>, %p: tensor<i1>) {
  // CHECK: hlo.compare LT, %{{.*}}, %{{.*}}, FLOAT : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xi1>
  %0 = stablehlo.compare  LT, %x, %x,  FLOAT : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xi1>
  // CHECK: hlo.compare EQ, %{{.*}}, %{{.*}} : (tensor<4xi32>, tensor<4xi32>) -> tensor<4xi1>
  %1 = hlo.compare EQ, %i, %i : (tensor<4xi32>, tensor<4xi32>) -> tensor<4xi1>
  // CHECK: hlo.compare NE, %{{.*}}, %{{.*}}, TOTALORDER : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xi1>
  %2 = "stablehlo.compare"(%x, %x) <{comparison_direction = #stablehlo<comparison_direction NE>, compare_type = #stablehlo<comparison_type TOTALORDER>}> : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xi1>
  // CHECK: hlo.compare GE, %{{.*}}, %{{.*}}, UNSIGNED : (tensor<ui8>, tensor<ui8>) -> tensor<i1>
  %3 = hlo.compare GE, %u, %u, UNSIGNED : (tensor<ui8>, tensor<ui8>) -> tensor<i1>
  // CHECK: hlo.compare GT, %{{.*}}, %{{.*}}, UNSIGNED {mine} : (tensor<i1>, tensor<i1>) -> tensor<i1>
  %4 = hlo.compare GT, %p, %p, UNSIGNED {mine} : (tensor<i1>, tensor<i1>) -> tensor<i1>
  // CHECK: hlo.compare LE, %{{.*}}, %{{.*}}, SIGNED :
  %5 = hlo.compare LE, %i, %i, SIGNED : (tensor<4xi32>, tensor<4xi32>) -> tensor<4xi1>
  // CHECK: hlo.compare LE, %{{.*}}, %{{.*}}, UNSIGNED :
  %6 = hlo.compare LE, %i, %i, UNSIGNED : (tensor<4xi32>, tensor<4xi32>) -> tensor<4xi1>
  // CHECK: hlo.compare LE, %{{.*}}, %{{.*}}, TOTALORDER :
  %7 = hlo.compare LE, %i, %i, TOTALORDER : (tensor<4xi32>, tensor<4xi32>) -> tensor<4xi1>
  return
}

// CHECK-LABEL: func.func @choose
func.func @choose(%x: tensor<4xf32>, %s: tensor<f32>, %p: tensor<i1>, %m: tensor<4xi1>, %d: tensor<?xf32>) {
  // CHECK: hlo.select %{{.*}}, %{{.*}}, %{{.*}} : tensor<i1>, tensor<4xf32>
  %0 = stablehlo.select %p, %x, %x : tensor<i1>, tensor<4xf32>
  // CHECK: hlo.select %{{.*}}, %{{.*}}, %{{.*}} : tensor<4xi1>, tensor<4xf32>
  %1 = "hlo.select"(%m, %x, %x) : (tensor<4xi1>, tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  // CHECK: hlo.select %{{.*}}, %{{.*}}, %{{.*}} : (tensor<4xi1>, tensor<4xf32>, tensor<?xf32>) -> tensor<4xf32>
  %2 = hlo.select %m, %x, %d : (tensor<4xi1>, tensor<4xf32>, tensor<?xf32>) -> tensor<4xf32>
  // CHECK: hlo.clamp %{{.*}}, %{{.*}}, %{{.*}} : tensor<4xf32>
  %3 = hlo.clamp %x, %x, %x : tensor<4xf32>
  // CHECK: hlo.clamp %{{.*}}, %{{.*}}, %{{.*}} : (tensor<f32>, tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
  %4 = hlo.clamp %s, %x, %s : (tensor<f32>, tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
  return
}
