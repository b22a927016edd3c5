// RUN: hlo-opt %s --verify-roundtrip | filecheck %s

// CHECK-LABEL: func.func @functions
func.func @functions(%x: tensor<2x3xf32>, %z: tensor<2xcomplex<f64>>, %d: tensor<?x3xbf16>, %i: tensor<2xui8>) {
  // CHECK: chlo.acos %{{.*}} : tensor<2x3xf32> -> tensor<2x3xf32>
  %0 = chlo.acos %x : tensor<2x3xf32> -> tensor<2x3xf32>
  // CHECK: chlo.acos %{{.*}} : tensor<2xcomplex<f64>> -> tensor<2xcomplex<f64>>
  %1 = chlo.acos %z : tensor<2xcomplex<f64>> -> tensor<2xcomplex<f64>>
  // CHECK: chlo.acos %{{.*}} : tensor<?x3xbf16> -> tensor<?x3xbf16>
  %2 = chlo.acos %d : tensor<?x3xbf16> -> tensor<?x3xbf16>
  // CHECK: chlo.acosh %{{.*}} : tensor<2x3xf32> -> tensor<2x3xf32>
  %3 = chlo.acosh %x : tensor<2x3xf32> -> tensor<2x3xf32>
  // CHECK: chlo.acosh %{{.*}} : tensor<2xcomplex<f64>> -> tensor<2xcomplex<f64>>
  %4 = chlo.acosh %z : tensor<2xcomplex<f64>> -> tensor<2xcomplex<f64>>
  // CHECK: chlo.acosh %{{.*}} : tensor<?x3xbf16> -> tensor<?x3xbf16>
  %5 = chlo.acosh %d : tensor<?x3xbf16> -> tensor<?x3xbf16>
  // CHECK: chlo.asin %{{.*}} : tensor<2x3xf32> -> tensor<2x3xf32>
  %6 = chlo.asin %x : tensor<2x3xf32> -> tensor<2x3xf32>
  // CHECK: chlo.asin %{{.*}} : tensor<2xcomplex<f64>> -> tensor<2xcomplex<f64>>
  %7 = chlo.asin %z : tensor<2xcomplex<f64>> -> tensor<2xcomplex<f64>>
  // CHECK: chlo.asin %{{.*}} : tensor<?x3xbf16> -> tensor<?x3xbf16>
  %8 = chlo.asin %d : tensor<?x3xbf16> -> tensor<?x3xbf16>
  // CHECK: chlo.asinh %{{.*}} : tensor<2x3xf32> -> tensor<2x3xf32>
  %9 = chlo.asinh %x : tensor<2x3xf32> -> tensor<2x3xf32>
  // CHECK: chlo.asinh %{{.*}} : tensor<2xcomplex<f64>> -> tensor<2xcomplex<f64>>
  %10 = chlo.asinh %z : tensor<2xcomplex<f64>> -> tensor<2xcomplex<f64>>
  // CHECK: chlo.asinh %{{.*}} : tensor<?x3xbf16> -> tensor<?x3xbf16>
  %11 = chlo.asinh %d : tensor<?x3xbf16> -> tensor<?x3xbf16>
  // CHECK: chlo.atan %{{.*}} : tensor<2x3xf32> -> tensor<2x3xf32>
  %12 = chlo.atan %x : tensor<2x3xf32> -> tensor<2x3xf32>
  // CHECK: chlo.atan %{{.*}} : tensor<2xcomplex<f64>> -> tensor<2xcomplex<f64>>
  %13 = chlo.atan %z : tensor<2xcomplex<f64>> -> tensor<2xcomplex<f64>>
  // CHECK: chlo.atan %{{.*}} : tensor<?x3xbf16> -> tensor<?x3xbf16>
  %14 = chlo.atan %d : tensor<?x3xbf16> -> tensor<?x3xbf16>
  // CHECK: chlo.atanh %{{.*}} : tensor<2x3xf32> -> tensor<2x3xf32>
  %15 = chlo.atanh %x : tensor<2x3xf32> -> tensor<2x3xf32>
  // CHECK: chlo.atanh %{{.*}} : tensor<2xcomplex<f64>> -> tensor<2xcomplex<f64>>
  %16 = chlo.atanh %z : tensor<2xcomplex<f64>> -> tensor<2xcomplex<f64>>
  // CHECK: chlo.atanh %{{.*}} : tensor<?x3xbf16> -> tensor<?x3xbf16>
  %17 = chlo.atanh %d : tensor<?x3xbf16> -> tensor<?x3xbf16>
  // CHECK: chlo.cosh %{{.*}} : tensor<2x3xf32> -> tensor<2x3xf32>
  %18 = chlo.cosh %x : tensor<2x3xf32> -> tensor<2x3xf32>
  // CHECK: chlo.cosh %{{.*}} : tensor<2xcomplex<f64>> -> tensor<2xcomplex<f64>>
  %19 = chlo.cosh %z : tensor<2xcomplex<f64>> -> tensor<2xcomplex<f64>>
  // CHECK: chlo.cosh %{{.*}} : tensor<?x3xbf16> -> tensor<?x3xbf16>
  %20 = chlo.cosh %d : tensor<?x3xbf16> -> tensor<?x3xbf16>
  // CHECK: chlo.sinh %{{.*}} : tensor<2x3xf32> -> tensor<2x3xf32>
  %21 = chlo.sinh %x : tensor<2x3xf32> -> tensor<2x3xf32>
  // CHECK: chlo.sinh %{{.*}} : tensor<2xcomplex<f64>> -> tensor<2xcomplex<f64>>
  %22 = chlo.sinh %z : tensor<2xcomplex<f64>> -> tensor<2xcomplex<f64>>
  // CHECK: chlo.sinh %{{.*}} : tensor<?x3xbf16> -> tensor<?x3xbf16>
  %23 = chlo.sinh %d : tensor<?x3xbf16> -> tensor<?x3xbf16>
  // CHECK: chlo.tan %{{.*}} : tensor<2x3xf32> -> tensor<2x3xf32>
  %24 = chlo.tan %x : tensor<2x3xf32> -> tensor<2x3xf32>
  // CHECK: chlo.tan %{{.*}} : tensor<2xcomplex<f64>> -> tensor<2xcomplex<f64>>
  %25 = chlo.tan %z : tensor<2xcomplex<f64>> -> tensor<2xcomplex<f64>>
  // CHECK: chlo.tan %{{.*}} : tensor<?x3xbf16> -> tensor<?x3xbf16>
  %26 = chlo.tan %d : tensor<?x3xbf16> -> tensor<?x3xbf16>
  // CHECK: chlo._asin_acos_kernel %{{.*}} : tensor<2xcomplex<f64>> -> tensor<2xcomplex<f64>>
  %27 = chlo._asin_acos_kernel %z : tensor<2xcomplex<f64>> -> tensor<2xcomplex<f64>>
  // CHECK: chlo.conj %{{.*}} : tensor<2xcomplex<f64>> -> tensor<2xcomplex<f64>>
  %28 = chlo.conj %z : tensor<2xcomplex<f64>> -> tensor<2xcomplex<f64>>
  // CHECK: chlo.bessel_i1e %{{.*}} : tensor<2x3xf32> -> tensor<2x3xf32>
  %29 = chlo.bessel_i1e %x : tensor<2x3xf32> -> tensor<2x3xf32>
  // CHECK: chlo.bessel_i1e %{{.*}} : tensor<?x3xbf16> -> tensor<?x3xbf16>
  %30 = chlo.bessel_i1e %d : tensor<?x3xbf16> -> tensor<?x3xbf16>
  // CHECK: chlo.digamma %{{.*}} : tensor<2x3xf32> -> tensor<2x3xf32>
  %31 = chlo.digamma %x : tensor<2x3xf32> -> tensor<2x3xf32>
  // CHECK: chlo.digamma %{{.*}} : tensor<?x3xbf16> -> tensor<?x3xbf16>
  %32 = chlo.digamma %d : tensor<?x3xbf16> -> tensor<?x3xbf16>
  // CHECK: chlo.erf %{{.*}} : tensor<2x3xf32> -> tensor<2x3xf32>
  %33 = chlo.erf %x : tensor<2x3xf32> -> tensor<2x3xf32>
  // CHECK: chlo.erf %{{.*}} : tensor<?x3xbf16> -> tensor<?x3xbf16>
  %34 = chlo.erf %d : tensor<?x3xbf16> -> tensor<?x3xbf16>
  // CHECK: chlo.erf_inv %{{.*}} : tensor<2x3xf32> -> tensor<2x3xf32>
  %35 = chlo.erf_inv %x : tensor<2x3xf32> -> tensor<2x3xf32>
  // CHECK: chlo.erf_inv %{{.*}} : tensor<?x3xbf16> -> tensor<?x3xbf16>
  %36 = chlo.erf_inv %d : tensor<?x3xbf16> -> tensor<?x3xbf16>
  // CHECK: chlo.erfc %{{.*}} : tensor<2x3xf32> -> tensor<2x3xf32>
  %37 = chlo.erfc %x : tensor<2x3xf32> -> tensor<2x3xf32>
  // CHECK: chlo.erfc %{{.*}} : tensor<?x3xbf16> -> tensor<?x3xbf16>
  %38 = chlo.erfc %d : tensor<?x3xbf16> -> tensor<?x3xbf16>
  // CHECK: chlo.lgamma %{{.*}} : tensor<2x3xf32> -> tensor<2x3xf32>
  %39 = chlo.lgamma %x : tensor<2x3xf32> -> tensor<2x3xf32>
  // CHECK: chlo.lgamma %{{.*}} : tensor<?x3xbf16> -> tensor<?x3xbf16>
  %40 = chlo.lgamma %d : tensor<?x3xbf16> -> tensor<?x3xbf16>
  // CHECK: chlo.square %{{.*}} : tensor<2x3xf32> -> tensor<2x3xf32>
  %41 = chlo.square %x : tensor<2x3xf32> -> tensor<2x3xf32>
  // CHECK: chlo.square %{{.*}} : tensor<?x3xbf16> -> tensor<?x3xbf16>
  %42 = chlo.square %d : tensor<?x3xbf16> -> tensor<?x3xbf16>
  // CHECK: chlo.is_inf %{{.*}} : tensor<2x3xf32> -> tensor<2x3xi1>
  %43 = chlo.is_inf %x : tensor<2x3xf32> -> tensor<2x3xi1>
  // CHECK: chlo.is_neg_inf %{{.*}} : tensor<2x3xf32> -> tensor<2x3xi1>
  %44 = chlo.is_neg_inf %x : tensor<2x3xf32> -> tensor<2x3xi1>
  // CHECK: chlo.is_pos_inf %{{.*}} : tensor<2x3xf32> -> tensor<2x3xi1>
  %45 = chlo.is_pos_inf %x : tensor<2x3xf32> -> tensor<2x3xi1>
  // CHECK: chlo.next_after %{{.*}}, %{{.*}} {mine = 1 : i32} : tensor<2x3xf32>, tensor<2x3xf32> -> tensor<2x3xf32>
  %46 = chlo.next_after %x, %x {mine = 1 : i32} : tensor<2x3xf32>, tensor<2x3xf32> -> tensor<2x3xf32>
  // CHECK: chlo.polygamma %{{.*}}, %{{.*}} {mine = 1 : i32} : tensor<2x3xf32>, tensor<2x3xf32> -> tensor<2x3xf32>
  %47 = chlo.polygamma %x, %x {mine = 1 : i32} : tensor<2x3xf32>, tensor<2x3xf32> -> tensor<2x3xf32>
  // CHECK: chlo.zeta %{{.*}}, %{{.*}} {mine = 1 : i32} : tensor<2x3xf32>, tensor<2x3xf32> -> tensor<2x3xf32>
  %48 = chlo.zeta %x, %x {mine = 1 : i32} : tensor<2x3xf32>, tensor<2x3xf32> -> tensor<2x3xf32>
  // CHECK: chlo.mulhi %{{.*}}, %{{.*}} : tensor<2xui8>, tensor<2xui8> -> tensor<2xui8>
  %49 = chlo.mulhi %i, %i : tensor<2xui8>, tensor<2xui8> -> tensor<2xui8>
  // CHECK: chlo.tan %{{.*}} : tensor<2x3xf32> -> tensor<2x3xf32>
  %50 = "chlo.tan"(%x) : (tensor<2x3xf32>) -> tensor<2x3xf32>
  return
}

