// RUN: hlo-opt %s --split-complex --split-input-file --verify-diagnostics | filecheck %s

// CHECK-LABEL: func.func @square
// CHECK-SAME: (%[[A:.*]]: tensor<4xf32>, %[[B:.*]]: tensor<4xf32>)
// CHECK-NEXT: %[[AA:.*]] = hlo.multiply %[[A]], %[[A]]
// CHECK-NEXT: %[[BB:.*]] = hlo.multiply %[[B]], %[[B]]
// CHECK-NEXT: %[[RE:.*]] = hlo.subtract %[[AA]], %[[BB]]
// CHECK-NEXT: %[[AB:.*]] = hlo.multiply %[[A]], %[[B]]
// CHECK-NEXT: %[[BA:.*]] = hlo.multiply %[[B]], %[[A]]
// CHECK-NEXT: %[[IM:.*]] = hlo.add %[[AB]], %[[BA]]
// CHECK-NEXT: func.return %[[RE]], %[[IM]]
func.func @square(%a: tensor<4xf32>, %b: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
  %z = hlo.complex %a, %b : tensor<4xcomplex<f32>>
  %0 = hlo.multiply %z, %z : tensor<4xcomplex<f32>>
  %1 = hlo.real %0 : (tensor<4xcomplex<f32>>) -> tensor<4xf32>
  %2 = hlo.imag %0 : (tensor<4xcomplex<f32>>) -> tensor<4xf32>
  return %1, %2 : tensor<4xf32>, tensor<4xf32>
}

// -----

// A loop carries both parts.

// CHECK-LABEL: func.func @carried
// CHECK-DAG: %[[ONE:.*]] = hlo.constant dense<1.0
// CHECK-DAG: %[[TWO:.*]] = hlo.constant dense<2.0
// CHECK: %[[W:.*]]:2 = hlo.while(%[[RE:.*]] = %[[ONE]], %[[IM:.*]] = %[[TWO]]) : tensor<f32>, tensor<f32>
// CHECK: do {
// CHECK-NEXT: hlo.negate %[[RE]]
// CHECK-NEXT: hlo.negate %[[IM]]
// CHECK: func.return %[[W]]#1
func.func @carried(%p: tensor<i1>) -> tensor<f32> {
  %z = hlo.constant dense<(1.0, 2.0)> : tensor<complex<f32>>
  %0 = hlo.while(%v = %z) : tensor<complex<f32>>
    cond {
      hlo.return %p : tensor<i1>
    } do {
      %1 = hlo.negate %v : tensor<complex<f32>>
      hlo.return %1 : tensor<complex<f32>>
    }
  %2 = hlo.imag %0 : (tensor<complex<f32>>) -> tensor<f32>
  return %2 : tensor<f32>
}

// -----

// Arguments and results are pairs, the layout of complex numbers in memory.

// CHECK-LABEL: func.func @entry
// CHECK-SAME: (%[[Z:.*]]: tensor<3x2xf32> {xhlo.complex}) -> (tensor<3x2xf32> {xhlo.complex}, tensor<3xf32>)
// CHECK-NEXT: %[[C0:.*]] = hlo.slice %[[Z]] [0:3, 0:1] : (tensor<3x2xf32>) -> tensor<3x1xf32>
// CHECK-NEXT: %[[RE:.*]] = hlo.reshape %[[C0]] : (tensor<3x1xf32>) -> tensor<3xf32>
// CHECK-NEXT: %[[C1:.*]] = hlo.slice %[[Z]] [0:3, 1:2] : (tensor<3x2xf32>) -> tensor<3x1xf32>
// CHECK-NEXT: %[[IM:.*]] = hlo.reshape %[[C1]] : (tensor<3x1xf32>) -> tensor<3xf32>
// CHECK-NEXT: %[[NRE:.*]] = hlo.negate %[[RE]]
// CHECK-NEXT: %[[NIM:.*]] = hlo.negate %[[IM]]
// CHECK-NEXT: %[[D0:.*]] = hlo.broadcast_in_dim %[[NRE]], dims = [0] : (tensor<3xf32>) -> tensor<3x2xf32>
// CHECK-NEXT: %[[D1:.*]] = hlo.broadcast_in_dim %[[NIM]], dims = [0] : (tensor<3xf32>) -> tensor<3x2xf32>
// CHECK-NEXT: %[[I:.*]] = hlo.iota dim = 1 : tensor<3x2xi32>
// CHECK-NEXT: %[[ZERO:.*]] = hlo.constant dense<0>
// CHECK-NEXT: %[[FIRST:.*]] = hlo.compare EQ, %[[I]], %[[ZERO]]
// CHECK-NEXT: %[[R:.*]] = hlo.select %[[FIRST]], %[[D0]], %[[D1]]
// CHECK-NEXT: func.return %[[R]], %[[RE]]
func.func @entry(%z: tensor<3xcomplex<f32>>) -> (tensor<3xcomplex<f32>>, tensor<3xf32>) {
  %0 = hlo.negate %z : tensor<3xcomplex<f32>>
  %1 = hlo.real %z : (tensor<3xcomplex<f32>>) -> tensor<3xf32>
  return %0, %1 : tensor<3xcomplex<f32>>, tensor<3xf32>
}

