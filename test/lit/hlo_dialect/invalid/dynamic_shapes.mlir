// RUN: hlo-opt %s --split-input-file --verify-diagnostics

func.func @broadcast(%x: tensor<2x3xf32>, %s: tensor<3xi64>, %t: tensor<2xi64>, %f: tensor<3xf32>) {
  // expected-error@+1 {{dynamic_broadcast_in_dim_i2: output_dimensions has type tensor<3xf32>, expected integers in one dimension}}
  %0 = hlo.dynamic_broadcast_in_dim %x, %f, dims = [0, 1] : (tensor<2x3xf32>, tensor<3xf32>) -> tensor<?x?x?xf32>
  // expected-error@+1 {{dynamic_broadcast_in_dim_c1}}
  %1 = hlo.dynamic_broadcast_in_dim %x, %s, dims = [0, 1] : (tensor<2x3xf32>, tensor<3xi64>) -> tensor<?x?x?xf64>
  // expected-error@+1 {{dynamic_broadcast_in_dim_c2}}
  %2 = hlo.dynamic_broadcast_in_dim %x, %s, dims = [0] : (tensor<2x3xf32>, tensor<3xi64>) -> tensor<?x?x?xf32>
  // expected-error@+1 {{dynamic_broadcast_in_dim_c3: broadcast_dimensions (0, 3) are not all in [0, 3)}}
  %3 = hlo.dynamic_broadcast_in_dim %x, %s, dims = [0, 3] : (tensor<2x3xf32>, tensor<3xi64>) -> tensor<?x?x?xf32>
  // expected-error@+1 {{dynamic_broadcast_in_dim_c4: broadcast_dimensions (1, 1) are not unique}}
  %4 = hlo.dynamic_broadcast_in_dim %x, %s, dims = [1, 1] : (tensor<2x3xf32>, tensor<3xi64>) -> tensor<?x?x?xf32>
  // expected-error@+1 {{dynamic_broadcast_in_dim_c5: a dimension of size 3, neither 1 nor the size of result dimension 1}}
  %5 = hlo.dynamic_broadcast_in_dim %x, %s, dims = [0, 1] : (tensor<2x3xf32>, tensor<3xi64>) -> tensor<?x4x?xf32>
  // expected-error@+1 {{dynamic_broadcast_in_dim_c7: output_dimensions of type tensor<2xi64> has not 3 elements, the result's rank}}
  %6 = hlo.dynamic_broadcast_in_dim %x, %t, dims = [0, 1] : (tensor<2x3xf32>, tensor<2xi64>) -> tensor<?x?x?xf32>
  // expected-error@+1 {{dynamic_broadcast_in_dim_c8}}
  %7 = hlo.dynamic_broadcast_in_dim %x, %s, dims = [0, 1] {known_expanding_dimensions = array<i64: 0>, known_nonexpanding_dimensions = array<i64: 0>} : (tensor<2x3xf32>, tensor<3xi64>) -> tensor<?x?x?xf32>
  // expected-error@+1 {{dynamic_broadcast_in_dim_c9: known_expanding_dimensions (2,) are not all in [0, 2)}}
  %8 = hlo.dynamic_broadcast_in_dim %x, %s, dims = [0, 1] {known_expanding_dimensions = array<i64: 2>} : (tensor<2x3xf32>, tensor<3xi64>) -> tensor<?x?x?xf32>
  // expected-error@+1 {{dynamic_broadcast_in_dim_c10: known_nonexpanding_dimensions (-1,) are not all in [0, 2)}}
  %9 = hlo.dynamic_broadcast_in_dim %x, %s, dims = [0, 1] {known_nonexpanding_dimensions = array<i64: -1>} : (tensor<2x3xf32>, tensor<3xi64>) -> tensor<?x?x?xf32>
  return
}

// -----

