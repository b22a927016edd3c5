// RUN: hlo-opt %s --split-input-file --verify-diagnostics

func.func @unknown_operation(%x: tensor<4xf32>) {
  // expected-error@+1 {{unknown operation 'stablehlo.abbs'; did you mean 'stablehlo.abs'?}}
  %0 = stablehlo.abbs %x : tensor<4xf32>
  return
}

// -----

func.func @undefined_value(%x: tensor<4xf32>) {
  // expected-error@+1 {{use of undefined value '%y'}}
  %0 = stablehlo.add %x, %y : tensor<4xf32>
  return
}

// -----

func.func @use_before_definition(%x: tensor<4xf32>) {
  // expected-error@+1 {{'hlo.abs' op operand #0 (%b) does not dominate this use}}
  %a = stablehlo.abs %b : tensor<4xf32>
  // expected-note@+1 {{it is defined here}}
  %b = stablehlo.abs %x : tensor<4xf32>
  return
}

// -----

func.func @several_errors(%x: tensor<4xf32>) {
  // expected-error@+1 {{transpose_c2}}
  %0 = stablehlo.transpose %x, dims = [1] : (tensor<4xf32>) -> tensor<4xf32>
  // expected-error@+1 {{calls '@gone', which is not defined}}
  call @gone() : () -> ()
  return
}

// -----

func.func @recursive() {
  // expected-error@+1 {{recursive call: @recursive -> @recursive}}
  call @recursive() : () -> ()
  return
}

// -----

func.func @constant() {
  // expected-error@+1 {{256 does not fit i8}}
  %0 = stablehlo.constant dense<[0, 256]> : tensor<2xi8>
  return
}
