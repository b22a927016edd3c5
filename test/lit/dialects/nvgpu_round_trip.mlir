// RUN: hlo-opt %s | hlo-opt | filecheck %s

// The operations of nvgpu print as MLIR prints them, and read back.

// CHECK-LABEL: func.func @copies
func.func @copies(%src: memref<64xbf16>, %dst: memref<2x8x40xbf16, #gpu.address_space<workgroup>>, %i: index, %n: index) {
  // CHECK: [[T:%.*]] = nvgpu.device_async_copy %src[%i], %dst[%i, %i, %i], 8 {bypassL1} : memref<64xbf16> to memref<2x8x40xbf16, #gpu.address_space<workgroup>>
  %t = nvgpu.device_async_copy %src[%i], %dst[%i, %i, %i], 8 {bypassL1} : memref<64xbf16> to memref<2x8x40xbf16, #gpu.address_space<workgroup>>
  // CHECK: [[U:%.*]] = nvgpu.device_async_copy %src[%i], %dst[%i, %i, %i], 2, %n : memref<64xbf16> to memref<2x8x40xbf16, #gpu.address_space<workgroup>>
  %u = nvgpu.device_async_copy %src[%i], %dst[%i, %i, %i], 2, %n : memref<64xbf16> to memref<2x8x40xbf16, #gpu.address_space<workgroup>>
  // CHECK: [[G:%.*]] = nvgpu.device_async_create_group [[T]], [[U]]
  %g = nvgpu.device_async_create_group %t, %u
  // CHECK: nvgpu.device_async_create_group {}
  %h = nvgpu.device_async_create_group {}
  // CHECK: nvgpu.device_async_wait [[G]] {numGroups = 1 : i32}
  nvgpu.device_async_wait %g {numGroups = 1 : i32}
  // CHECK: nvgpu.device_async_wait {{%.*$}}
  nvgpu.device_async_wait %h
  func.return
}

// CHECK-LABEL: func.func @products
func.func @products(%s: memref<16x40xf16, #gpu.address_space<workgroup>>, %i: index, %c: vector<2x2xf32>) -> vector<2x2xf32> {
  // CHECK: [[A:%.*]] = nvgpu.ldmatrix %s[%i, %i] {{.*}}numTiles = 4 : i32{{.*}} : memref<16x40xf16, #gpu.address_space<workgroup>> -> vector<4x2xf16>
  %a = nvgpu.ldmatrix %s[%i, %i] {numTiles = 4 : i32, transpose = false} : memref<16x40xf16, #gpu.address_space<workgroup>> -> vector<4x2xf16>
  // CHECK: [[B:%.*]] = nvgpu.ldmatrix %s[%i, %i] {{.*}}transpose = true{{.*}} : memref<16x40xf16, #gpu.address_space<workgroup>> -> vector<2x2xf16>
  %b = nvgpu.ldmatrix %s[%i, %i] {numTiles = 2 : i32, transpose = true} : memref<16x40xf16, #gpu.address_space<workgroup>> -> vector<2x2xf16>
  // CHECK: nvgpu.mma.sync([[A]], [[B]], %c) {mmaShape = [16 : i64, 8 : i64, 16 : i64]} : (vector<4x2xf16>, vector<2x2xf16>, vector<2x2xf32>) -> vector<2x2xf32>
  %d = nvgpu.mma.sync(%a, %b, %c) {mmaShape = [16, 8, 16]} : (vector<4x2xf16>, vector<2x2xf16>, vector<2x2xf32>) -> vector<2x2xf32>
  func.return %d : vector<2x2xf32>
}

// CHECK-LABEL: func.func @tf32
func.func @tf32(%a: vector<4x1xf32>, %b: vector<2x1xf32>, %c: vector<2x2xf32>) -> vector<2x2xf32> {
  // CHECK: nvgpu.mma.sync(%a, %b, %c) {mmaShape = [16 : i64, 8 : i64, 8 : i64], tf32Enabled}
  %d = nvgpu.mma.sync(%a, %b, %c) {mmaShape = [16, 8, 8], tf32Enabled} : (vector<4x1xf32>, vector<2x1xf32>, vector<2x2xf32>) -> vector<2x2xf32>
  func.return %d : vector<2x2xf32>
}
