// RUN: hlo-opt %s --fuse --lower=linalg --bufferize --convert-contractions-to-vector='tiles=4' | filecheck %s
// RUN: hlo-opt %s --fuse --lower=linalg --bufferize --convert-contractions-to-vector='tiles=1' | filecheck %s --check-prefix=OWN
// A row kernel with products: scores of a tile of rows, the softmax of each row, and its product with the values.

// The keys are packed, for all heads; the queries and the values lie as they are needed, and panels of queries are asked
// for while others are multiplied. The weights are where the scores were.
// CHECK-LABEL: func.func private @row_fusion
// CHECK:         %[[KEYS:.*]] = memref.alloc() : memref<9216xf32>
// CHECK-NOT:     memref.alloc()
// CHECK:         func.call @{{.*}}pack(%k, %{{.*}}, %[[KEYS]],
// CHECK:         "scf.parallel"
// CHECK:           %[[TILE:.*]] = memref.alloca() : memref<5520xf32>
// CHECK-NOT:       memref<5520xf32>
// CHECK-NOT:       pack(%q
// CHECK:           cpu.prefetch %{{.*}} : memref<2x16xf32, strided<[16, 1], offset: ?>>
// CHECK:           func.call @{{.*}}block(%q, {{.*}}, %[[KEYS]], {{.*}}, %[[TILE]],
// The exponentials of a row run by tiles, before each of which those of the row before are divided.
// CHECK:           scf.for %[[ROW:.*]] = %[[FIRST:.*]] to
// CHECK:             %[[HAS:.*]] = arith.cmpi ne, %[[ROW]], %[[FIRST]]
// CHECK-NEXT:        scf.if %[[HAS]] {
// CHECK:               arith.divf
// CHECK:               } {xhlo.parallel}
// CHECK:             math.exp
// CHECK:             arith.addf
// The last row, beside nothing: arithmetic decides its time.
// CHECK:           arith.divf
// CHECK:           } {xhlo.parallel, xhlo.cached}
// CHECK-NOT:       arith.divf
// CHECK:           func.call @{{.*}}block_1(%[[TILE]], %{{.*}}, %v,

// As many matrices as tiles that are asked for: each task packs the keys of its own, and asks for some rows of those of
// the next at each block of scores; its values are more lines than may be asked for at once.
// OWN-LABEL: func.func private @row_fusion
// OWN-NOT:     memref.alloc()
// OWN:         "scf.parallel"
// OWN:           %[[OWN:.*]] = memref.alloca() : memref<4608xf32>
// OWN:           scf.for
// OWN:             func.call @{{.*}}pack(%k, %{{.*}}, %[[OWN]],
// OWN:           cpu.prefetch %{{.*}} : memref<2x16xf32, strided<[16, 1], offset: ?>>
// OWN:           cpu.prefetch %{{.*}} : memref<15x16xf32, strided<[16, 1], offset: ?>>
// OWN-NOT:       cpu.prefetch %{{.*}} : memref<15x32xf32
// OWN:           func.call @{{.*}}block({{.*}} %[[OWN]],
func.func @main(%q: tensor<2x20x16xf32>, %k: tensor<2x260x16xf32>, %v: tensor<2x260x32xf32>) -> tensor<2x20x32xf32> {
  %s = stablehlo.dot_general %q, %k, batching_dims = [0] x [0], contracting_dims = [2] x [2]
    : (tensor<2x20x16xf32>, tensor<2x260x16xf32>) -> tensor<2x20x260xf32>
  %least = stablehlo.constant dense<0xFF800000> : tensor<f32>
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %max = stablehlo.reduce(%s init: %least) applies stablehlo.maximum across dimensions = [2]
    : (tensor<2x20x260xf32>, tensor<f32>) -> tensor<2x20xf32>
  %maxes = stablehlo.broadcast_in_dim %max, dims = [0, 1] : (tensor<2x20xf32>) -> tensor<2x20x260xf32>
  %d = stablehlo.subtract %s, %maxes : tensor<2x20x260xf32>
  %e = stablehlo.exponential %d : tensor<2x20x260xf32>
  %sum = stablehlo.reduce(%e init: %zero) applies stablehlo.add across dimensions = [2]
    : (tensor<2x20x260xf32>, tensor<f32>) -> tensor<2x20xf32>
  %sums = stablehlo.broadcast_in_dim %sum, dims = [0, 1] : (tensor<2x20xf32>) -> tensor<2x20x260xf32>
  %w = stablehlo.divide %e, %sums : tensor<2x20x260xf32>
  %o = stablehlo.dot_general %w, %v, batching_dims = [0] x [0], contracting_dims = [2] x [1]
    : (tensor<2x20x260xf32>, tensor<2x260x32xf32>) -> tensor<2x20x32xf32>
  return %o : tensor<2x20x32xf32>
}