func.func @iota(%s: tensor<2xi64>, %m: tensor<1x2xi64>) {
  // expected-error@+1 {{dynamic_iota_i1}}
  %0 = hlo.dynamic_iota %m, dim = 0 : (tensor<1x2xi64>) -> tensor<?x?xi32>
  // expected-error@+1 {{dynamic_iota_o1}}
  %1 = hlo.dynamic_iota %s, dim = 0 : (tensor<2xi64>) -> tensor<?x?xi1>
  // expected-error@+1 {{dynamic_iota_c1: iota_dimension 2 is not in [0, 2), the result's dimensions}}
  %2 = hlo.dynamic_iota %s, dim = 2 : (tensor<2xi64>) -> tensor<?x?xi32>
  // expected-error@+1 {{dynamic_iota_c2}}
  %3 = hlo.dynamic_iota %s, dim = 0 : (tensor<2xi64>) -> tensor<?xi32>
  return
}

// -----

func.func @reshape(%x: tensor<2x3xf32>, %s: tensor<2xi64>, %f: tensor<2xf32>) {
  // expected-error@+1 {{dynamic_reshape_i2}}
  %0 = hlo.dynamic_reshape %x, %f : (tensor<2x3xf32>, tensor<2xf32>) -> tensor<?x?xf32>
  // expected-error@+1 {{dynamic_reshape_c1}}
  %1 = hlo.dynamic_reshape %x, %s : (tensor<2x3xf32>, tensor<2xi64>) -> tensor<?x?xi32>
  // expected-error@+1 {{dynamic_reshape_c2: operand has 6 elements and the result 8}}
  %2 = hlo.dynamic_reshape %x, %s : (tensor<2x3xf32>, tensor<2xi64>) -> tensor<2x4xf32>
  // expected-error@+1 {{dynamic_reshape_c4}}
  %3 = hlo.dynamic_reshape %x, %s : (tensor<2x3xf32>, tensor<2xi64>) -> tensor<?xf32>
  return
}

// -----

func.func @pad(%x: tensor<2x3xf32>, %z: tensor<f32>, %o: tensor<1xf32>, %i: tensor<i32>, %s: tensor<2xi64>, %t: tensor<3xi64>, %f: tensor<2xf32>) {
  %n = hlo.constant dense<[0, -1]> : tensor<2xi64>
  %p = hlo.constant dense<[1, 0]> : tensor<2xi64>
  // expected-error@+1 {{dynamic_pad_i2: padding_value has type tensor<1xf32>, expected a scalar}}
  %0 = hlo.dynamic_pad %x, %o, %s, %s, %s : (tensor<2x3xf32>, tensor<1xf32>, tensor<2xi64>, tensor<2xi64>, tensor<2xi64>) -> tensor<?x?xf32>
  // expected-error@+1 {{dynamic_pad_i3}}
  %1 = hlo.dynamic_pad %x, %z, %f, %s, %s : (tensor<2x3xf32>, tensor<f32>, tensor<2xf32>, tensor<2xi64>, tensor<2xi64>) -> tensor<?x?xf32>
  // expected-error@+1 {{dynamic_pad_i4}}
  %2 = hlo.dynamic_pad %x, %z, %s, %f, %s : (tensor<2x3xf32>, tensor<f32>, tensor<2xi64>, tensor<2xf32>, tensor<2xi64>) -> tensor<?x?xf32>
  // expected-error@+1 {{dynamic_pad_i5}}
  %3 = hlo.dynamic_pad %x, %z, %s, %s, %f : (tensor<2x3xf32>, tensor<f32>, tensor<2xi64>, tensor<2xi64>, tensor<2xf32>) -> tensor<?x?xf32>
  // expected-error@+1 {{dynamic_pad_c1: operand, padding_value and result have element types f32, i32 and f32}}
  %4 = hlo.dynamic_pad %x, %i, %s, %s, %s : (tensor<2x3xf32>, tensor<i32>, tensor<2xi64>, tensor<2xi64>, tensor<2xi64>) -> tensor<?x?xf32>
  // expected-error@+1 {{dynamic_pad_c2: edge_padding_high of type tensor<3xi64> has not 2 elements, the operand's rank}}
  %5 = hlo.dynamic_pad %x, %z, %s, %t, %s : (tensor<2x3xf32>, tensor<f32>, tensor<2xi64>, tensor<3xi64>, tensor<2xi64>) -> tensor<?x?xf32>
  // expected-error@+1 {{dynamic_pad_c3: interior_padding (0, -1) is not all at least 0}}
  %6 = hlo.dynamic_pad %x, %z, %s, %s, %n : (tensor<2x3xf32>, tensor<f32>, tensor<2xi64>, tensor<2xi64>, tensor<2xi64>) -> tensor<?x?xf32>
  // expected-error@+1 {{dynamic_pad_c4: result has type tensor<5x3xf32>, expected tensor<4x2xf32>}}
  %7 = hlo.dynamic_pad %x, %z, %p, %n, %p : (tensor<2x3xf32>, tensor<f32>, tensor<2xi64>, tensor<2xi64>, tensor<2xi64>) -> tensor<5x3xf32>
  return
}

