// RUN: hlo-opt %s --schedule-kernels --verify-diagnostics
// RUN: not hlo-opt %s -p 'schedule-kernels{worth=-1}' 2>&1 | filecheck %s --check-prefix=WORTH
// WORTH: memory is worth no less than nothing, not -1

// expected-error@+1 {{has a value of type tensor<?xf32>; schedule-kernels needs static shapes}}
func.func @main(%x: tensor<?xf32>) -> tensor<?xf32> {
  %0 = func.call @k(%x) : (tensor<?xf32>) -> tensor<?xf32>
  func.return %0 : tensor<?xf32>
}

func.func private @k(%x: tensor<?xf32>) -> tensor<?xf32> attributes {hlo.kernel = "loop"} {
  func.return %x : tensor<?xf32>
}
