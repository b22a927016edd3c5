// RUN: hlo-opt %s --split-input-file --verify-diagnostics

func.func @row_without_dimensions(%x: tensor<4xf32>) {
  // expected-error@+1 {{fusion_c4: row_dims is given for the kind row, and for no other}}
  %0 = hlo.fusion row (%a = %x : tensor<4xf32>) -> tensor<4xf32> {
    hlo.return %a : tensor<4xf32>
  }
  return
}

// -----

func.func @loop_of_two_shapes(%x: tensor<4xf32>, %y: tensor<5xf32>) {
  // expected-error@+1 {{fusion_c5: the results of a loop fusion have different shapes (4), (5)}}
  %0:2 = hlo.fusion loop (%a = %x : tensor<4xf32>, %b = %y : tensor<5xf32>) -> (tensor<4xf32>, tensor<5xf32>) {
    hlo.return %a, %b : tensor<4xf32>, tensor<5xf32>
  }
  return
}

// -----

func.func @dot_without_dot(%x: tensor<4xf32>) {
  // expected-error@+1 {{fusion_c5: a dot fusion holds exactly one hlo.dot_general or hlo.convolution}}
  %0 = hlo.fusion dot (%a = %x : tensor<4xf32>) -> tensor<4xf32> {
    hlo.return %a : tensor<4xf32>
  }
  return
}

// -----

func.func @row_dimension_reduced(%x: tensor<4x8x2xf32>, %c: tensor<f32>) {
  // expected-error@+1 {{fusion_c6: a reduction over (0,) reduces some of the 2 row dimensions}}
  %0 = hlo.fusion row<2> (%a = %x : tensor<4x8x2xf32>, %b = %c : tensor<f32>) -> tensor<8x2xf32> {
    %s = hlo.reduce(%a init: %b) applies hlo.add across dimensions = [0] : (tensor<4x8x2xf32>, tensor<f32>) -> tensor<8x2xf32>
    hlo.return %s : tensor<8x2xf32>
  }
  return
}

// -----

func.func @result_of_another_type(%x: tensor<4xf32>) {
  // expected-error@+1 {{fusion_c3: result has type tensor<5xf32>, expected tensor<4xf32>}}
  %0 = hlo.fusion loop (%a = %x : tensor<4xf32>) -> tensor<5xf32> {
    hlo.return %a : tensor<4xf32>
  }
  return
}

// -----

func.func @custom_of_two_operations(%x: tensor<4xf32>) {
  // expected-error@+1 {{fusion_c5: a custom fusion holds one operation, those of a loop that follows, and hlo.return}}
  %0 = hlo.fusion custom (%a = %x : tensor<4xf32>) -> tensor<4xf32> {
    %1 = hlo.negate %a : tensor<4xf32>
    %2 = hlo.abs %1 : tensor<4xf32>
    hlo.return %2 : tensor<4xf32>
  }
  return
}

// -----

func.func @body_of_another_type(%x: tensor<4xf32>) {
  // expected-error@+1 {{fusion_c2: body takes (tensor<5xf32>), the operands have types (tensor<4xf32>)}}
  %0 = "hlo.fusion"(%x) <{kind = "loop"}> ({
  ^bb0(%a: tensor<5xf32>):
    hlo.return %a : tensor<5xf32>
  }) : (tensor<4xf32>) -> tensor<5xf32>
  return
}

// -----

func.func @two_concatenations(%x: tensor<4xf32>) {
  // expected-error@+1 {{fusion_c5: a concatenate fusion holds exactly one hlo.concatenate that is no part of another}}
  %0:2 = hlo.fusion concatenate (%a = %x : tensor<4xf32>) -> (tensor<8xf32>, tensor<8xf32>) {
    %1 = hlo.concatenate %a, %a, dim = 0 : (tensor<4xf32>, tensor<4xf32>) -> tensor<8xf32>
    %2 = hlo.concatenate %a, %a, dim = 0 : (tensor<4xf32>, tensor<4xf32>) -> tensor<8xf32>
    hlo.return %1, %2 : tensor<8xf32>, tensor<8xf32>
  }
  return
}
