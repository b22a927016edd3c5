// RUN: hlo-opt %s --split-input-file --verify-diagnostics

func.func @no_such_element(%t: tuple<tensor<4xf32>>) {
  // expected-error@+1 {{get_tuple_element_c1: index 1 is not in [0, 1)}}
  %0 = hlo.get_tuple_element %t[1] : (tuple<tensor<4xf32>>) -> tensor<4xf32>
  return
}

// -----

func.func @element_of_another_type(%t: tuple<tensor<4xf32>>) {
  // expected-error@+1 {{get_tuple_element_c2: result has type tensor<5xf32>, expected tensor<4xf32>}}
  %0 = hlo.get_tuple_element %t[0] : (tuple<tensor<4xf32>>) -> tensor<5xf32>
  return
}

// -----

func.func @tuple_of_other_types(%x: tensor<4xf32>) {
  // expected-error@+1 {{tuple_c1: result has type tuple<tensor<5xf32>>, the values have types (tensor<4xf32>)}}
  %0 = "hlo.tuple"(%x) : (tensor<4xf32>) -> tuple<tensor<5xf32>>
  return
}
