// Expected diagnostics by place: a line below, the next line, the line above, the same line.
// RUN: hlo-opt %s --split-input-file --verify-diagnostics

func.func @below(%x: tensor<2xf32>) -> tensor<3xf32> {
  // expected-error@+1 {{'func.return' op}}
  return %x : tensor<2xf32>
}

// -----

func.func @next(%x: tensor<2xf32>) -> tensor<3xf32> {
  // expected-error@below {{'func.return' op}}
  return %x : tensor<2xf32>
}

// -----

func.func @above(%x: tensor<2xf32>) -> tensor<3xf32> {
  return %x : tensor<2xf32>
  // expected-error-re@above {{'func.{{[a-z]+}}' op}}
}

// -----

func.func @same(%x: tensor<2xf32>) -> tensor<3xf32> {
  return %x : tensor<2xf32> // expected-error {{'func.return' op}}
}

// -----

func.func @syntax(%x: tensor<2xf32>) {
  // expected-error@+1 {{}}
  %0 = hlo.add %x %x : tensor<2xf32>
  return
}
