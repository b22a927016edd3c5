// RUN: hlo-opt %s --split-input-file | filecheck %s
// RUN: hlo-opt %s --split-input-file --fuse --fuse-remarks 2>&1 | filecheck %s --check-prefix=FUSED
// RUN: hlo-opt %s --split-input-file --fuse --lower=linalg | filecheck %s --check-prefix=LINALG
// RUN: hlo-opt %s --split-input-file --fuse --lower | filecheck %s --check-prefix=LLVM

// It is read and printed like an operation of hlo.
// CHECK-LABEL: func.func @main
// CHECK:         %[[SUM:.*]] = hlo.add
// CHECK-NEXT:    %[[GELU:.*]] = myops.gelu %[[SUM]] {approximate = "tanh"} : tensor<64x32xf32>
// CHECK-NEXT:    hlo.multiply %[[GELU]],

// Fusion has no special knowledge of it, and fuses it with both neighbours into one kernel.
// FUSED:       remark: fused hlo.add into the loop fusion of myops.gelu
// FUSED-NEXT:  remark: fused myops.gelu into the loop fusion of hlo.multiply
// FUSED:       hlo.fusion loop
// FUSED-NEXT:    hlo.add
// FUSED-NEXT:    myops.gelu
// FUSED-NEXT:    hlo.multiply
// FUSED-NEXT:    hlo.return

// One generic, in whose body its arithmetic is between theirs.
// LINALG-LABEL: func.func private @loop_fusion_0
// LINALG:         linalg.generic
// LINALG:           arith.addf
// LINALG:           math.tanh
// LINALG:           arith.mulf
// LINALG:           linalg.yield
// LINALG-NOT:     linalg.generic
// LINALG:         func.return

// LLVM-NOT:    myops
// LLVM:        llvm.func internal @loop_fusion_0
func.func @main(%x: tensor<64x32xf32>, %y: tensor<64x32xf32>) -> tensor<64x32xf32> {
  %0 = hlo.add %x, %y : tensor<64x32xf32>
  %1 = myops.gelu %0 {approximate = "tanh"} : tensor<64x32xf32>
  %2 = hlo.multiply %1, %y : tensor<64x32xf32>
  return %2 : tensor<64x32xf32>
}
