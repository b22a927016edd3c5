// RUN: hlo-opt %s --pass-pipeline="decompose-hlo{native-calls=true}" --split-input-file | filecheck %s

// The tables of 8 points: one pass, whose roots are in its code.
// CHECK-LABEL: func.func @fft
// CHECK:         %[[TABLES:.*]] = hlo.constant dense<> : tensor<0xf32>
// CHECK:         hlo.custom_call @xhlo.fourier(%x, %[[TABLES]]) {mhlo.backend_config = {kind = "FFT", lengths = array<i64: 8>}}
// CHECK-NOT:     hlo.fft
func.func @fft(%x: tensor<2x8xcomplex<f32>>) -> tensor<2x8xcomplex<f32>> {
  %0 = hlo.fft %x, type = FFT, length = [8] : (tensor<2x8xcomplex<f32>>) -> tensor<2x8xcomplex<f32>>
  return %0 : tensor<2x8xcomplex<f32>>
}

// -----

// Few rows of a length with a large prime factor: each is a convolution of a smooth length.
// CHECK-LABEL: func.func @few_rows_of_a_prime_length
// CHECK:         hlo.custom_call @xhlo.fourier(%{{.*}}, %{{.*}}) {mhlo.backend_config = {kind = "FFT", lengths = array<i64: 1152>}} : (tensor<3x1152xcomplex<f32>>
// CHECK:         hlo.custom_call @xhlo.fourier(%{{.*}}, %{{.*}}) {mhlo.backend_config = {kind = "IFFT", lengths = array<i64: 1152>}}
// CHECK:         hlo.slice %{{.*}} [0:3, 0:261]
func.func @few_rows_of_a_prime_length(%x: tensor<3x521xf32>) -> tensor<3x261xcomplex<f32>> {
  %0 = hlo.fft %x, type = RFFT, length = [521] : (tensor<3x521xf32>) -> tensor<3x261xcomplex<f32>>
  return %0 : tensor<3x261xcomplex<f32>>
}

// -----

// Many rows are transformed in the lanes of vectors, by one call.
// CHECK-LABEL: func.func @many_rows_of_a_prime_length
// CHECK:         hlo.custom_call @xhlo.fourier(%x, %{{.*}}) {mhlo.backend_config = {kind = "FFT", lengths = array<i64: 521>}}
func.func @many_rows_of_a_prime_length(%x: tensor<64x521xcomplex<f32>>) -> tensor<64x521xcomplex<f32>> {
  %0 = hlo.fft %x, type = FFT, length = [521] : (tensor<64x521xcomplex<f32>>) -> tensor<64x521xcomplex<f32>>
  return %0 : tensor<64x521xcomplex<f32>>
}

// -----

// Rows that no line is long enough for are convolutions as well.
// CHECK-LABEL: func.func @long_prime
// CHECK:         hlo.custom_call @xhlo.fourier(%{{.*}}, %{{.*}}) {mhlo.backend_config = {kind = "FFT", lengths = array<i64: 81920>}}
func.func @long_prime(%x: tensor<40009xcomplex<f32>>) -> tensor<40009xcomplex<f32>> {
  %0 = hlo.fft %x, type = FFT, length = [40009] : (tensor<40009xcomplex<f32>>) -> tensor<40009xcomplex<f32>>
  return %0 : tensor<40009xcomplex<f32>>
}

// -----

// The tables of a convolution would be too large: products with matrices, as for other targets.
// CHECK-LABEL: func.func @prime
// CHECK-NOT:     xhlo.fourier
// CHECK:         hlo.dot_general
func.func @prime(%x: tensor<2000003xf32>) -> tensor<1000002xcomplex<f32>> {
  %0 = hlo.fft %x, type = RFFT, length = [2000003] : (tensor<2000003xf32>) -> tensor<1000002xcomplex<f32>>
  return %0 : tensor<1000002xcomplex<f32>>
}

// -----

// A real row of odd length has no pairs: it is split as a complex row.
// CHECK-LABEL: func.func @odd
// CHECK:         hlo.custom_call @xhlo.fourier(%{{.*}}, %{{.*}}) {mhlo.backend_config = {kind = "FFT", lengths = array<i64: 2187>}}
// CHECK:         hlo.slice %{{.*}} [0:1, 0:1094]
func.func @odd(%x: tensor<2187xf32>) -> tensor<1094xcomplex<f32>> {
  %0 = hlo.fft %x, type = RFFT, length = [2187] : (tensor<2187xf32>) -> tensor<1094xcomplex<f32>>
  return %0 : tensor<1094xcomplex<f32>>
}

// -----

