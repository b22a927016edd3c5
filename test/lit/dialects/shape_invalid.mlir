// RUN: hlo-opt --split-input-file --verify-diagnostics %s

func.func @kinds(%x: tensor<2x3xf32>, %s: !shape.shape, %i: tensor<2xi32>, %n: tensor<3xindex>) {
  // expected-error@+1 {{operand #0 has type tensor<2xi32>, which the operation does not take}}
  %0 = shape.num_elements %i : tensor<2xi32> -> index
  // expected-error@+1 {{result has type tensor<2xi32>, which the operation does not give}}
  %1 = shape.shape_of %x : tensor<2x3xf32> -> tensor<2xi32>
  // expected-error@+1 {{result has type tensor<3xindex>, but the operand has rank 2}}
  %2 = shape.shape_of %x : tensor<2x3xf32> -> tensor<3xindex>
  // expected-error@+1 {{an operand may be an error, which the result's type index cannot be}}
  %3 = shape.num_elements %s : !shape.shape -> index
  // expected-error@+1 {{has 1 operands and 1 results, expected 2 or more and 1}}
  %4 = shape.broadcast %n : tensor<3xindex> -> tensor<3xindex>
  // expected-error@+1 {{result has type tensor<3xindex> for a shape of rank 2}}
  %5 = shape.const_shape [1, 2] : tensor<3xindex>
  // expected-error@+1 {{has 3 operands and 1 results, expected 2 and 1}}
  %6 = "shape.concat"(%n, %n, %n) : (tensor<3xindex>, tensor<3xindex>, tensor<3xindex>) -> tensor<9xindex>
  return
}

// -----

func.func @yields(%w: !shape.witness, %x: tensor<f32>) {
  // expected-error@+1 {{the region has arguments, or yields other types than those of the results}}
  %0 = shape.assuming %w -> (tensor<i32>) {
    shape.assuming_yield %x : tensor<f32>
  }
  return
}
