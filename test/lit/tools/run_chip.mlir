// RUN: hlo-run --target=simt --chip=gfx90a --input=4xf32=1 %s | filecheck %s
// RUN: not hlo-run --target=cpu --chip=gfx90a %s 2>&1 | filecheck %s --check-prefix=CPU
// RUN: not hlo-run --target=reference --chip=gfx90a %s 2>&1 | filecheck %s --check-prefix=CPU
// RUN: not hlo-run --target=amdgcn --chip=sm_90 %s 2>&1 | filecheck %s --check-prefix=CHIP

// CHECK: 2
// CPU:  error: --chip is about GPUs: give --target=simt, nvptx or amdgcn
// CHIP: error: no chip is named 'sm_90'; there are: gfx90a, gfx942, gfx1100

func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = hlo.add %x, %x : tensor<4xf32>
  return %0 : tensor<4xf32>
}