// -----

// A custom call takes and returns pairs; they are the most minor dimension in its layouts.

// CHECK-LABEL: func.func @call
// CHECK: %[[PAIRS:.*]] = hlo.select
// CHECK-NEXT: %[[Q:.*]] = hlo.custom_call @lapack(%[[PAIRS]])
// CHECK-SAME: operand_layouts = [dense<[2, 0, 1]> : tensor<3xindex>]
// CHECK-SAME: result_layouts = [dense<[2, 0, 1]> : tensor<3xindex>]
// CHECK-SAME: xhlo.complex_operands = [true], xhlo.complex_results = [true]
// CHECK-SAME: (tensor<2x2x2xf64>) -> tensor<2x2x2xf64>
// CHECK-NEXT: hlo.slice %[[Q]] [0:2, 0:2, 0:1]
func.func @call(%a: tensor<2x2xf64>) -> tensor<2x2xf64> {
  %z = hlo.complex %a, %a : tensor<2x2xcomplex<f64>>
  %0 = hlo.custom_call @lapack(%z) {operand_layouts = [dense<[0, 1]> : tensor<2xindex>], result_layouts = [dense<[0, 1]> : tensor<2xindex>]} : (tensor<2x2xcomplex<f64>>) -> tensor<2x2xcomplex<f64>>
  %1 = hlo.real %0 : (tensor<2x2xcomplex<f64>>) -> tensor<2x2xf64>
  return %1 : tensor<2x2xf64>
}

// -----

func.func @unknown(%a: tensor<2xf32>) -> tensor<2xf32> {
  %0 = hlo.complex %a, %a : tensor<2xcomplex<f32>>
  // expected-error@+1 {{'hlo.remainder' op is not supported by split-complex}}
  %1 = hlo.remainder %0, %0 : tensor<2xcomplex<f32>>
  %2 = hlo.real %1 : (tensor<2xcomplex<f32>>) -> tensor<2xf32>
  return %2 : tensor<2xf32>
}

// -----

// Values that are only moved are moved as pairs.
// CHECK-LABEL: func.func @moved
// CHECK:         %[[BACK:.*]] = hlo.reverse %{{.*}}, dims = [0] : tensor<4x6x2xf32>
// CHECK:         %[[MOVED:.*]] = hlo.transpose %[[BACK]], dims = [1, 0, 2] : (tensor<4x6x2xf32>) -> tensor<6x4x2xf32>
// CHECK:         func.return %[[MOVED]]
func.func @moved(%z: tensor<4x6xcomplex<f32>>) -> tensor<6x4xcomplex<f32>> {
  %0 = hlo.reverse %z, dims = [0] : tensor<4x6xcomplex<f32>>
  %1 = hlo.transpose %0, dims = [1, 0] : (tensor<4x6xcomplex<f32>>) -> tensor<6x4xcomplex<f32>>
  func.return %1 : tensor<6x4xcomplex<f32>>
}

