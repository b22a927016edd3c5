// --fuse groups operations, and --lower continues to the given stage; without --fuse each operation is a kernel.
// RUN: hlo-opt %s --fuse | filecheck %s --check-prefix=FUSE
// RUN: hlo-opt %s --fuse --lower=linalg | filecheck %s --check-prefix=LINALG
// RUN: hlo-opt %s --fuse --lower=loops --target=cpu | filecheck %s --check-prefix=LOOPS
// RUN: hlo-opt %s --fuse --lower | filecheck %s --check-prefix=LLVM
// RUN: hlo-opt %s --lower=linalg | filecheck %s --check-prefix=SINGLE
// RUN: hlo-opt %s --fuse --lower=linalg | hlo-opt --cse | hlo-opt | filecheck %s --check-prefix=LINALG

// FUSE:     hlo.fusion loop
// FUSE:     hlo.multiply
// FUSE:     hlo.add
// LINALG:   linalg.generic
// LINALG:   arith.mulf
// LINALG:   arith.addf
// LOOPS:    scf.for
// LLVM:     llvm.func @xhlo_entry
// SINGLE:   linalg.generic
// SINGLE:   linalg.generic
func.func @main(%x: tensor<1000xf32>, %y: tensor<1000xf32>) -> tensor<1000xf32> {
  %0 = stablehlo.multiply %x, %x : tensor<1000xf32>
  %1 = stablehlo.add %0, %y : tensor<1000xf32>
  return %1 : tensor<1000xf32>
}