// -----

func.func @constant_shapes(%x: tensor<2x3xf32>) {
  %s = hlo.constant dense<[3, 2]> : tensor<2xi64>
  %n = hlo.constant dense<[-3, -2]> : tensor<2xi64>
  // expected-error@+1 {{dynamic_reshape_c4: the result of type tensor<2x3xf32> is to have the shape (3, 2)}}
  %0 = hlo.dynamic_reshape %x, %s : (tensor<2x3xf32>, tensor<2xi64>) -> tensor<2x3xf32>
  // expected-error@+1 {{dynamic_reshape_c4: the result of type tensor<?x?xf32> is to have the shape (-3, -2)}}
  %1 = hlo.dynamic_reshape %x, %n : (tensor<2x3xf32>, tensor<2xi64>) -> tensor<?x?xf32>
  // expected-error@+1 {{dynamic_iota_c2: the result of type tensor<?x3xi32> is to have the shape (3, 2)}}
  %2 = hlo.dynamic_iota %s, dim = 0 : (tensor<2xi64>) -> tensor<?x3xi32>
  // expected-error@+1 {{dynamic_broadcast_in_dim_c7: the result of type tensor<2x3xf32> is to have the shape (3, 2)}}
  %3 = hlo.dynamic_broadcast_in_dim %x, %s, dims = [0, 1] : (tensor<2x3xf32>, tensor<2xi64>) -> tensor<2x3xf32>
  return
}

// -----

