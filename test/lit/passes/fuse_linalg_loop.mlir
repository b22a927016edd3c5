// RUN: hlo-opt %s --convert-hlo-to-linalg --fuse-linalg | filecheck %s

// One generic with two results; what both need is computed once, and is no result.
// CHECK-LABEL: @shared
// CHECK:         linalg.generic {{.*}} ins(%x : tensor<4xf32>) outs(%{{.*}}, %{{.*}} : tensor<4xf32>, tensor<4xf32>)
// CHECK:           %[[E:.*]] = math.exp
// CHECK-NEXT:      %[[N:.*]] = arith.negf %[[E]]
// CHECK-NEXT:      %[[A:.*]] = arith.addf %[[E]],
// CHECK-NEXT:      linalg.yield %[[N]], %[[A]]
// CHECK-NOT:     linalg.generic
func.func private @shared(%x: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) attributes {hlo.kernel = "loop"} {
  %0 = hlo.exponential %x : tensor<4xf32>
  %1 = hlo.negate %0 : tensor<4xf32>
  %2 = hlo.add %0, %x : tensor<4xf32>
  return %1, %2 : tensor<4xf32>, tensor<4xf32>
}

// Index maps compose; an operand read twice at one place is one operand.
// CHECK-LABEL: @composed
// CHECK:         affine_map<(d0, d1) -> (((d1 * 2) + (d1 * -1)), ((d0 * 3) + 1))>
// CHECK-SAME:    ins(%x : tensor<5x7xf32>)
// CHECK:           arith.addf %[[X:.*]], %[[X]]
// CHECK-NOT:     linalg.generic
func.func private @composed(%x: tensor<5x7xf32>) -> tensor<2x4xf32> attributes {hlo.kernel = "loop"} {
  %0 = hlo.transpose %x, dims = [1, 0] : (tensor<5x7xf32>) -> tensor<7x5xf32>
  %1 = hlo.slice %0 [1:7:3, 0:4] : (tensor<7x5xf32>) -> tensor<2x4xf32>
  %2 = hlo.add %1, %1 : tensor<2x4xf32>
  return %2 : tensor<2x4xf32>
}

// Producers are computed at computed places too, and starts as scalars.
// CHECK-LABEL: @computed_place
// CHECK:         %[[I:.*]] = tensor.extract %i[] : tensor<i32>
// CHECK-NEXT:    arith.addi %[[I]], %[[I]] : i32
// CHECK:         linalg.generic
// CHECK:           %[[X:.*]] = tensor.extract %x[
// CHECK-NEXT:      %[[N:.*]] = arith.negf %[[X]]
// CHECK-NEXT:      linalg.yield %[[N]]
// CHECK-NOT:     linalg.generic
func.func private @computed_place(%x: tensor<8xf32>, %i: tensor<i32>) -> tensor<2xf32> attributes {hlo.kernel = "loop"} {
  %n = hlo.negate %x : tensor<8xf32>
  %j = hlo.add %i, %i : tensor<i32>
  %0 = hlo.dynamic_slice %n, %j, sizes = [2] : (tensor<8xf32>, tensor<i32>) -> tensor<2xf32>
  return %0 : tensor<2xf32>
}