// The first elements of rows and their places; a slice of fewer of them.
// CHECK-LABEL: func.func @first
// CHECK-NOT:     hlo.sort
// CHECK:         %[[FOUND:.*]]:2 = hlo.custom_call @xhlo.top_k(%x) {mhlo.backend_config = {descending = true, total_order = false}} : (tensor<2x600xf32>) -> (tensor<2x5xf32>, tensor<2x5xi32>)
// CHECK:         hlo.slice %[[FOUND]]#0 [1:2, 0:5]
// CHECK:         hlo.slice %[[FOUND]]#1 [0:2, 0:3]
func.func @first(%x: tensor<2x600xf32>) -> (tensor<1x5xf32>, tensor<2x3xi32>) {
  %places = hlo.iota dim = 1 : tensor<2x600xi32>
  %0:2 = "hlo.sort"(%x, %places) <{dimension = 1 : i64}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>, %i: tensor<i32>, %j: tensor<i32>):
    %p = hlo.compare GT, %a, %b : (tensor<f32>, tensor<f32>) -> tensor<i1>
    hlo.return %p : tensor<i1>
  }) : (tensor<2x600xf32>, tensor<2x600xi32>) -> (tensor<2x600xf32>, tensor<2x600xi32>)
  %1 = hlo.slice %0#0 [1:2, 0:5] : (tensor<2x600xf32>) -> tensor<1x5xf32>
  %2 = hlo.slice %0#1 [0:2, 0:3] : (tensor<2x600xi32>) -> tensor<2x3xi32>
  return %1, %2 : tensor<1x5xf32>, tensor<2x3xi32>
}

// -----

// Other numbers than places are sorted with the keys; so is what is used from its middle, or whole.
// CHECK-LABEL: func.func @sorted
// CHECK-COUNT-2: hlo.sort
// CHECK-NOT:     xhlo.top_k
func.func @sorted(%x: tensor<4000xf32>, %y: tensor<4000xi32>) -> (tensor<5xi32>, tensor<5xf32>) {
  %0:2 = "hlo.sort"(%x, %y) <{dimension = 0 : i64}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>, %i: tensor<i32>, %j: tensor<i32>):
    %p = hlo.compare LT, %a, %b : (tensor<f32>, tensor<f32>) -> tensor<i1>
    hlo.return %p : tensor<i1>
  }) : (tensor<4000xf32>, tensor<4000xi32>) -> (tensor<4000xf32>, tensor<4000xi32>)
  %1 = hlo.slice %0#1 [0:5] : (tensor<4000xi32>) -> tensor<5xi32>
  %2 = "hlo.sort"(%x) <{dimension = 0 : i64}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %p = hlo.compare LT, %a, %b : (tensor<f32>, tensor<f32>) -> tensor<i1>
    hlo.return %p : tensor<i1>
  }) : (tensor<4000xf32>) -> tensor<4000xf32>
  %3 = hlo.slice %2 [2000:2005] : (tensor<4000xf32>) -> tensor<5xf32>
  return %1, %3 : tensor<5xi32>, tensor<5xf32>
}

// -----

// The last elements, also of reversed rows, are the first in the opposite order, from the end on.
// CHECK-LABEL: func.func @last
// CHECK-NOT:     hlo.sort
// CHECK:         %[[R:.*]] = hlo.reverse %x, dims = [0]
// CHECK:         %[[FOUND:.*]]:2 = hlo.custom_call @xhlo.top_k(%[[R]]) {mhlo.backend_config = {descending = true, total_order = true}} : (tensor<4000xi32>) -> (tensor<7xi32>, tensor<7xi32>)
// CHECK:         %[[T:.*]] = hlo.reverse %[[FOUND]]#0, dims = [0]
// CHECK:         hlo.slice %[[T]] [0:1]
// CHECK:         hlo.slice %[[FOUND]]#0 [1:3]
func.func @last(%x: tensor<4000xi32>) -> (tensor<1xi32>, tensor<2xi32>) {
  %0 = "hlo.sort"(%x) <{dimension = 0 : i64}> ({
  ^bb0(%a: tensor<i32>, %b: tensor<i32>):
    %p = hlo.compare LT, %a, %b : (tensor<i32>, tensor<i32>) -> tensor<i1>
    hlo.return %p : tensor<i1>
  }) : (tensor<4000xi32>) -> tensor<4000xi32>
  %1 = hlo.slice %0 [3993:3994] : (tensor<4000xi32>) -> tensor<1xi32>
  %2 = hlo.reverse %0, dims = [0] : tensor<4000xi32>
  %3 = hlo.slice %2 [1:3] : (tensor<4000xi32>) -> tensor<2xi32>
  return %1, %3 : tensor<1xi32>, tensor<2xi32>
}

// -----

// A transposed matrix is read as it lies in memory: its other triangle, transposed.
// CHECK-LABEL: func.func @transposed_system
// CHECK-NOT:     xhlo.trsm(%t
// CHECK:         hlo.custom_call @xhlo.trsm(%a, %b) {mhlo.backend_config = {left = true, lower = false, transpose = true, unit = false}}
func.func @transposed_system(%a: tensor<4x4xf32>, %b: tensor<4x2xf32>) -> tensor<4x2xf32> {
  %t = hlo.transpose %a, dims = [1, 0] : (tensor<4x4xf32>) -> tensor<4x4xf32>
  %0 = "hlo.triangular_solve"(%t, %b) {left_side = true, lower = true, unit_diagonal = false,
    transpose_a = #hlo<transpose NO_TRANSPOSE>} : (tensor<4x4xf32>, tensor<4x2xf32>) -> tensor<4x2xf32>
  return %0 : tensor<4x2xf32>
}
