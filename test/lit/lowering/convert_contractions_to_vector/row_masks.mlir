// RUN: hlo-opt %s --fuse --lower=linalg --bufferize --convert-contractions-to-vector='tiles=1' | filecheck %s
// Columns above the (shifted) diagonal: scores that the mask discards are zeros instead, panels of which are not
// multiplied. Nor are values of which all weights in a tile are 0, if they are finite: an infinite value times 0 is NaN.

// CHECK-LABEL: func.func private @row_fusion_0(
// CHECK-DAG:     %[[SHIFT:.*]] = arith.constant 5 : index
// CHECK-DAG:     %[[N:.*]] = arith.constant 64 : index
// CHECK-DAG:     %[[NR:.*]] = arith.constant 32 : index
// CHECK-DAG:     %[[ONE:.*]] = arith.constant 1 : index
// CHECK-DAG:     %[[ZERO:.*]] = arith.constant 0 : index
// CHECK:         scf.for
// CHECK:         %[[MOST:.*]] = arith.addi %[[SHIFT]], %{{.*}} : index
// CHECK-NEXT:    %[[END:.*]] = arith.addi %[[MOST]], %[[ONE]] : index
// CHECK-NEXT:    %[[BELOW:.*]] = arith.minsi %[[N]], %[[END]] : index
// CHECK-NEXT:    %[[UPPER:.*]] = arith.maxsi %[[BELOW]], %[[ZERO]] : index
// CHECK:         %[[PANELS:.*]] = arith.divui
// CHECK:         %[[RIGHT:.*]] = arith.minsi %{{.*}}, %[[N]] : index
// CHECK-NEXT:    %[[REST:.*]] = arith.subi %[[N]], %[[RIGHT]] : index
// CHECK:         func.call @row_fusion_0_clear(%{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}, %[[REST]])
// CHECK-NEXT:    scf.for %{{.*}} = %[[ZERO]] to %[[PANELS]] step
// CHECK:           func.call @row_fusion_0_block(%q,
// CHECK:         math.exp
// CHECK-NOT:     @row_fusion_0_clear
// CHECK:         func.call @row_fusion_0_greatest(%[[TILE:.*]], %{{.*}}, %{{.*}}, %{{.*}}, %[[BEYOND:.*]], %[[FOUND:.*]]) :
// CHECK-NEXT:    %[[WEIGHT:.*]] = memref.load %[[FOUND]]
// CHECK:         arith.cmpi eq, %[[WEIGHT]],
// CHECK:         %[[ELEMENTS:.*]] = arith.muli %[[BEYOND]], %{{.*}} : index
// CHECK:         func.call @row_fusion_0_greatest_1(%v, %{{.*}}, %{{.*}}, %{{.*}}, %[[ELEMENTS]], %[[VALUES:.*]]) :
// CHECK-NEXT:    %[[VALUE:.*]] = memref.load %[[VALUES]]
// CHECK:         arith.cmpi ult, %[[VALUE]],
// CHECK:         %[[LEAVES:.*]] = arith.andi
// CHECK:         %[[STEPS:.*]] = arith.select %[[LEAVES]], %{{.*}}, %[[N]] : index
// CHECK:         scf.for
// CHECK:         func.call @row_fusion_0_block_1(
func.func @main(%q: tensor<2x64x16xf32>, %k: tensor<2x64x16xf32>, %v: tensor<2x64x32xf32>) -> tensor<2x64x32xf32> {
  %i = stablehlo.iota dim = 1 : tensor<2x64x64xi32>
  %j = stablehlo.iota dim = 2 : tensor<2x64x64xi32>
  %offset = stablehlo.constant dense<5> : tensor<2x64x64xi32>
  %end = stablehlo.add %i, %offset : tensor<2x64x64xi32>
  %m = stablehlo.compare GE, %end, %j, SIGNED : (tensor<2x64x64xi32>, tensor<2x64x64xi32>) -> tensor<2x64x64xi1>
  %low = stablehlo.constant dense<-1.0e9> : tensor<2x64x64xf32>
  %s0 = stablehlo.dot_general %q, %k, batching_dims = [0] x [0], contracting_dims = [2] x [2]
    : (tensor<2x64x16xf32>, tensor<2x64x16xf32>) -> tensor<2x64x64xf32>
  %s = stablehlo.select %m, %s0, %low : tensor<2x64x64xi1>, tensor<2x64x64xf32>
  %least = stablehlo.constant dense<0xFF800000> : tensor<f32>
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %max = stablehlo.reduce(%s init: %least) applies stablehlo.maximum across dimensions = [2]
    : (tensor<2x64x64xf32>, tensor<f32>) -> tensor<2x64xf32>
  %maxes = stablehlo.broadcast_in_dim %max, dims = [0, 1] : (tensor<2x64xf32>) -> tensor<2x64x64xf32>
  %d = stablehlo.subtract %s, %maxes : tensor<2x64x64xf32>
  %e = stablehlo.exponential %d : tensor<2x64x64xf32>
  %sum = stablehlo.reduce(%e init: %zero) applies stablehlo.add across dimensions = [2]
    : (tensor<2x64x64xf32>, tensor<f32>) -> tensor<2x64xf32>
  %sums = stablehlo.broadcast_in_dim %sum, dims = [0, 1] : (tensor<2x64xf32>) -> tensor<2x64x64xf32>
  %w = stablehlo.divide %e, %sums : tensor<2x64x64xf32>
  %o = stablehlo.dot_general %w, %v, batching_dims = [0] x [0], contracting_dims = [2] x [1]
    : (tensor<2x64x64xf32>, tensor<2x64x32xf32>) -> tensor<2x64x32xf32>
  return %o : tensor<2x64x32xf32>
}