// CHECK-LABEL: func.func @broadcasts
func.func @broadcasts(%x: tensor<2x3xf32>, %y: tensor<2xf32>, %i: tensor<2x3xi32>, %j: tensor<1xi32>, %p: tensor<i1>, %d: tensor<?x1xf32>) {
  // CHECK: chlo.broadcast_add %{{.*}}, %{{.*}} {broadcast_dimensions = array<i64: 0>} : (tensor<2x3xf32>, tensor<2xf32>) -> tensor<2x3xf32>
  %0 = chlo.broadcast_add %x, %y {broadcast_dimensions = array<i64: 0>} : (tensor<2x3xf32>, tensor<2xf32>) -> tensor<2x3xf32>
  // CHECK: chlo.broadcast_atan2 %{{.*}}, %{{.*}} {broadcast_dimensions = array<i64: 0>} : (tensor<2x3xf32>, tensor<2xf32>) -> tensor<2x3xf32>
  %1 = chlo.broadcast_atan2 %x, %y {broadcast_dimensions = array<i64: 0>} : (tensor<2x3xf32>, tensor<2xf32>) -> tensor<2x3xf32>
  // CHECK: chlo.broadcast_divide %{{.*}}, %{{.*}} {broadcast_dimensions = array<i64: 0>} : (tensor<2x3xf32>, tensor<2xf32>) -> tensor<2x3xf32>
  %2 = chlo.broadcast_divide %x, %y {broadcast_dimensions = array<i64: 0>} : (tensor<2x3xf32>, tensor<2xf32>) -> tensor<2x3xf32>
  // CHECK: chlo.broadcast_maximum %{{.*}}, %{{.*}} {broadcast_dimensions = array<i64: 0>} : (tensor<2x3xf32>, tensor<2xf32>) -> tensor<2x3xf32>
  %3 = chlo.broadcast_maximum %x, %y {broadcast_dimensions = array<i64: 0>} : (tensor<2x3xf32>, tensor<2xf32>) -> tensor<2x3xf32>
  // CHECK: chlo.broadcast_minimum %{{.*}}, %{{.*}} {broadcast_dimensions = array<i64: 0>} : (tensor<2x3xf32>, tensor<2xf32>) -> tensor<2x3xf32>
  %4 = chlo.broadcast_minimum %x, %y {broadcast_dimensions = array<i64: 0>} : (tensor<2x3xf32>, tensor<2xf32>) -> tensor<2x3xf32>
  // CHECK: chlo.broadcast_multiply %{{.*}}, %{{.*}} {broadcast_dimensions = array<i64: 0>} : (tensor<2x3xf32>, tensor<2xf32>) -> tensor<2x3xf32>
  %5 = chlo.broadcast_multiply %x, %y {broadcast_dimensions = array<i64: 0>} : (tensor<2x3xf32>, tensor<2xf32>) -> tensor<2x3xf32>
  // CHECK: chlo.broadcast_next_after %{{.*}}, %{{.*}} {broadcast_dimensions = array<i64: 0>} : (tensor<2x3xf32>, tensor<2xf32>) -> tensor<2x3xf32>
  %6 = chlo.broadcast_next_after %x, %y {broadcast_dimensions = array<i64: 0>} : (tensor<2x3xf32>, tensor<2xf32>) -> tensor<2x3xf32>
  // CHECK: chlo.broadcast_polygamma %{{.*}}, %{{.*}} {broadcast_dimensions = array<i64: 0>} : (tensor<2x3xf32>, tensor<2xf32>) -> tensor<2x3xf32>
  %7 = chlo.broadcast_polygamma %x, %y {broadcast_dimensions = array<i64: 0>} : (tensor<2x3xf32>, tensor<2xf32>) -> tensor<2x3xf32>
  // CHECK: chlo.broadcast_power %{{.*}}, %{{.*}} {broadcast_dimensions = array<i64: 0>} : (tensor<2x3xf32>, tensor<2xf32>) -> tensor<2x3xf32>
  %8 = chlo.broadcast_power %x, %y {broadcast_dimensions = array<i64: 0>} : (tensor<2x3xf32>, tensor<2xf32>) -> tensor<2x3xf32>
  // CHECK: chlo.broadcast_remainder %{{.*}}, %{{.*}} {broadcast_dimensions = array<i64: 0>} : (tensor<2x3xf32>, tensor<2xf32>) -> tensor<2x3xf32>
  %9 = chlo.broadcast_remainder %x, %y {broadcast_dimensions = array<i64: 0>} : (tensor<2x3xf32>, tensor<2xf32>) -> tensor<2x3xf32>
  // CHECK: chlo.broadcast_subtract %{{.*}}, %{{.*}} {broadcast_dimensions = array<i64: 0>} : (tensor<2x3xf32>, tensor<2xf32>) -> tensor<2x3xf32>
  %10 = chlo.broadcast_subtract %x, %y {broadcast_dimensions = array<i64: 0>} : (tensor<2x3xf32>, tensor<2xf32>) -> tensor<2x3xf32>
  // CHECK: chlo.broadcast_zeta %{{.*}}, %{{.*}} {broadcast_dimensions = array<i64: 0>} : (tensor<2x3xf32>, tensor<2xf32>) -> tensor<2x3xf32>
  %11 = chlo.broadcast_zeta %x, %y {broadcast_dimensions = array<i64: 0>} : (tensor<2x3xf32>, tensor<2xf32>) -> tensor<2x3xf32>
  // CHECK: chlo.broadcast_and %{{.*}}, %{{.*}} : (tensor<2x3xi32>, tensor<1xi32>) -> tensor<2x3xi32>
  %12 = chlo.broadcast_and %i, %j : (tensor<2x3xi32>, tensor<1xi32>) -> tensor<2x3xi32>
  // CHECK: chlo.broadcast_or %{{.*}}, %{{.*}} : (tensor<2x3xi32>, tensor<1xi32>) -> tensor<2x3xi32>
  %13 = chlo.broadcast_or %i, %j : (tensor<2x3xi32>, tensor<1xi32>) -> tensor<2x3xi32>
  // CHECK: chlo.broadcast_xor %{{.*}}, %{{.*}} : (tensor<2x3xi32>, tensor<1xi32>) -> tensor<2x3xi32>
  %14 = chlo.broadcast_xor %i, %j : (tensor<2x3xi32>, tensor<1xi32>) -> tensor<2x3xi32>
  // CHECK: chlo.broadcast_shift_left %{{.*}}, %{{.*}} : (tensor<2x3xi32>, tensor<1xi32>) -> tensor<2x3xi32>
  %15 = chlo.broadcast_shift_left %i, %j : (tensor<2x3xi32>, tensor<1xi32>) -> tensor<2x3xi32>
  // CHECK: chlo.broadcast_shift_right_arithmetic %{{.*}}, %{{.*}} : (tensor<2x3xi32>, tensor<1xi32>) -> tensor<2x3xi32>
  %16 = chlo.broadcast_shift_right_arithmetic %i, %j : (tensor<2x3xi32>, tensor<1xi32>) -> tensor<2x3xi32>
  // CHECK: chlo.broadcast_shift_right_logical %{{.*}}, %{{.*}} : (tensor<2x3xi32>, tensor<1xi32>) -> tensor<2x3xi32>
  %17 = chlo.broadcast_shift_right_logical %i, %j : (tensor<2x3xi32>, tensor<1xi32>) -> tensor<2x3xi32>
  // CHECK: chlo.broadcast_add %{{.*}}, %{{.*}} : (tensor<2x3xf32>, tensor<?x1xf32>) -> tensor<2x3xf32>
  %18 = chlo.broadcast_add %x, %d : (tensor<2x3xf32>, tensor<?x1xf32>) -> tensor<2x3xf32>
  // CHECK: chlo.broadcast_complex %{{.*}}, %{{.*}} : (tensor<2x3xf32>, tensor<?x1xf32>) -> tensor<2x3xcomplex<f32>>
  %19 = chlo.broadcast_complex %x, %d : (tensor<2x3xf32>, tensor<?x1xf32>) -> tensor<2x3xcomplex<f32>>
  // CHECK: chlo.broadcast_compare %{{.*}}, %{{.*}} {compare_type = #chlo<comparison_type SIGNED>, comparison_direction = #chlo<comparison_direction LT>} : (tensor<2x3xi32>, tensor<1xi32>) -> tensor<2x3xi1>
  %20 = chlo.broadcast_compare %i, %j {compare_type = #chlo<comparison_type SIGNED>, comparison_direction = #chlo<comparison_direction LT>} : (tensor<2x3xi32>, tensor<1xi32>) -> tensor<2x3xi1>
  // CHECK: chlo.broadcast_select %{{.*}}, %{{.*}}, %{{.*}} : (tensor<i1>, tensor<2x3xf32>, tensor<?x1xf32>) -> tensor<2x3xf32>
  %21 = chlo.broadcast_select %p, %x, %d : (tensor<i1>, tensor<2x3xf32>, tensor<?x1xf32>) -> tensor<2x3xf32>
  return
}

// CHECK-LABEL: func.func @structural
func.func @structural(%x: tensor<2x3xf32>, %d: tensor<2x?xi8>, %l: tensor<11x5xf32>, %r: tensor<3x5x7xf32>, %g: tensor<3xi64>, %c: tensor<3xf32>) {
  // CHECK: chlo.constant dense<[1, 2]> : tensor<2xi8>
  %0 = chlo.constant dense<[1, 2]> : tensor<2xi8>
  // CHECK: "chlo.constant_like"(%{{.*}}) <{value = 2 : i16}> : (tensor<2x3xf32>) -> tensor<2x3xi16>
  %1 = "chlo.constant_like"(%x) <{value = 2 : i16}> : (tensor<2x3xf32>) -> tensor<2x3xi16>
  // CHECK: chlo.top_k(%{{.*}}, k = 2) : tensor<2x3xf32> -> (tensor<2x2xf32>, tensor<2x2xi32>)
  %2:2 = chlo.top_k(%x, k = 2) : tensor<2x3xf32> -> (tensor<2x2xf32>, tensor<2x2xi32>)
  // CHECK: chlo.top_k(%{{.*}}, k = 2) {mine = 1 : i32} : tensor<2x?xi8> -> (tensor<2x2xi8>, tensor<2x2xi32>)
  %3:2 = chlo.top_k(%d, k = 2) {mine = 1 : i32} : tensor<2x?xi8> -> (tensor<2x2xi8>, tensor<2x2xi32>)
  // CHECK: "chlo.ragged_dot"(%{{.*}}, %{{.*}}, %{{.*}}) <{precision_config = [#chlo<precision DEFAULT>, #chlo<precision HIGH>], ragged_dot_dimension_numbers = #chlo.ragged_dot<lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [1], lhs_ragged_dimensions = [0], rhs_group_dimensions = [0]>}> : (tensor<11x5xf32>, tensor<3x5x7xf32>, tensor<3xi64>) -> tensor<11x7xf32>
  %4 = "chlo.ragged_dot"(%l, %r, %g) <{precision_config = [#chlo<precision DEFAULT>, #chlo<precision HIGH>], ragged_dot_dimension_numbers = #chlo.ragged_dot<lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [1], lhs_ragged_dimensions = [0], rhs_group_dimensions = [0]>}> : (tensor<11x5xf32>, tensor<3x5x7xf32>, tensor<3xi64>) -> tensor<11x7xf32>
  // CHECK: chlo.scan(%{{.*}}) inits (%{{.*}}) dimension=0  attributes {is_reverse = true} {
  %5:2 = chlo.scan(%x) inits (%c) dimension=0 attributes {is_reverse = true} {
  ^bb0(%a: tensor<3xf32>, %b: tensor<3xf32>):
    %s = hlo.add %a, %b : tensor<3xf32>
    // CHECK: hlo.return %{{.*}}, %{{.*}} : tensor<3xf32>, tensor<3xf32>
    hlo.return %s, %s : tensor<3xf32>, tensor<3xf32>
  // CHECK: } : (tensor<2x3xf32>, tensor<3xf32>) -> (tensor<2x3xf32>, tensor<3xf32>)
  } : (tensor<2x3xf32>, tensor<3xf32>) -> (tensor<2x3xf32>, tensor<3xf32>)
  return
}