// -----

// Numbers that only a sum reads are summed as pairs, in one pass.
// CHECK-LABEL: func.func @sum
// CHECK:         %[[ZERO:.*]] = hlo.constant dense<0.000000e+00> : tensor<f32>
// CHECK:         %[[SUM:.*]] = hlo.reduce(%z init: %{{.*}}) applies hlo.add across dimensions = [1] : (tensor<4x6x2xf32>, tensor<f32>) -> tensor<4x2xf32>
// CHECK:         func.return %[[SUM]]
func.func @sum(%z: tensor<4x6xcomplex<f32>>) -> tensor<4xcomplex<f32>> {
  %zero = hlo.constant dense<(0.0, 0.0)> : tensor<complex<f32>>
  %0 = hlo.reduce(%z init: %zero) applies hlo.add across dimensions = [1] : (tensor<4x6xcomplex<f32>>, tensor<complex<f32>>) -> tensor<4xcomplex<f32>>
  func.return %0 : tensor<4xcomplex<f32>>
}

// -----

// Others read these numbers, in one kernel with the sums of both parts; parts that start from different values have their own.
// CHECK-LABEL: func.func @sum_and_more
// CHECK-COUNT-2: hlo.reduce({{.*}} : (tensor<6xf32>, tensor<f32>) -> tensor<f32>
// CHECK-LABEL: func.func @sum_from_one
// CHECK-COUNT-2: hlo.reduce({{.*}} : (tensor<6xf32>, tensor<f32>) -> tensor<f32>
func.func @sum_and_more(%z: tensor<6xcomplex<f32>>) -> (tensor<complex<f32>>, tensor<6xcomplex<f32>>) {
  %zero = hlo.constant dense<(0.0, 0.0)> : tensor<complex<f32>>
  %0 = hlo.reduce(%z init: %zero) applies hlo.add across dimensions = [0] : (tensor<6xcomplex<f32>>, tensor<complex<f32>>) -> tensor<complex<f32>>
  %1 = hlo.multiply %z, %z : tensor<6xcomplex<f32>>
  func.return %0, %1 : tensor<complex<f32>>, tensor<6xcomplex<f32>>
}
func.func @sum_from_one(%z: tensor<6xcomplex<f32>>) -> tensor<complex<f32>> {
  %one = hlo.constant dense<(1.0, 0.0)> : tensor<complex<f32>>
  %0 = hlo.reduce(%z init: %one) applies hlo.add across dimensions = [0] : (tensor<6xcomplex<f32>>, tensor<complex<f32>>) -> tensor<complex<f32>>
  func.return %0 : tensor<complex<f32>>
}

// -----

// Pads and stacks move pairs, computed ones too: neither part is written by itself.
// CHECK-LABEL: func.func @padded
// CHECK:         %[[PADDED:.*]] = hlo.pad %z, %{{.*}}, low = [1, 0, 0], high = [2, 0, 0], interior = [1, 0, 0] : (tensor<4x6x2xf32>, tensor<f32>) -> tensor<10x6x2xf32>
// CHECK-NEXT:    func.return %[[PADDED]]
func.func @padded(%z: tensor<4x6xcomplex<f32>>) -> tensor<10x6xcomplex<f32>> {
  %zero = hlo.constant dense<(0.0, 0.0)> : tensor<complex<f32>>
  %0 = hlo.pad %z, %zero, low = [1, 0], high = [2, 0], interior = [1, 0] : (tensor<4x6xcomplex<f32>>, tensor<complex<f32>>) -> tensor<10x6xcomplex<f32>>
  func.return %0 : tensor<10x6xcomplex<f32>>
}

