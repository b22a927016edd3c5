// Loads and stores of 16 bytes, all loads before the first use, no local memory.
// RUN: hlo-opt %s --fuse --lower --target=nvptx --emit=ptx | filecheck %s

// CHECK-LABEL: .entry loop_fusion_0(
// CHECK-NOT:     .local
// CHECK:         ld.global.nc.v4.b32
// CHECK:         ld.global.nc.v4.b32
// CHECK:         ld.global.nc.v4.b32 {{.*}}+4096];
// CHECK:         ld.global.nc.v4.b32 {{.*}}+4096];
// CHECK-NOT:     ld.
// CHECK:         st.global.v4.b32
// CHECK:         st.global.v4.b32 {{.*}}+4096]
// CHECK:         ret;

// Indices have 32 bits, and a division by a constant is a multiplication.
// CHECK-LABEL: .entry loop_fusion_1(
// CHECK-NOT:     div.
// CHECK:         ld.global.nc.v4.b32
// CHECK:         mul.hi.u32
// CHECK-NOT:     div.
// CHECK:         st.global.v4.b32
// CHECK:         ret;

// More elements than 32 bits count.
// CHECK-LABEL: .entry loop_fusion_2(
// CHECK:         mul.wide.u32 {{.*}}, 16;
// CHECK:         ld.global.nc.v4.b32
// CHECK:         st.global.v4.b32

// A transpose: 16 loads at known distances, then 16 stores to shared memory; back in the other direction.
// CHECK-LABEL: .entry loop_fusion_3(
// CHECK:         .shared .align 16 .b8 loop_fusion_3_shared_0[16640];
// CHECK-NOT:     .local
// CHECK:         ld.global.nc.b32 %r{{[0-9]+}}, [%[[IN:rd[0-9]+]]];
// CHECK:         ld.global.nc.b32 %r{{[0-9]+}}, [%[[IN]]+3932160];
// CHECK:         bar.sync 0;
// CHECK-NOT:     setp
// CHECK:         st.global.b32 [%[[OUT:rd[0-9]+]]], %r
// CHECK:         st.global.b32 [%[[OUT]]+3932160], %r
// CHECK-NEXT:    ret;
func.func @main(%x: tensor<67108864xf32>, %y: tensor<67108864xf32>, %r: tensor<777xf32>, %a: tensor<20481x777xf32>, %b: tensor<5368709120xi8>, %t: tensor<16384x16384xf32>) -> (tensor<67108864xf32>, tensor<20481x777xf32>, tensor<5368709120xi8>, tensor<16384x16384xf32>) {
  %0 = stablehlo.multiply %x, %y : tensor<67108864xf32>
  %1 = stablehlo.tanh %0 : tensor<67108864xf32>
  %2 = stablehlo.add %1, %x : tensor<67108864xf32>
  %3 = stablehlo.broadcast_in_dim %r, dims = [1] : (tensor<777xf32>) -> tensor<20481x777xf32>
  %4 = stablehlo.add %3, %a : tensor<20481x777xf32>
  %5 = stablehlo.add %b, %b : tensor<5368709120xi8>
  %6 = stablehlo.transpose %t, dims = [1, 0] : (tensor<16384x16384xf32>) -> tensor<16384x16384xf32>
  return %2, %4, %5, %6 : tensor<67108864xf32>, tensor<20481x777xf32>, tensor<5368709120xi8>, tensor<16384x16384xf32>
}
