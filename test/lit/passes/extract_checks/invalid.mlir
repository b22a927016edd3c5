// RUN: hlo-opt %s --extract-checks --verify-diagnostics

func.func @main(%p: tensor<i1>, %x: tensor<i32>) -> tensor<i32> {
  %0 = "hlo.if"(%p) ({
    // expected-error@+1 {{is a check inside control flow}}
    hlo.custom_call @check.expect_eq(%x, %x) : (tensor<i32>, tensor<i32>) -> ()
    hlo.return %x : tensor<i32>
  }, {
    hlo.return %x : tensor<i32>
  }) : (tensor<i1>) -> tensor<i32>
  return %0 : tensor<i32>
}