// CHECK-LABEL: func.func @stacked
// CHECK:         %[[PAIRS:.*]] = hlo.select {{.*}} : tensor<4x6x1x2xi1>, tensor<4x6x1x2xf32>
// CHECK-NEXT:    %[[BOTH:.*]] = hlo.concatenate %{{.*}}, %[[PAIRS]], dim = 2 : (tensor<4x6x1x2xf32>, tensor<4x6x1x2xf32>) -> tensor<4x6x2x2xf32>
// CHECK-NEXT:    %[[FLAT:.*]] = hlo.reshape %[[BOTH]] : (tensor<4x6x2x2xf32>) -> tensor<4x12x2xf32>
// CHECK-NEXT:    func.return %[[FLAT]]
func.func @stacked(%z: tensor<4x6xcomplex<f32>>) -> tensor<4x12xcomplex<f32>> {
  %0 = hlo.negate %z : tensor<4x6xcomplex<f32>>
  %1 = hlo.reshape %z : (tensor<4x6xcomplex<f32>>) -> tensor<4x6x1xcomplex<f32>>
  %2 = hlo.reshape %0 : (tensor<4x6xcomplex<f32>>) -> tensor<4x6x1xcomplex<f32>>
  %3 = hlo.concatenate %1, %2, dim = 2 : (tensor<4x6x1xcomplex<f32>>, tensor<4x6x1xcomplex<f32>>) -> tensor<4x6x2xcomplex<f32>>
  %4 = hlo.reshape %3 : (tensor<4x6x2xcomplex<f32>>) -> tensor<4x12xcomplex<f32>>
  func.return %4 : tensor<4x12xcomplex<f32>>
}

// -----

// A pad with different parts of its value is made of each part.
// CHECK-LABEL: func.func @padded_with_one
// CHECK-COUNT-2: hlo.pad {{.*}} : (tensor<4xf32>, tensor<f32>) -> tensor<6xf32>
// CHECK:         hlo.select
func.func @padded_with_one(%z: tensor<4xcomplex<f32>>) -> tensor<6xcomplex<f32>> {
  %one = hlo.constant dense<(1.0, 0.0)> : tensor<complex<f32>>
  %0 = hlo.pad %z, %one, low = [1], high = [1], interior = [0] : (tensor<4xcomplex<f32>>, tensor<complex<f32>>) -> tensor<6xcomplex<f32>>
  func.return %0 : tensor<6xcomplex<f32>>
}

// -----

// Boxes and windows at computed places are taken of pairs.
// CHECK-LABEL: func.func @box
// CHECK:         %[[ZERO:.*]] = hlo.constant dense<0> : tensor<i32>
// CHECK:         %[[BOX:.*]] = hlo.dynamic_slice %z, %i, %i, %[[ZERO]], sizes = [2, 3, 2] : (tensor<4x6x2xf32>, tensor<i32>, tensor<i32>, tensor<i32>) -> tensor<2x3x2xf32>
// CHECK-NEXT:    func.return %[[BOX]]
func.func @box(%z: tensor<4x6xcomplex<f32>>, %i: tensor<i32>) -> tensor<2x3xcomplex<f32>> {
  %0 = hlo.dynamic_slice %z, %i, %i, sizes = [2, 3] : (tensor<4x6xcomplex<f32>>, tensor<i32>, tensor<i32>) -> tensor<2x3xcomplex<f32>>
  func.return %0 : tensor<2x3xcomplex<f32>>
}

// CHECK-LABEL: func.func @windows
// CHECK:         %[[FOUND:.*]] = "hlo.gather"(%z, %i) <{dimension_numbers = #hlo.gather<offset_dims = [0, 2], collapsed_slice_dims = [1], start_index_map = [1], index_vector_dim = 1>, slice_sizes = array<i64: 4, 1, 2>}>
// CHECK-NEXT:    func.return %[[FOUND]]
func.func @windows(%z: tensor<4x6xcomplex<f32>>, %i: tensor<9xi32>) -> tensor<4x9xcomplex<f32>> {
  %0 = "hlo.gather"(%z, %i) <{dimension_numbers = #hlo.gather<offset_dims = [0], collapsed_slice_dims = [1], start_index_map = [1], index_vector_dim = 1>, slice_sizes = array<i64: 4, 1>}> : (tensor<4x6xcomplex<f32>>, tensor<9xi32>) -> tensor<4x9xcomplex<f32>>
  func.return %0 : tensor<4x9xcomplex<f32>>
}
