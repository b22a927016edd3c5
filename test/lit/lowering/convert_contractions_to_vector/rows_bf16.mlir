// RUN: hlo-opt %s --fuse --lower=linalg --bufferize --convert-contractions-to-vector='tiles=1 bfloat-dots=true vector-bits=512 registers=32' | filecheck %s
// RUN: hlo-opt %s --fuse --lower=linalg --bufferize --convert-contractions-to-vector='tiles=1 bfloat-dots=false' | filecheck %s --check-prefix=WIDE
// Rows and keys of bf16 are packed in pairs, with the least number of each panel, which each task finds for its own.

// CHECK-LABEL: func.func private @row_fusion
// CHECK-NOT:     memref.alloc()
// CHECK:         "scf.parallel"
// CHECK:           %[[NUMBERS:.*]] = memref.alloca() : memref<9xi16>
// CHECK-NEXT:      %[[KEYS:.*]] = memref.alloca() : memref<4608xbf16>
// CHECK:           func.call @{{.*}}pack(%k, %{{.*}}, %[[KEYS]],
// CHECK:           func.call @{{.*}}least(%[[KEYS]], %{{.*}}, %[[NUMBERS]],
// CHECK:           func.call @{{.*}}pack_2(%q,
// CHECK:           memref.load %[[NUMBERS]]
// CHECK:           scf.if
// CHECK-NEXT:        func.call @{{.*}}block({{.*}}, %[[KEYS]],
// CHECK-NEXT:      } else {
// CHECK-NEXT:        func.call @{{.*}}block_1({{.*}}, %[[KEYS]],
// CHECK:         func.func private @{{.*}}block_1(
// CHECK-NOT:     cpu.dot
// CHECK:         vector.fma
// CHECK:         func.func private @{{.*}}block(
// CHECK-NOT:     vector.fma
// CHECK:         cpu.dot

// WIDE-LABEL: func.func private @row_fusion
// WIDE:         memref.alloca() : memref<{{.*}}xf32>
// WIDE-NOT:     least
// WIDE-NOT:     cpu.dot
func.func @main(%q: tensor<2x20x16xbf16>, %k: tensor<2x260x16xbf16>, %v: tensor<2x260x32xbf16>) -> tensor<2x20x32xf32> {
  %s = stablehlo.dot_general %q, %k, batching_dims = [0] x [0], contracting_dims = [2] x [2]
    : (tensor<2x20x16xbf16>, tensor<2x260x16xbf16>) -> tensor<2x20x260xf32>
  %least = stablehlo.constant dense<0xFF800000> : tensor<f32>
  %max = stablehlo.reduce(%s init: %least) applies stablehlo.maximum across dimensions = [2]
    : (tensor<2x20x260xf32>, tensor<f32>) -> tensor<2x20xf32>
  %maxes = stablehlo.broadcast_in_dim %max, dims = [0, 1] : (tensor<2x20xf32>) -> tensor<2x20x260xf32>
  %d = stablehlo.subtract %s, %maxes : tensor<2x20x260xf32>
  %e = stablehlo.exponential %d : tensor<2x20x260xf32>
  %w = stablehlo.convert %e : (tensor<2x20x260xf32>) -> tensor<2x20x260xbf16>
  %o = stablehlo.dot_general %w, %v, batching_dims = [0] x [0], contracting_dims = [2] x [1]
    : (tensor<2x20x260xbf16>, tensor<2x260x32xbf16>) -> tensor<2x20x32xf32>
  return %o : tensor<2x20x32xf32>
}
