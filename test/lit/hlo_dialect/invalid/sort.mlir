// RUN: hlo-opt %s --split-input-file --verify-diagnostics

func.func @no_inputs() {
  // expected-error@+1 {{sort_c1: there are no inputs}}
  %0 = "hlo.sort"() <{dimension = 0 : i64}> ({
  ^bb0(%a0: tensor<f32>):
    %p = hlo.constant dense<true> : tensor<i1>
    hlo.return %p : tensor<i1>
  }) : () -> tensor<3xf32>
  return
}

// -----

func.func @result_type(%x0: tensor<3x4xf32>) {
  // expected-error@+1 {{sort_c2: result has type tensor<3x4xf64>, expected tensor<3x4xf32>}}
  %0 = "hlo.sort"(%x0) <{dimension = 0 : i64}> ({
  ^bb0(%a0: tensor<f32>, %a1: tensor<f32>):
    %p = hlo.constant dense<true> : tensor<i1>
    hlo.return %p : tensor<i1>
  }) : (tensor<3x4xf32>) -> tensor<3x4xf64>
  return
}

// -----

func.func @result_count(%x0: tensor<3x4xf32>) {
  // expected-error@+1 {{sort_c2: there are 2 results, expected 1}}
  %0:2 = "hlo.sort"(%x0) <{dimension = 0 : i64}> ({
  ^bb0(%a0: tensor<f32>, %a1: tensor<f32>):
    %p = hlo.constant dense<true> : tensor<i1>
    hlo.return %p : tensor<i1>
  }) : (tensor<3x4xf32>) -> (tensor<3x4xf32>, tensor<3x4xf32>)
  return
}

// -----

func.func @shapes(%x0: tensor<3x4xf32>, %x1: tensor<4x3xi32>) {
  // expected-error@+1 {{sort_c3: inputs have different shapes (3, 4) and (4, 3)}}
  %0:2 = "hlo.sort"(%x0, %x1) <{dimension = 0 : i64}> ({
  ^bb0(%a0: tensor<f32>, %a1: tensor<f32>, %a2: tensor<i32>, %a3: tensor<i32>):
    %p = hlo.constant dense<true> : tensor<i1>
    hlo.return %p : tensor<i1>
  }) : (tensor<3x4xf32>, tensor<4x3xi32>) -> (tensor<3x4xf32>, tensor<4x3xi32>)
  return
}

// -----

func.func @dimension(%x0: tensor<3x4xf32>) {
  // expected-error@+1 {{sort_c4: dimension 2 is not in [-2, 2)}}
  %0 = "hlo.sort"(%x0) <{dimension = 2 : i64}> ({
  ^bb0(%a0: tensor<f32>, %a1: tensor<f32>):
    %p = hlo.constant dense<true> : tensor<i1>
    hlo.return %p : tensor<i1>
  }) : (tensor<3x4xf32>) -> tensor<3x4xf32>
  return
}

// -----

func.func @negative_dimension(%x0: tensor<3x4xf32>) {
  // expected-error@+1 {{sort_c4: dimension -3 is not in [-2, 2)}}
  %0 = "hlo.sort"(%x0) <{dimension = -3 : i64}> ({
  ^bb0(%a0: tensor<f32>, %a1: tensor<f32>):
    %p = hlo.constant dense<true> : tensor<i1>
    hlo.return %p : tensor<i1>
  }) : (tensor<3x4xf32>) -> tensor<3x4xf32>
  return
}

// -----

func.func @scalar(%x0: tensor<f32>) {
  // expected-error@+1 {{sort_c4: dimension 0 is not in [-0, 0)}}
  %0 = "hlo.sort"(%x0) <{dimension = 0 : i64}> ({
  ^bb0(%a0: tensor<f32>, %a1: tensor<f32>):
    %p = hlo.constant dense<true> : tensor<i1>
    hlo.return %p : tensor<i1>
  }) : (tensor<f32>) -> tensor<f32>
  return
}

// -----

func.func @comparator_arguments(%x0: tensor<3x4xf32>) {
  // expected-error@+1 {{sort_c5: comparator takes (tensor<f32>) and returns (tensor<i1>), expected (tensor<f32>, tensor<f32>) and (tensor<i1>)}}
  %0 = "hlo.sort"(%x0) <{dimension = 0 : i64}> ({
  ^bb0(%a0: tensor<f32>):
    %p = hlo.constant dense<true> : tensor<i1>
    hlo.return %p : tensor<i1>
  }) : (tensor<3x4xf32>) -> tensor<3x4xf32>
  return
}

// -----

func.func @comparator_types(%x0: tensor<3x4xf32>) {
  // expected-error@+1 {{sort_c5: comparator takes (tensor<f32>, tensor<f64>) and returns (tensor<i1>), expected (tensor<f32>, tensor<f32>) and (tensor<i1>)}}
  %0 = "hlo.sort"(%x0) <{dimension = 0 : i64}> ({
  ^bb0(%a0: tensor<f32>, %a1: tensor<f64>):
    %p = hlo.constant dense<true> : tensor<i1>
    hlo.return %p : tensor<i1>
  }) : (tensor<3x4xf32>) -> tensor<3x4xf32>
  return
}

// -----

func.func @comparator_result(%x0: tensor<3x4xf32>) {
  // expected-error@+1 {{sort_c5: comparator takes (tensor<f32>, tensor<f32>) and returns (tensor<f32>), expected (tensor<f32>, tensor<f32>) and (tensor<i1>)}}
  %0 = "hlo.sort"(%x0) <{dimension = 0 : i64}> ({
  ^bb0(%a0: tensor<f32>, %a1: tensor<f32>):
    hlo.return %a0 : tensor<f32>
  }) : (tensor<3x4xf32>) -> tensor<3x4xf32>
  return
}
