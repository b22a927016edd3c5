// RUN: hlo-opt %s --split-input-file --verify-diagnostics

func.func @of_integers(%x: tensor<4xi32>) {
  // expected-error@+1 {{gelu_i1: operand has element type i32, expected float}}
  %0 = myops.gelu %x : tensor<4xi32>
  return
}

// -----

func.func @another_shape(%x: tensor<4xf32>) {
  // expected-error@+1 {{gelu_c1}}
  %0 = "myops.gelu"(%x) : (tensor<4xf32>) -> tensor<5xf32>
  return
}

// -----

func.func @unknown_form(%x: tensor<4xf32>) {
  // expected-error@+1 {{gelu_c2: approximate is "erf", expected one of none, tanh}}
  %0 = myops.gelu %x {approximate = "erf"} : tensor<4xf32>
  return
}
