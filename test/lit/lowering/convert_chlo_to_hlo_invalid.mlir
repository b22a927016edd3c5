// RUN: hlo-opt %s --convert-chlo-to-hlo --verify-diagnostics

func.func @unknown_shape(%x: tensor<?xf32>) -> tensor<?xf32> {
  // expected-error@+1 {{'chlo.erf' op cannot be decomposed: the shape of tensor<?xf32> is unknown}}
  %0 = chlo.erf %x : tensor<?xf32> -> tensor<?xf32>
  return %0 : tensor<?xf32>
}
