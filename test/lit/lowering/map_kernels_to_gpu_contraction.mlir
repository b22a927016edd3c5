// RUN: hlo-opt %s --pass-pipeline=outline-kernels,convert-hlo-to-linalg,fuse-linalg,bufferize,map-kernels-to-gpu | filecheck %s --check-prefixes=CHECK,SM90
// RUN: hlo-opt %s "--pass-pipeline=outline-kernels,convert-hlo-to-linalg,fuse-linalg,bufferize,map-kernels-to-gpu{chip=sm_75}" | filecheck %s --check-prefixes=CHECK,SM75

func.func @main(%x: tensor<1024x256xf32>, %w: tensor<256x2048xf32>, %a: tensor<512x256xf16>, %b: tensor<1024x256xf16>, %c: tensor<1024xf16>, %l: tensor<32x8192xf32>) -> (tensor<1024x2048xf32>, tensor<512x1024xf16>, tensor<32x32xf32>) {
  %0 = hlo.fusion dot (%x1 = %x : tensor<1024x256xf32>, %w1 = %w : tensor<256x2048xf32>) -> tensor<1024x2048xf32> {
    %3 = hlo.dot_general %x1, %w1, contracting_dims = [1] x [0] : (tensor<1024x256xf32>, tensor<256x2048xf32>) -> tensor<1024x2048xf32>
    hlo.return %3 : tensor<1024x2048xf32>
  }
  %1 = hlo.fusion dot (%a1 = %a : tensor<512x256xf16>, %b1 = %b : tensor<1024x256xf16>, %c1 = %c : tensor<1024xf16>) -> tensor<512x1024xf16> {
    %3 = hlo.dot_general %a1, %b1, contracting_dims = [1] x [1] : (tensor<512x256xf16>, tensor<1024x256xf16>) -> tensor<512x1024xf16>
    %4 = hlo.broadcast_in_dim %c1, dims = [1] : (tensor<1024xf16>) -> tensor<512x1024xf16>
    %5 = hlo.add %3, %4 : tensor<512x1024xf16>
    %6 = hlo.tanh %5 : tensor<512x1024xf16>
    hlo.return %6 : tensor<512x1024xf16>
  }
  %2 = hlo.fusion dot (%l1 = %l : tensor<32x8192xf32>) -> tensor<32x32xf32> {
    %3 = hlo.dot_general %l1, %l1, contracting_dims = [1] x [1] : (tensor<32x8192xf32>, tensor<32x8192xf32>) -> tensor<32x32xf32>
    hlo.return %3 : tensor<32x32xf32>
  }
  func.return %0, %1, %2 : tensor<1024x2048xf32>, tensor<512x1024xf16>, tensor<32x32xf32>
}

// A product whose k is long and whose tiles are few is split; a second launch adds the parts up.

// CHECK-LABEL: func.func private @dot_2(
// CHECK:         %[[PARTS:.*]] = memref.alloc() : memref<[[SPLITS:[0-9]+]]x1x32x32xf32>
// CHECK:         gpu.launch_func @kernels::@dot_2 {{.*}} args({{.*}}%[[PARTS]] : {{.*}})
// CHECK:         gpu.launch_func @kernels::@dot_2_1 {{.*}} args({{.*}}%[[PARTS]] : {{.*}})

// Exact f32: two tiles of each factor in shared memory, sums in vectors of registers, the next tiles on their way.

// CHECK-LABEL: gpu.func @dot_0(
// CHECK-SAME:    workgroup(%[[SHARED:.*]]: memref<{{[0-9]+}}xi8, #gpu.address_space<workgroup>>) kernel
// CHECK-SAME:    nvvm.minctasm = 2 : i32
// CHECK:         memref.view %[[SHARED]]{{.*}} to memref<2x8x132xf32, #gpu.address_space<workgroup>>
// CHECK:         vector.load {{.*}} vector<4xf32>
// CHECK:         gpu.barrier
// CHECK:         scf.for
// CHECK:           %[[NEXT:.*]] = vector.load {{.*}} : memref<262144xf32>, vector<4xf32>
// CHECK:           scf.for
// CHECK:             vector.load {{.*}} : memref<2x8x132xf32, #gpu.address_space<workgroup>>, vector<4xf32>
// CHECK:             vector.fma
// CHECK:           } {xhlo.unroll = 0 : i64}
// CHECK:           memref.store {{.*}} : memref<2x8x132xf32, #gpu.address_space<workgroup>>
// CHECK:           gpu.barrier

// f16: fragments and tensor cores; the sums leave by way of shared memory, bias and tanh applied.

// CHECK-LABEL: gpu.func @dot_1(
// SM90:          nvgpu.device_async_copy {{.*}}, 8 {bypassL1} : memref<131072xf16> to
// SM90:          nvgpu.device_async_create_group
// SM90:          nvgpu.device_async_wait
// SM75-NOT:      nvgpu.device_async
// CHECK:         gpu.barrier
// CHECK:         scf.for
// CHECK:           nvgpu.ldmatrix
// SM90:            nvgpu.mma.sync({{.*}}) {mmaShape = [16 : i64, 8 : i64, 16 : i64]}
// SM75:            nvgpu.mma.sync({{.*}}) {mmaShape = [16 : i64, 8 : i64, 8 : i64]}
// SM90:            nvgpu.device_async_wait
// CHECK:           gpu.barrier
// CHECK:         vector.store {{.*}} vector<2xf32>
// CHECK:         gpu.barrier
// CHECK:         scf.for
// CHECK:           math.tanh
// CHECK:           memref.store {{.*}} : memref<512x1024xf16>

// CHECK-LABEL: gpu.func @dot_2_1(
// CHECK:         scf.for
// CHECK:           arith.addf
