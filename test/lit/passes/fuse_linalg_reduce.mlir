// RUN: hlo-opt %s --convert-hlo-to-linalg --fuse-linalg | filecheck %s

// Reductions over one space are one generic that computes their producer once; the epilogue is another.
// CHECK-LABEL: @siblings
// CHECK:         %[[S:.*]], %[[M:.*]] = linalg.generic {{.*}}["parallel", "reduction"]} ins(%x : tensor<3x4xf32>)
// CHECK-SAME:    xhlo.loop_sizes = array<i64: 3, 4>
// CHECK:           %[[E:.*]] = math.exp
// CHECK-NEXT:      arith.addf %{{.*}}, %[[E]] fastmath<reassoc>
// CHECK-NEXT:      arith.maximumf %{{.*}}, %[[E]] : f32
// CHECK:         linalg.generic {{.*}} ins(%[[S]], %[[M]] :
// CHECK:           arith.divf
func.func private @siblings(%x: tensor<3x4xf32>, %i: tensor<f32>) -> tensor<3xf32> attributes {hlo.kernel = "reduce"} {
  %e = hlo.exponential %x : tensor<3x4xf32>
  %s = hlo.reduce(%e init: %i) applies hlo.add across dimensions = [1] : (tensor<3x4xf32>, tensor<f32>) -> tensor<3xf32>
  %m = hlo.reduce(%e init: %i) applies hlo.maximum across dimensions = [1] : (tensor<3x4xf32>, tensor<f32>) -> tensor<3xf32>
  %r = hlo.divide %s, %m : tensor<3xf32>
  return %r : tensor<3xf32>
}

// The iota stays: fused, no operand would give the loop's size.
// CHECK-LABEL: @nothing_to_count
// CHECK:         %[[N:.*]] = linalg.generic {{.*}}["parallel"]}
// CHECK:           linalg.index 0
// CHECK:         linalg.generic {{.*}}["reduction"]} ins(%[[N]] :
func.func private @nothing_to_count(%i: tensor<f32>) -> tensor<f32> attributes {hlo.kernel = "reduce"} {
  %n = hlo.iota dim = 0 : tensor<9xf32>
  %s = hlo.reduce(%n init: %i) applies hlo.add across dimensions = [0] : (tensor<9xf32>, tensor<f32>) -> tensor<f32>
  return %s : tensor<f32>
}

// A slice goes into a reduction where another operand gives the loop's size.
// CHECK-LABEL: @sliced
// CHECK:         linalg.generic {{.*}}["reduction"]} ins({{%x, %y|%y, %x}} : {{.*}}xhlo.loop_sizes = array<i64: 5>
// CHECK-NOT:     linalg.generic
// CHECK:         func.return
func.func private @sliced(%x: tensor<8xf32>, %y: tensor<5xf32>, %i: tensor<f32>) -> tensor<f32> attributes {hlo.kernel = "reduce"} {
  %0 = hlo.slice %x [2:7] : (tensor<8xf32>) -> tensor<5xf32>
  %1 = hlo.multiply %0, %y : tensor<5xf32>
  %s = hlo.reduce(%1 init: %i) applies hlo.add across dimensions = [0] : (tensor<5xf32>, tensor<f32>) -> tensor<f32>
  return %s : tensor<f32>
}
