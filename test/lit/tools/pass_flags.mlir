// Passes run in the order of their flags; -p takes the same as text, with mlir-opt's wrapper or without it.
// RUN: hlo-opt %s --cse --dce --print-ir-after-all 2>&1 | filecheck %s --check-prefix=ORDER
// RUN: hlo-opt %s -p "cse,dce" --print-ir-after-all 2>&1 | filecheck %s --check-prefix=ORDER
// RUN: hlo-opt %s --pass-pipeline "builtin.module(cse,dce)" --print-ir-after-all 2>&1 | filecheck %s --check-prefix=ORDER
// RUN: hlo-opt %s -cse | filecheck %s
// RUN: hlo-opt --cse < %s | filecheck %s
// RUN: hlo-opt - --cse < %s | filecheck %s

// ORDER: IR Dump After cse
// ORDER: IR Dump After dce

// CHECK-LABEL: @twice
func.func @twice(%x: tensor<4xf32>) -> tensor<4xf32> {
  // CHECK:      %[[SUM:.*]] = hlo.add %{{.*}}, %{{.*}} : tensor<4xf32>
  // CHECK-NEXT: hlo.multiply %[[SUM]], %[[SUM]]
  %0 = stablehlo.add %x, %x : tensor<4xf32>
  %1 = stablehlo.add %x, %x : tensor<4xf32>
  %2 = stablehlo.multiply %0, %1 : tensor<4xf32>
  return %2 : tensor<4xf32>
}
