// Compiled: compared with the reference, profiled by kernel, timed.
// RUN: hlo-run %s --compare --profile --repeat 3 | filecheck %s
// RUN: hlo-run %s --timing -o %t.npz 2>&1 | filecheck %s --check-prefix=TIMING

// CHECK:  cpu against reference:
// CHECK:  output abs rel ulp
// CHECK:  0 {{.*}} ok
// CHECK:  3 runs: median {{.*}} ms, least {{.*}} ms
// CHECK:  kernel calls ms % GB/s GFLOP/s
// CHECK:  3 {{.*}} 100.0
// CHECK:  total 3
// TIMING: read
// TIMING: fuse-hlo
// TIMING: convert-to-llvm
// TIMING: LLVM
// TIMING: run
func.func @main(%x: tensor<1000xf32>, %y: tensor<1000xf32>) -> tensor<1000xf32> {
  %0 = stablehlo.multiply %x, %x : tensor<1000xf32>
  %1 = stablehlo.add %0, %y : tensor<1000xf32>
  return %1 : tensor<1000xf32>
}
