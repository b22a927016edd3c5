// RUN: hlo-opt %s --fuse --outline-kernels --convert-hlo-to-linalg --fuse-linalg --bufferize --convert-contractions-to-vector --split-input-file | filecheck %s

// Each task applies the epilogue to its tile of the product, which is computed in the kernel's result.

// CHECK-LABEL: func.func private @dot_0(%x: {{.*}}, %w: {{.*}}, %b: memref<80xf32>, %0: memref<64x80xf32>)
// CHECK-NOT:     memref<64x80xf32>
// CHECK:         scf.parallel
// CHECK:           func.call @dot_0_block
// CHECK-SAME:      %0,
// CHECK:           scf.for
// CHECK:             scf.for
// CHECK:               memref.load
// CHECK:               math.tanh
// CHECK:               memref.store
// CHECK-NOT:     linalg.generic
// CHECK:         func.return
func.func @main(%x: tensor<64x96xf32>, %w: tensor<96x80xf32>, %b: tensor<80xf32>) -> tensor<64x80xf32> {
  %0 = hlo.dot_general %x, %w, contracting_dims = [1] x [0] : (tensor<64x96xf32>, tensor<96x80xf32>) -> tensor<64x80xf32>
  %1 = hlo.broadcast_in_dim %b, dims = [1] : (tensor<80xf32>) -> tensor<64x80xf32>
  %2 = hlo.add %0, %1 : tensor<64x80xf32>
  %3 = hlo.tanh %2 : tensor<64x80xf32>
  func.return %3 : tensor<64x80xf32>
}

// -----

// A product that is narrowed is written by no task: each keeps its tile, and asks for what it will write of a block.

// CHECK-LABEL: func.func private @dot_0(%x: {{.*}}, %w: {{.*}}, %0: memref<64x80xbf16>)
// CHECK-NOT:     memref<64x80xf32>
// CHECK:         scf.parallel
// CHECK:           %[[TILE:.*]] = memref.alloca() : memref<{{.*}}xf32>
// CHECK:           %[[BLOCK:.*]] = memref.reinterpret_cast %0
// CHECK:           cpu.prefetch %[[BLOCK]]{{.*}} {to_write}
// CHECK:           func.call @dot_0_block
// CHECK-SAME:      %[[TILE]],
// CHECK:           scf.for
// CHECK:             scf.for
// CHECK:               memref.load %[[TILE]]
// CHECK-NEXT:          arith.truncf
// CHECK-NEXT:          memref.store %{{.*}}, %0
func.func @main(%x: tensor<64x96xbf16>, %w: tensor<96x80xbf16>) -> tensor<64x80xbf16> {
  %0 = hlo.dot_general %x, %w, contracting_dims = [1] x [0] : (tensor<64x96xbf16>, tensor<96x80xbf16>) -> tensor<64x80xbf16>
  func.return %0 : tensor<64x80xbf16>
}

// -----

// The columns of a tile, a panel, end a number after their beginning: the loop over them has a known length.

// CHECK-LABEL: func.func private @dot_0(
// CHECK:         scf.parallel
// CHECK:           func.call @dot_0_block
// CHECK:           %[[BEGIN:.*]] = arith.muli %{{.*}}, %[[WIDTH:.*]] : index
// CHECK-NEXT:      %[[END:.*]] = arith.addi %[[BEGIN]], %[[WIDTH]] : index
// CHECK:           scf.for %{{.*}} = %[[BEGIN]] to %[[END]]
// CHECK:             math.tanh
func.func @main(%x: tensor<64x784xf32>, %w: tensor<784x512xf32>) -> tensor<64x512xf32> {
  %0 = hlo.dot_general %x, %w, contracting_dims = [1] x [0] : (tensor<64x784xf32>, tensor<784x512xf32>) -> tensor<64x512xf32>
  %1 = hlo.tanh %0 : tensor<64x512xf32>
  func.return %1 : tensor<64x512xf32>
}
