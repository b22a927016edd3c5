// RUN: hlo-opt %s --convert-hlo-to-linalg --split-input-file --verify-diagnostics

// expected-error@+1 {{has a value of type tensor<4xcomplex<f32>>: run --split-complex before}}
func.func private @complex(%z: tensor<4xcomplex<f32>>) -> tensor<4xcomplex<f32>> attributes {hlo.kernel = "loop"} {
  %0 = hlo.add %z, %z : tensor<4xcomplex<f32>>
  return %0 : tensor<4xcomplex<f32>>
}

// -----

func.func private @made_complex(%x: tensor<4xf32>) -> tensor<4xf32> attributes {hlo.kernel = "loop"} {
  // expected-error@+1 {{'hlo.convert' op has a value of type tensor<4xcomplex<f32>>: run --split-complex before}}
  %0 = hlo.convert %x : (tensor<4xf32>) -> tensor<4xcomplex<f32>>
  %1 = hlo.real %0 : (tensor<4xcomplex<f32>>) -> tensor<4xf32>
  return %1 : tensor<4xf32>
}

// -----

// expected-error@+1 {{'func.func' op has a value of type tensor<4xtf32>, whose element type is not supported}}
func.func private @tensor_float(%x: tensor<4xtf32>) -> tensor<4xtf32> attributes {hlo.kernel = "loop"} {
  return %x : tensor<4xtf32>
}

// -----

// expected-error@+1 {{'func.func' op has a value of type tensor<?xf32>; convert-hlo-to-linalg needs static shapes}}
func.func private @unknown_shape(%x: tensor<?xf32>) -> tensor<?xf32> attributes {hlo.kernel = "loop"} {
  %0 = hlo.add %x, %x : tensor<?xf32>
  return %0 : tensor<?xf32>
}

// -----

func.func private @no_pattern(%x: tensor<4xf32>) -> tensor<4xf32> attributes {hlo.kernel = "loop"} {
  // expected-error@+1 {{'hlo.custom_call' op calls the target 'elsewhere', which is not registered}}
  %0 = hlo.custom_call @elsewhere(%x) : (tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}

// -----

func.func private @reducer(%x: tensor<4xf32>, %i: tensor<f32>) -> tensor<f32> attributes {hlo.kernel = "reduce"} {
  %s = hlo.reduce(%x init: %i) across dimensions = [0] : (tensor<4xf32>, tensor<f32>) -> tensor<f32>
   reducer(%a: tensor<f32>, %b: tensor<f32>) {
    // expected-error@+1 {{'hlo.optimization_barrier' op is not supported inside a reducer}}
    %o:2 = hlo.optimization_barrier %a, %b : tensor<f32>, tensor<f32>
    %r = hlo.add %o#0, %o#1 : tensor<f32>
    hlo.return %r : tensor<f32>
  }
  return %s : tensor<f32>
}