func.func @slice(%x: tensor<2x3xf32>, %s: tensor<2xi64>, %t: tensor<3xi64>, %f: tensor<2xf32>) {
  // expected-error@+1 {{real_dynamic_slice_i2}}
  %0 = hlo.real_dynamic_slice %x, %f, %s, %s : (tensor<2x3xf32>, tensor<2xf32>, tensor<2xi64>, tensor<2xi64>) -> tensor<?x?xf32>
  // expected-error@+1 {{real_dynamic_slice_i3}}
  %1 = hlo.real_dynamic_slice %x, %s, %f, %s : (tensor<2x3xf32>, tensor<2xi64>, tensor<2xf32>, tensor<2xi64>) -> tensor<?x?xf32>
  // expected-error@+1 {{real_dynamic_slice_i4}}
  %2 = hlo.real_dynamic_slice %x, %s, %s, %f : (tensor<2x3xf32>, tensor<2xi64>, tensor<2xi64>, tensor<2xf32>) -> tensor<?x?xf32>
  // expected-error@+1 {{real_dynamic_slice_c1}}
  %3 = hlo.real_dynamic_slice %x, %s, %s, %s : (tensor<2x3xf32>, tensor<2xi64>, tensor<2xi64>, tensor<2xi64>) -> tensor<?x?xi32>
  // expected-error@+1 {{real_dynamic_slice_c2}}
  %4 = hlo.real_dynamic_slice %x, %s, %s, %s : (tensor<2x3xf32>, tensor<2xi64>, tensor<2xi64>, tensor<2xi64>) -> tensor<?xf32>
  // expected-error@+1 {{real_dynamic_slice_c3: limit_indices of type tensor<3xi64> has not 2 elements}}
  %5 = hlo.real_dynamic_slice %x, %s, %t, %s : (tensor<2x3xf32>, tensor<2xi64>, tensor<3xi64>, tensor<2xi64>) -> tensor<?x?xf32>
  %zeros = hlo.constant dense<0> : tensor<2xi64>
  %ones = hlo.constant dense<1> : tensor<2xi64>
  %many = hlo.constant dense<1000000> : tensor<2xi64>
  // expected-error@+1 {{real_dynamic_slice_c4: dimension 0 of tensor<2x3xf32> is to be sliced from 0 to 1000000 by 1}}
  %6 = hlo.real_dynamic_slice %x, %zeros, %many, %ones : (tensor<2x3xf32>, tensor<2xi64>, tensor<2xi64>, tensor<2xi64>) -> tensor<?x?xf32>
  // expected-error@+1 {{real_dynamic_slice_c4}}
  %7 = hlo.real_dynamic_slice %x, %ones, %zeros, %ones : (tensor<2x3xf32>, tensor<2xi64>, tensor<2xi64>, tensor<2xi64>) -> tensor<?x?xf32>
  // expected-error@+1 {{real_dynamic_slice_c4}}
  %8 = hlo.real_dynamic_slice %x, %many, %s, %ones : (tensor<2x3xf32>, tensor<2xi64>, tensor<2xi64>, tensor<2xi64>) -> tensor<?x?xf32>
  // expected-error@+1 {{real_dynamic_slice_c5: dimension 1 of the result has size 2, expected 1}}
  %9 = hlo.real_dynamic_slice %x, %zeros, %ones, %ones : (tensor<2x3xf32>, tensor<2xi64>, tensor<2xi64>, tensor<2xi64>) -> tensor<1x2xf32>
  return
}

// -----

func.func @sizes(%x: tensor<2x3xf32>, %n: tensor<i32>, %f: tensor<f32>) {
  // expected-error@+1 {{get_dimension_size_c1: dimension 2 is not in [0, 2), the operand's dimensions}}
  %0 = hlo.get_dimension_size %x, dim = 2 : (tensor<2x3xf32>) -> tensor<i32>
  // expected-error@+1 {{get_dimension_size_o1}}
  %1 = hlo.get_dimension_size %x, dim = 1 : (tensor<2x3xf32>) -> tensor<i64>
  // expected-error@+1 {{set_dimension_size_c1}}
  %2 = hlo.set_dimension_size %x, %n, dim = -1 : (tensor<2x3xf32>, tensor<i32>) -> tensor<2x3xf32>
  // expected-error@+1 {{set_dimension_size_i2}}
  %3 = hlo.set_dimension_size %x, %f, dim = 1 : (tensor<2x3xf32>, tensor<f32>) -> tensor<2x3xf32>
  // expected-error@+1 {{set_dimension_size_c2: result has type tensor<3x?xf32>, expected tensor<2x3xf32> but for dimension 1}}
  %4 = hlo.set_dimension_size %x, %n, dim = 1 : (tensor<2x3xf32>, tensor<i32>) -> tensor<3x?xf32>
  // One of the same types is valid beside it.
  %two = hlo.constant dense<2> : tensor<i32>
  %cut = hlo.set_dimension_size %x, %two, dim = 1 : (tensor<2x3xf32>, tensor<i32>) -> tensor<2x?xf32>
  %four = hlo.constant dense<4> : tensor<i32>
  // expected-error@+1 {{set_dimension_size_c3: dimension 1 of tensor<2x3xf32> is to have size 4}}
  %5 = hlo.set_dimension_size %x, %four, dim = 1 : (tensor<2x3xf32>, tensor<i32>) -> tensor<2x?xf32>
  return
}

