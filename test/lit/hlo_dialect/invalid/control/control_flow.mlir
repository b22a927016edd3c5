// RUN: hlo-opt %s --split-input-file --verify-diagnostics

func.func @condition_is_no_boolean(%n: tensor<i32>) {
  // expected-error@+1 {{while_c1: cond returns (tensor<i32>), expected (tensor<i1>)}}
  %0 = hlo.while(%i = %n) : tensor<i32>
  cond {
    hlo.return %i : tensor<i32>
  } do {
    hlo.return %i : tensor<i32>
  }
  return
}

// -----

func.func @body_forgets_a_value(%p: tensor<i1>, %n: tensor<i32>) {
  // expected-error@+1 {{while_c2: body returns (), expected (tensor<i32>)}}
  %0 = hlo.while(%i = %n) : tensor<i32>
  cond {
    hlo.return %p : tensor<i1>
  } do {
    hlo.return
  }
  return
}

// -----

func.func @branches_differ(%p: tensor<i1>, %x: tensor<2xf32>, %y: tensor<3xf32>) {
  // expected-error@+1 {{if_c2: branch 1 returns (tensor<3xf32>), branch 0 returns (tensor<2xf32>)}}
  %0 = "hlo.if"(%p) ({
    hlo.return %x : tensor<2xf32>
  }, {
    hlo.return %y : tensor<3xf32>
  }) : (tensor<i1>) -> tensor<2xf32>
  return
}

// -----

func.func @branch_with_an_argument(%i: tensor<i32>) {
  // expected-error@+1 {{case_c2: branch 0 takes 1 arguments, expected none}}
  "hlo.case"(%i) ({
  ^bb0(%a: tensor<i32>):
    hlo.return
  }) : (tensor<i32>) -> ()
  return
}

// -----

func.func @no_branches(%i: tensor<i32>) {
  // expected-error@+1 {{case_c1: there are no branches}}
  "hlo.case"(%i) : (tensor<i32>) -> ()
  return
}

// -----

func.func @wide_index(%i: tensor<i64>) {
  // expected-error@+1 {{case_i1: index has type tensor<i64>, expected tensor<i32>}}
  "hlo.case"(%i) ({
    hlo.return
  }) : (tensor<i64>) -> ()
  return
}

// -----

func.func @results_of_other_types(%x: tensor<4xf32>, %p: tensor<i1>, %i: tensor<i32>) {
  // expected-error@+1 {{case_c4: result has type tensor<5xf32>, expected tensor<4xf32>}}
  %0 = "hlo.case"(%i) ({
    hlo.return %x : tensor<4xf32>
  }) : (tensor<i32>) -> tensor<5xf32>
  // expected-error@+1 {{if_c3: result has type tensor<5xf32>, expected tensor<4xf32>}}
  %1 = "hlo.if"(%p) ({
    hlo.return %x : tensor<4xf32>
  }, {
    hlo.return %x : tensor<4xf32>
  }) : (tensor<i1>) -> tensor<5xf32>
  // expected-error@+1 {{while_c3: result has type tensor<5xf32>, expected tensor<4xf32>}}
  %2 = "hlo.while"(%x) ({
  ^bb0(%a: tensor<4xf32>):
    hlo.return %p : tensor<i1>
  }, {
  ^bb0(%a: tensor<4xf32>):
    hlo.return %a : tensor<4xf32>
  }) : (tensor<4xf32>) -> tensor<5xf32>
  // expected-error@+1 {{optimization_barrier_c1: result has type tensor<5xf32>, expected tensor<4xf32>}}
  %3 = "hlo.optimization_barrier"(%x) : (tensor<4xf32>) -> tensor<5xf32>
  return
}

// -----

func.func @branches_that_differ(%x: tensor<4xf32>, %y: tensor<5xf32>, %p: tensor<i1>, %i: tensor<i32>) {
  // expected-error@+1 {{case_c3: branch 1 returns (tensor<5xf32>), branch 0 returns (tensor<4xf32>)}}
  %0 = "hlo.case"(%i) ({
    hlo.return %x : tensor<4xf32>
  }, {
    hlo.return %y : tensor<5xf32>
  }) : (tensor<i32>) -> tensor<4xf32>
  // expected-error@+1 {{if_c1: branch 0 takes 1 arguments, expected none}}
  %1 = "hlo.if"(%p) ({
  ^bb0(%a: tensor<4xf32>):
    hlo.return %a : tensor<4xf32>
  }, {
    hlo.return %x : tensor<4xf32>
  }) : (tensor<i1>) -> tensor<4xf32>
  return
}
