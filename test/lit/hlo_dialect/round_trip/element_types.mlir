// RUN: hlo-opt %s --verify-roundtrip | filecheck %s

// Integers of 2 and 4 bits: a signless one takes both readings of its bits.

// CHECK-LABEL: func.func @integers
func.func @integers(%a: tensor<3xi2>, %b: tensor<3xui2>, %c: tensor<3xi4>, %d: tensor<3xui4>) -> tensor<3xui4> {
  // CHECK: hlo.constant dense<[1, -2, -1]> : tensor<3xi2>
  %0 = stablehlo.constant dense<[1, -2, 3]> : tensor<3xi2>
  // CHECK: hlo.constant dense<[0, 2, 3]> : tensor<3xui2>
  %1 = stablehlo.constant dense<[0, 2, 3]> : tensor<3xui2>
  // CHECK: hlo.constant dense<[7, -8, -1]> : tensor<3xi4>
  %2 = stablehlo.constant dense<[7, -8, 15]> : tensor<3xi4>
  // CHECK: hlo.constant dense<15> : tensor<1048576xui4>
  %3 = stablehlo.constant dense<15> : tensor<1048576xui4>
  // CHECK: hlo.constant dense<[-1, 7, -8]> : tensor<3xi4>
  %4 = stablehlo.constant dense<"0x0F0708"> : tensor<3xi4>
  // CHECK: hlo.add %{{.*}}, %{{.*}} : tensor<3xi2>
  %5 = stablehlo.add %a, %0 : tensor<3xi2>
  // CHECK: hlo.bitcast_convert %{{.*}} : (tensor<3xui4>) -> tensor<3x2xui2>
  %6 = stablehlo.bitcast_convert %d : (tensor<3xui4>) -> tensor<3x2xui2>
  // CHECK: hlo.convert %{{.*}} : (tensor<3xi4>) -> tensor<3xui4>
  %7 = stablehlo.convert %c : (tensor<3xi4>) -> tensor<3xui4>
  return %7 : tensor<3xui4>
}

// Narrow floats: infinities and NaN are written by their bits.

// CHECK-LABEL: func.func @floats
func.func @floats(%a: tensor<2xf8E4M3FN>) -> tensor<2xf8E5M2> {
  // CHECK: hlo.constant dense<[0x7C, 5.734400e+04]> : tensor<2xf8E5M2>
  %0 = stablehlo.constant dense<[0x7C, 57344.0]> : tensor<2xf8E5M2>
  // CHECK: hlo.constant dense<[0x78, 0x7F]> : tensor<2xf8E4M3>
  %1 = stablehlo.constant dense<[0x78, 0x7F]> : tensor<2xf8E4M3>
  // CHECK: hlo.constant dense<[0x70, 1.550000e+01]> : tensor<2xf8E3M4>
  %2 = stablehlo.constant dense<[0x70, 15.5]> : tensor<2xf8E3M4>
  // CHECK: hlo.constant dense<[0x7F, 4.480000e+02]> : tensor<2xf8E4M3FN>
  %3 = stablehlo.constant dense<[0x7F, 448.0]> : tensor<2xf8E4M3FN>
  // CHECK: hlo.constant dense<[0x80, 5.734400e+04]> : tensor<2xf8E5M2FNUZ>
  %4 = stablehlo.constant dense<[0x80, 0x7F]> : tensor<2xf8E5M2FNUZ>
  // CHECK: hlo.constant dense<[0x80, 2.400000e+02]> : tensor<2xf8E4M3FNUZ>
  %5 = stablehlo.constant dense<[0x80, 240.0]> : tensor<2xf8E4M3FNUZ>
  // CHECK: hlo.constant dense<[0x80, 3.000000e+01]> : tensor<2xf8E4M3B11FNUZ>
  %6 = stablehlo.constant dense<[0x80, 30.0]> : tensor<2xf8E4M3B11FNUZ>
  // CHECK: hlo.constant dense<[0xFF, 5.000000e-01, 5.877472e-39]> : tensor<3xf8E8M0FNU>
  %7 = stablehlo.constant dense<[0xFF, 0.5, 0x00]> : tensor<3xf8E8M0FNU>
  // CHECK: hlo.constant dense<[-7.500000e+00, 1.250000e-01]> : tensor<2xf6E2M3FN>
  %8 = stablehlo.constant dense<[0x3F, 0.125]> : tensor<2xf6E2M3FN>
  // CHECK: hlo.constant dense<[2.800000e+01, -0.000000e+00]> : tensor<2xf6E3M2FN>
  %9 = stablehlo.constant dense<[0x1F, -0.0]> : tensor<2xf6E3M2FN>
  // CHECK: hlo.constant dense<[6.000000e+00, -5.000000e-01]> : tensor<2xf4E2M1FN>
  %10 = stablehlo.constant dense<"0x0709"> : tensor<2xf4E2M1FN>
  // CHECK: hlo.multiply %{{.*}}, %{{.*}} : tensor<2xf8E4M3FN>
  %11 = stablehlo.multiply %a, %3 : tensor<2xf8E4M3FN>
  // CHECK: hlo.convert %{{.*}} : (tensor<2xf8E4M3FN>) -> tensor<2xf8E5M2>
  %12 = stablehlo.convert %11 : (tensor<2xf8E4M3FN>) -> tensor<2xf8E5M2>
  return %12 : tensor<2xf8E5M2>
}