// -----

// Operands that are constants must give the shape of the result.
func.func @constants(%x: tensor<2x3xf32>, %v: tensor<3xf32>, %y: tensor<?x3xf32>) {
  %s = hlo.constant dense<[2, 3]> : tensor<2xi64>
  %t = hlo.constant dense<[4, 2]> : tensor<2xi64>
  %n = hlo.constant dense<[-1, 3]> : tensor<2xi64>
  %o = hlo.constant dense<1> : tensor<2xi64>
  %0 = hlo.dynamic_broadcast_in_dim %v, %s, dims = [1] : (tensor<3xf32>, tensor<2xi64>) -> tensor<2x3xf32>
  // expected-error@+1 {{dynamic_broadcast_in_dim_c7: the result of type tensor<2x3xf32> is to have the shape (4, 2)}}
  %1 = hlo.dynamic_broadcast_in_dim %v, %t, dims = [1] : (tensor<3xf32>, tensor<2xi64>) -> tensor<2x3xf32>
  // expected-error@+1 {{dynamic_broadcast_in_dim_c5: a dimension of size 3 is to be broadcast along 1 of output_dimensions (4, 2)}}
  %2 = hlo.dynamic_broadcast_in_dim %v, %t, dims = [1] : (tensor<3xf32>, tensor<2xi64>) -> tensor<?x?xf32>
  %3 = hlo.dynamic_iota %s, dim = 0 : (tensor<2xi64>) -> tensor<?x3xi32>
  // expected-error@+1 {{dynamic_iota_c2: the result of type tensor<?x3xi32> is to have the shape (4, 2)}}
  %4 = hlo.dynamic_iota %t, dim = 0 : (tensor<2xi64>) -> tensor<?x3xi32>
  // expected-error@+1 {{dynamic_iota_c2: the result of type tensor<?x?xi32> is to have the shape (-1, 3)}}
  %5 = hlo.dynamic_iota %n, dim = 0 : (tensor<2xi64>) -> tensor<?x?xi32>
  // expected-error@+1 {{dynamic_reshape_c4: the result of type tensor<3x2xf32> is to have the shape (2, 3)}}
  %6 = hlo.dynamic_reshape %x, %s : (tensor<2x3xf32>, tensor<2xi64>) -> tensor<3x2xf32>
  // expected-error@+1 {{dynamic_reshape_c2: operand has 6 elements and output_shape is (4, 2)}}
  %7 = hlo.dynamic_reshape %x, %t : (tensor<2x3xf32>, tensor<2xi64>) -> tensor<?x?xf32>
  // expected-error@+1 {{real_dynamic_slice_c4: dimension 0 of tensor<2x3xf32> is to be sliced from 4 to 2 by 1}}
  %8 = hlo.real_dynamic_slice %x, %t, %s, %o : (tensor<2x3xf32>, tensor<2xi64>, tensor<2xi64>, tensor<2xi64>) -> tensor<?x?xf32>
  // expected-error@+1 {{real_dynamic_slice_c4: dimension 0 of tensor<?x3xf32> is to be sliced from 1 to 2 by -1}}
  %9 = hlo.real_dynamic_slice %y, %o, %s, %n : (tensor<?x3xf32>, tensor<2xi64>, tensor<2xi64>, tensor<2xi64>) -> tensor<?x?xf32>
  // expected-error@+1 {{real_dynamic_slice_c5: dimension 1 of the result has size 3, expected 2}}
  %10 = hlo.real_dynamic_slice %y, %o, %s, %o : (tensor<?x3xf32>, tensor<2xi64>, tensor<2xi64>, tensor<2xi64>) -> tensor<?x3xf32>
  return
}
