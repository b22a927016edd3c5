// RUN: hlo-opt %s --fuse-linalg | filecheck %s
// RUN: hlo-opt %s --fuse-linalg --fuse-linalg | filecheck %s

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
  %0 = tensor.empty() : tensor<3x4xf32>
  %e = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%x : tensor<3x4xf32>) outs(%0 : tensor<3x4xf32>) {
  ^bb0(%1: f32, %2: f32):
    %3 = math.exp %1 : f32
    linalg.yield %3 : f32
  } -> tensor<3x4xf32>
  %4 = tensor.extract %i[] : tensor<f32>
  %5 = tensor.empty() : tensor<3xf32>
  %6 = linalg.fill ins(%4 : f32) outs(%5 : tensor<3xf32>) -> tensor<3xf32>
  %s = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0)>], iterator_types = ["parallel", "reduction"]} ins(%e : tensor<3x4xf32>) outs(%6 : tensor<3xf32>) {
  ^bb0(%7: f32, %8: f32):
    %9 = arith.addf %8, %7 fastmath<reassoc> : f32
    linalg.yield %9 : f32
  } -> tensor<3xf32>
  %10 = tensor.extract %i[] : tensor<f32>
  %11 = tensor.empty() : tensor<3xf32>
  %12 = linalg.fill ins(%10 : f32) outs(%11 : tensor<3xf32>) -> tensor<3xf32>
  %m = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0)>], iterator_types = ["parallel", "reduction"]} ins(%e : tensor<3x4xf32>) outs(%12 : tensor<3xf32>) {
  ^bb0(%13: f32, %14: f32):
    %15 = arith.maximumf %14, %13 : f32
    linalg.yield %15 : f32
  } -> tensor<3xf32>
  %16 = tensor.empty() : tensor<3xf32>
  %r = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]} ins(%s, %m : tensor<3xf32>, tensor<3xf32>) outs(%16 : tensor<3xf32>) {
  ^bb0(%17: f32, %18: f32, %19: f32):
    %20 = arith.divf %17, %18 : f32
    linalg.yield %20 : f32
  } -> tensor<3xf32>
  func.return %r : tensor<3xf32>
}

// No operand gives the loop's size: one that nothing reads does.
// CHECK-LABEL: @nothing_to_count
// CHECK:         %[[N:.*]] = tensor.empty() : tensor<9xf32>
// CHECK-NEXT:    linalg.generic {{.*}}["reduction"]} ins(%[[N]] :
// CHECK:           linalg.index 0
func.func private @nothing_to_count(%i: tensor<f32>) -> tensor<f32> attributes {hlo.kernel = "reduce"} {
  %0 = tensor.empty() : tensor<9xf32>
  %n = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]} outs(%0 : tensor<9xf32>) {
  ^bb0(%1: f32):
    %2 = linalg.index 0 : index
    %3 = arith.index_cast %2 : index to i32
    %4 = arith.sitofp %3 : i32 to f32
    linalg.yield %4 : f32
  } -> tensor<9xf32>
  %5 = tensor.extract %i[] : tensor<f32>
  %6 = tensor.empty() : tensor<f32>
  %7 = linalg.fill ins(%5 : f32) outs(%6 : tensor<f32>) -> tensor<f32>
  %s = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> ()>], iterator_types = ["reduction"]} ins(%n : tensor<9xf32>) outs(%7 : tensor<f32>) {
  ^bb0(%8: f32, %9: f32):
    %10 = arith.addf %9, %8 fastmath<reassoc> : f32
    linalg.yield %10 : f32
  } -> tensor<f32>
  func.return %s : tensor<f32>
}

// A slice goes into a reduction where another operand gives the loop's size.
// CHECK-LABEL: @sliced
// CHECK:         linalg.generic {{.*}}["reduction"]} ins({{%x, %y|%y, %x}} : {{.*}}xhlo.loop_sizes = array<i64: 5>
// CHECK-NOT:     linalg.generic
// CHECK:         func.return
func.func private @sliced(%x: tensor<8xf32>, %y: tensor<5xf32>, %i: tensor<f32>) -> tensor<f32> attributes {hlo.kernel = "reduce"} {
  %0 = tensor.empty() : tensor<5xf32>
  %1 = linalg.generic {indexing_maps = [affine_map<(d0) -> ((d0 + 2))>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]} ins(%x : tensor<8xf32>) outs(%0 : tensor<5xf32>) {
  ^bb0(%2: f32, %3: f32):
    linalg.yield %2 : f32
  } -> tensor<5xf32>
  %4 = tensor.empty() : tensor<5xf32>
  %5 = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]} ins(%1, %y : tensor<5xf32>, tensor<5xf32>) outs(%4 : tensor<5xf32>) {
  ^bb0(%6: f32, %7: f32, %8: f32):
    %9 = arith.mulf %6, %7 : f32
    linalg.yield %9 : f32
  } -> tensor<5xf32>
  %10 = tensor.extract %i[] : tensor<f32>
  %11 = tensor.empty() : tensor<f32>
  %12 = linalg.fill ins(%10 : f32) outs(%11 : tensor<f32>) -> tensor<f32>
  %s = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> ()>], iterator_types = ["reduction"]} ins(%5 : tensor<5xf32>) outs(%12 : tensor<f32>) {
  ^bb0(%13: f32, %14: f32):
    %15 = arith.addf %14, %13 fastmath<reassoc> : f32
    linalg.yield %15 : f32
  } -> tensor<f32>
  func.return %s : tensor<f32>
}
