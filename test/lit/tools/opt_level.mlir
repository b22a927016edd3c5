// --opt-level chooses the optional passes: none, without loops, the default, with higher limits.
// RUN: hlo-opt %s --fuse --opt-level=0 | filecheck %s --check-prefix=ZERO
// RUN: hlo-opt %s --fuse --opt-level=1 | filecheck %s --check-prefix=ONE
// RUN: hlo-opt %s --fuse | filecheck %s --check-prefix=TWO
// RUN: hlo-opt %s --fuse --opt-level=2 | filecheck %s --check-prefix=TWO
// RUN: hlo-opt %s --fuse --opt-level=3 --dump-pass-pipeline -o /dev/null 2>&1 | filecheck %s --check-prefix=THREE
// RUN: hlo-opt %s --fuse | hlo-run --opt-level=0 --input=4xf32=3 | filecheck %s --check-prefix=RESULT
// RUN: not hlo-opt %s --opt-level=4 2>&1 | filecheck %s --check-prefix=WRONG

// ZERO:     hlo.fusion loop
// ZERO:     hlo.multiply
// ZERO:     hlo.fusion loop
// ZERO:     hlo.multiply
// ZERO:     hlo.while

// ONE:      hlo.while
// ONE:      hlo.fusion
// ONE-NOT:  hlo.multiply {{.*}}hlo.multiply

// TWO:      hlo.fusion loop
// TWO:      hlo.while

// THREE:    unroll-loops{most_iterations=32 most_operations=1600}

// RESULT:   result 0: float32[4]
// RESULT:   [54., 54., 54., 54.]

// WRONG:    --opt-level is one of 0, 1, 2, 3, not '4'
func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  %square = stablehlo.multiply %x, %x : tensor<4xf32>
  %same = stablehlo.multiply %x, %x : tensor<4xf32>
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %three = stablehlo.constant dense<3> : tensor<i32>
  %one = stablehlo.constant dense<1> : tensor<i32>
  %0:2 = stablehlo.while(%i = %zero, %y = %square) : tensor<i32>, tensor<4xf32>
    cond {
      %1 = stablehlo.compare LT, %i, %three : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %1 : tensor<i1>
    } do {
      %1 = stablehlo.add %i, %one : tensor<i32>
      %2 = stablehlo.add %y, %same : tensor<4xf32>
      stablehlo.return %1, %2 : tensor<i32>, tensor<4xf32>
    }
  %3 = stablehlo.add %0#1, %same : tensor<4xf32>
  %4 = stablehlo.add %3, %square : tensor<4xf32>
  return %4 : tensor<4xf32>
}
