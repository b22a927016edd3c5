// RUN: hlo-opt %s --verify-diagnostics

// All errors of a file are reported at once; uses of values from an unreadable statement cause no further errors.
func.func @statements(%x: tensor<4xf32>, %y: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error@+1 {{expected ','}}
  %0 = stablehlo.add %x %y : tensor<4xf32>
  %1 = stablehlo.add %0, %y : tensor<4xf32>
  // expected-error@+1 {{unknown operation 'stablehlo.abbs'; did you mean 'stablehlo.abs'?}}
  %2 = stablehlo.abbs %1 : tensor<4xf32>
  // expected-error@+1 {{unexpected character: $}}
  %3 = stablehlo.abs $ : tensor<4xf32>
  // expected-error@+1 {{operand is used with type tensor<5xf32>}}
  %4 = stablehlo.abs %x : tensor<5xf32>
  // expected-error@+1 {{']' expected}}
  %5 = stablehlo.transpose %x, dims = [0 : (tensor<4xf32>) -> tensor<4xf32>
  // expected-error@+1 {{use of undefined value '%nowhere'}}
  %6 = stablehlo.add %5, %nowhere : tensor<4xf32>
  // expected-error@+1 {{SSA value %6 is already defined}}
  %6 = stablehlo.abs %5 : tensor<4xf32>
  return %6 : tensor<4xf32>
}

// Errors inside regions; an error in the head of an operation skips its regions.
func.func @regions(%x: tensor<4xf32>, %p: tensor<i1>) -> tensor<4xf32> {
  // expected-error@+1 {{expected shape type}}
  %0:2 = stablehlo.while(%i = %x, %k = %x) : tensor<4xf32>, tensor<4xff32>
  cond {
    %c = stablehlo.not_looked_at
    stablehlo.return %c : tensor<i1>
  } do {
    stablehlo.return %i, %k : tensor<4xf32>, tensor<4xf32>
  }
  %1 = "stablehlo.if"(%p) ({
    // expected-error@+1 {{unknown operation 'stablehlo.nothing'}}
    %2 = stablehlo.nothing %x : tensor<4xf32>
    stablehlo.return %2 : tensor<4xf32>
  }, {
    // expected-error@+1 {{unknown operation 'nowhere.op'}}
    %2 = nowhere.op %0#1 : tensor<4xf32>
    stablehlo.return %2 : tensor<4xf32>
  }) : (tensor<i1>) -> tensor<4xf32>
  // expected-error@+1 {{expected the name of a binary operation after 'applies'}}
  %3 = stablehlo.reduce(%x init: %x) applies stablehlo.ad
     across dimensions = [0] : (tensor<4xf32>, tensor<f32>) -> tensor<f32>
  return %1 : tensor<4xf32>
}

// expected-error@+1 {{expected shape type}}
func.func @head(%x: tensor<4xf3>) {
  %0 = stablehlo.not_looked_at
  return
}

func.func @brackets(%x: tensor<2xf32>) {
  // expected-error@+1 {{'}' expected}}
  %0 = "stablehlo.abs"(%x) {a = 1 : i32 : (tensor<2xf32>) -> tensor<2xf32>
  %1 = stablehlo.not_looked_at
  return
}

func.func @afterwards(%x: tensor<4xf32>) {
  // expected-error@+1 {{unknown operation 'stablehlo.nothing'}}
  %0 = stablehlo.nothing %x : tensor<5xf32>
  return
}
