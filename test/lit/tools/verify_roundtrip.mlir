// RUN: hlo-opt %s --verify-roundtrip | filecheck %s
// RUN: hlo-opt %s --verify-roundtrip --cse --print-locations --timing 2>&1 | filecheck %s --check-prefix=TIMING
// RUN: hlo-opt %s --verify-roundtrip --no-fast-reader --print-generic | filecheck %s --check-prefix=GENERIC

// The output is the module that was read, in the requested form.
// CHECK-LABEL: func.func @main
// CHECK-NEXT:    %[[S:.*]] = hlo.add %x, %x : tensor<4xf32>
// CHECK-NEXT:    func.return %[[S]]
// CHECK:       func.func private @declared(tensor<4xf32>)
// GENERIC:       "hlo.add"(%x, %x) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
// TIMING:        verify round trip
func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = stablehlo.add %x, %x : tensor<4xf32> loc("here")
  return %0 : tensor<4xf32>
}

func.func private @declared(tensor<4xf32>)
