// RUN: hlo-opt %s --pass-pipeline="decompose-hlo{native-calls=true}" --split-input-file | filecheck %s

// Ones are added at the places that a mask's sum names, and summed; index vectors and bounds change no sum.
// CHECK-LABEL: func.func @places
// CHECK:         %[[P:.*]] = hlo.custom_call @xhlo.nonzero(%mask) {{.*}} : (tensor<90xi1>) -> tensor<40xi32>
// CHECK:         hlo.convert %[[P]] : (tensor<40xi32>) -> tensor<40xi64>
func.func @places(%mask: tensor<90xi1>) -> tensor<40xi64> {
  %none = hlo.constant dense<0> : tensor<i64>
  %zeros = hlo.constant dense<0> : tensor<40xi64>
  %ones = hlo.constant dense<1> : tensor<90xi64>
  %least = hlo.broadcast_in_dim %none, dims = [] : (tensor<i64>) -> tensor<90xi64>
  %0 = hlo.convert %mask : (tensor<90xi1>) -> tensor<90xi64>
  %1 = "hlo.reduce_window"(%0, %none) <{padding = dense<[[89, 0]]> : tensor<1x2xi64>, window_dimensions = array<i64: 90>}> ({
  ^bb0(%a: tensor<i64>, %b: tensor<i64>):
    %s = hlo.add %a, %b : tensor<i64>
    hlo.return %s : tensor<i64>
  }) : (tensor<90xi64>, tensor<i64>) -> tensor<90xi64>
  %2 = hlo.maximum %least, %1 : tensor<90xi64>
  %3 = hlo.broadcast_in_dim %2, dims = [0] : (tensor<90xi64>) -> tensor<90x1xi64>
  %4 = "hlo.scatter"(%zeros, %3, %ones) <{scatter_dimension_numbers = #hlo.scatter<inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>}> ({
  ^bb0(%a: tensor<i64>, %b: tensor<i64>):
    %s = hlo.add %a, %b : tensor<i64>
    hlo.return %s : tensor<i64>
  }) : (tensor<40xi64>, tensor<90x1xi64>, tensor<90xi64>) -> tensor<40xi64>
  %5 = "hlo.reduce_window"(%4, %none) <{padding = dense<[[39, 0]]> : tensor<1x2xi64>, window_dimensions = array<i64: 40>}> ({
  ^bb0(%a: tensor<i64>, %b: tensor<i64>):
    %s = hlo.add %a, %b : tensor<i64>
    hlo.return %s : tensor<i64>
  }) : (tensor<40xi64>, tensor<i64>) -> tensor<40xi64>
  return %5 : tensor<40xi64>
}

// -----

// Counts of equal numbers: nothing says that they ascend.
// CHECK-LABEL: func.func @counts
// CHECK-NOT:     xhlo.nonzero
func.func @counts(%index: tensor<90x1xi32>) -> tensor<40xi32> {
  %none = hlo.constant dense<0> : tensor<i32>
  %zeros = hlo.constant dense<0> : tensor<40xi32>
  %ones = hlo.constant dense<1> : tensor<90xi32>
  %0 = "hlo.scatter"(%zeros, %index, %ones) <{scatter_dimension_numbers = #hlo.scatter<inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>}> ({
  ^bb0(%a: tensor<i32>, %b: tensor<i32>):
    %s = hlo.add %a, %b : tensor<i32>
    hlo.return %s : tensor<i32>
  }) : (tensor<40xi32>, tensor<90x1xi32>, tensor<90xi32>) -> tensor<40xi32>
  %1 = "hlo.reduce_window"(%0, %none) <{padding = dense<[[39, 0]]> : tensor<1x2xi64>, window_dimensions = array<i64: 40>}> ({
  ^bb0(%a: tensor<i32>, %b: tensor<i32>):
    %s = hlo.add %a, %b : tensor<i32>
    hlo.return %s : tensor<i32>
  }) : (tensor<40xi32>, tensor<i32>) -> tensor<40xi32>
  return %1 : tensor<40xi32>
}
