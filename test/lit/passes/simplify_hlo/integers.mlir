// RUN: hlo-opt %s --simplify-hlo | filecheck %s

// CHECK-LABEL: func.func @unsigned(
// CHECK-DAG:     hlo.shift_right_logical %x
// CHECK-DAG:     hlo.and %x
// CHECK-NOT:     hlo.divide
// CHECK-NOT:     hlo.remainder
func.func @unsigned(%x: tensor<8xui32>) -> (tensor<8xui32>, tensor<8xui32>) {
  %c = hlo.constant dense<16> : tensor<8xui32>
  %0 = hlo.divide %x, %c : tensor<8xui32>
  %1 = hlo.remainder %x, %c : tensor<8xui32>
  return %0, %1 : tensor<8xui32>, tensor<8xui32>
}

// CHECK-LABEL: func.func @signed(
// CHECK-NOT:     hlo.divide
// CHECK-NOT:     hlo.remainder
// CHECK:         hlo.shift_right_arithmetic
// CHECK:         hlo.and
// CHECK:         hlo.subtract %x
func.func @signed(%x: tensor<8xi32>) -> (tensor<8xi32>, tensor<8xi32>) {
  %c = hlo.constant dense<8> : tensor<8xi32>
  %0 = hlo.divide %x, %c : tensor<8xi32>
  %1 = hlo.remainder %x, %c : tensor<8xi32>
  return %0, %1 : tensor<8xi32>, tensor<8xi32>
}

// CHECK-LABEL: func.func @power(
// CHECK-NEXT:    %[[S:.*]] = hlo.multiply %x, %x
// CHECK-NEXT:    %[[F:.*]] = hlo.multiply %[[S]], %[[S]]
// CHECK-NEXT:    hlo.multiply %{{x, %.*|.*, %x}}
func.func @power(%x: tensor<8xi32>) -> tensor<8xi32> {
  %c = hlo.constant dense<5> : tensor<8xi32>
  %0 = hlo.power %x, %c : tensor<8xi32>
  return %0 : tensor<8xi32>
}

// The last bits of a sum follow from those of its terms.

// CHECK-LABEL: func.func @narrow_sum(
// CHECK:         %[[S:.*]] = hlo.reduce(%x init: %{{.*}}) applies hlo.add across dimensions = [0] : (tensor<8x4xui8>, tensor<ui8>) -> tensor<4xui8>
// CHECK-NEXT:    return %[[S]]
func.func @narrow_sum(%x: tensor<8x4xui8>) -> tensor<4xui8> {
  %c = hlo.constant dense<0> : tensor<ui32>
  %0 = hlo.convert %x : (tensor<8x4xui8>) -> tensor<8x4xui32>
  %1 = hlo.reduce(%0 init: %c) applies hlo.add across dimensions = [0] : (tensor<8x4xui32>, tensor<ui32>) -> tensor<4xui32>
  %2 = hlo.convert %1 : (tensor<4xui32>) -> tensor<4xui8>
  return %2 : tensor<4xui8>
}

// A maximum needs the first bits, and a conversion to i1 all of them.

// CHECK-LABEL: func.func @whole_numbers(
// CHECK:         hlo.reduce{{.*}}tensor<4xi32>
// CHECK:         hlo.reduce{{.*}}tensor<4xi32>
func.func @whole_numbers(%x: tensor<8x4xi16>) -> (tensor<4xi8>, tensor<4xi1>) {
  %c = hlo.constant dense<0> : tensor<i32>
  %0 = hlo.convert %x : (tensor<8x4xi16>) -> tensor<8x4xi32>
  %1 = hlo.reduce(%0 init: %c) applies hlo.maximum across dimensions = [0] : (tensor<8x4xi32>, tensor<i32>) -> tensor<4xi32>
  %2 = hlo.convert %1 : (tensor<4xi32>) -> tensor<4xi8>
  %3 = hlo.reduce(%0 init: %c) applies hlo.add across dimensions = [0] : (tensor<8x4xi32>, tensor<i32>) -> tensor<4xi32>
  %4 = hlo.convert %3 : (tensor<4xi32>) -> tensor<4xi1>
  return %2, %4 : tensor<4xi8>, tensor<4xi1>
}

// A row of eight bytes does not fill a vector.

// CHECK-LABEL: func.func @short_rows(
// CHECK:         hlo.reduce{{.*}}tensor<4xui32>
func.func @short_rows(%x: tensor<4x8xui8>) -> tensor<4xui8> {
  %c = hlo.constant dense<0> : tensor<ui32>
  %0 = hlo.convert %x : (tensor<4x8xui8>) -> tensor<4x8xui32>
  %1 = hlo.reduce(%0 init: %c) applies hlo.add across dimensions = [1] : (tensor<4x8xui32>, tensor<ui32>) -> tensor<4xui32>
  %2 = hlo.convert %1 : (tensor<4xui32>) -> tensor<4xui8>
  return %2 : tensor<4xui8>
}

// The remainder of a division by one is zero; a boolean equals what says whether it is true.

// CHECK-LABEL: func.func @by_one(
// CHECK-NEXT:    %[[ZERO:.*]] = hlo.constant dense<0>
// CHECK-NEXT:    func.return %[[ZERO]], %p, %p
func.func @by_one(%x: tensor<8xi32>, %p: tensor<8xi1>) -> (tensor<8xi32>, tensor<8xi1>, tensor<8xi1>) {
  %one = hlo.constant dense<1> : tensor<8xi32>
  %false = hlo.constant dense<false> : tensor<8xi1>
  %true = hlo.constant dense<true> : tensor<8xi1>
  %0 = hlo.remainder %x, %one : tensor<8xi32>
  %1 = hlo.compare NE, %p, %false : (tensor<8xi1>, tensor<8xi1>) -> tensor<8xi1>
  %2 = hlo.compare EQ, %true, %p : (tensor<8xi1>, tensor<8xi1>) -> tensor<8xi1>
  return %0, %1, %2 : tensor<8xi32>, tensor<8xi1>, tensor<8xi1>
}

// The others are computed: a float has a remainder, and these comparisons turn a boolean.

// CHECK-LABEL: func.func @not_by_one(
// CHECK:         hlo.remainder
// CHECK-COUNT-2: hlo.compare
func.func @not_by_one(%x: tensor<8xf32>, %p: tensor<8xi1>) -> (tensor<8xf32>, tensor<8xi1>, tensor<8xi1>) {
  %one = hlo.constant dense<1.0> : tensor<8xf32>
  %false = hlo.constant dense<false> : tensor<8xi1>
  %true = hlo.constant dense<true> : tensor<8xi1>
  %0 = hlo.remainder %x, %one : tensor<8xf32>
  %1 = hlo.compare NE, %p, %true : (tensor<8xi1>, tensor<8xi1>) -> tensor<8xi1>
  %2 = hlo.compare EQ, %p, %false : (tensor<8xi1>, tensor<8xi1>) -> tensor<8xi1>
  return %0, %1, %2 : tensor<8xf32>, tensor<8xi1>, tensor<8xi1>
}
