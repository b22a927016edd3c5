// RUN: hlo-opt %s --convert-hlo-to-linalg | filecheck %s

// An index that counts from the end where it is negative: each of its values has one bound, both are computed at once.
// CHECK-LABEL: @element
// CHECK:         [[BELOW:%.*]] = arith.maxsi %{{.*}}, %{{.*}} : i64
// CHECK-NOT:     arith.maxsi
// CHECK:         [[ABOVE:%.*]] = arith.minsi %{{.*}}, %{{.*}} : i64
// CHECK:         arith.select %{{.*}}, [[BELOW]], [[ABOVE]] : i64
// CHECK-NOT:     arith.minsi
func.func private @element(%x: tensor<500xi32>, %i: tensor<i32>) -> tensor<1xi32> attributes {hlo.kernel = "loop"} {
  %zero = hlo.constant dense<0> : tensor<i32>
  %size = hlo.constant dense<500> : tensor<i32>
  %negative = hlo.compare LT, %i, %zero, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
  %total = hlo.add %i, %size : tensor<i32>
  %place = hlo.select %negative, %total, %i : tensor<i1>, tensor<i32>
  %0 = hlo.dynamic_slice %x, %place, sizes = [1] : (tensor<500xi32>, tensor<i32>) -> tensor<1xi32>
  return %0 : tensor<1xi32>
}

// Of two elements the first value may be too large as well.
// CHECK-LABEL: @elements
// CHECK:         [[LOW:%.*]] = arith.maxsi %{{.*}}, %{{.*}} : i64
// CHECK:         arith.minsi [[LOW]], %{{.*}} : i64
func.func private @elements(%x: tensor<500xi32>, %i: tensor<i32>) -> tensor<2xi32> attributes {hlo.kernel = "loop"} {
  %zero = hlo.constant dense<0> : tensor<i32>
  %size = hlo.constant dense<500> : tensor<i32>
  %negative = hlo.compare LT, %i, %zero, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
  %total = hlo.add %i, %size : tensor<i32>
  %place = hlo.select %negative, %total, %i : tensor<i1>, tensor<i32>
  %0 = hlo.dynamic_slice %x, %place, sizes = [2] : (tensor<500xi32>, tensor<i32>) -> tensor<2xi32>
  return %0 : tensor<2xi32>
}
