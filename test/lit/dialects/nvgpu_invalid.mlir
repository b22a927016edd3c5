// RUN: hlo-opt %s --split-input-file --verify-diagnostics

func.func @shape(%a: vector<4x2xf16>, %b: vector<2x2xf16>, %c: vector<2x2xf32>) -> vector<2x2xf32> {
  // expected-error@+1 {{there is no multiplication of shape [16, 8, 32] of elements of type f16}}
  %d = nvgpu.mma.sync(%a, %b, %c) {mmaShape = [16, 8, 32]} : (vector<4x2xf16>, vector<2x2xf16>, vector<2x2xf32>) -> vector<2x2xf32>
  func.return %d : vector<2x2xf32>
}

// -----

func.func @fragment(%a: vector<2x2xf16>, %b: vector<2x2xf16>, %c: vector<2x2xf32>) -> vector<2x2xf32> {
  // expected-error@+1 {{a fragment of A is of type vector<2x2xf16>, expected vector<4x2xf16>}}
  %d = nvgpu.mma.sync(%a, %b, %c) {mmaShape = [16, 8, 16]} : (vector<2x2xf16>, vector<2x2xf16>, vector<2x2xf32>) -> vector<2x2xf32>
  func.return %d : vector<2x2xf32>
}

// -----

func.func @exact(%a: vector<4x1xf32>, %b: vector<2x1xf32>, %c: vector<2x2xf32>) -> vector<2x2xf32> {
  // expected-error@+1 {{elements of type f32 are multiplied as tf32 only: expected tf32Enabled}}
  %d = nvgpu.mma.sync(%a, %b, %c) {mmaShape = [16, 8, 8]} : (vector<4x1xf32>, vector<2x1xf32>, vector<2x2xf32>) -> vector<2x2xf32>
  func.return %d : vector<2x2xf32>
}

// -----

func.func @sums(%a: vector<4x2xbf16>, %b: vector<2x2xbf16>, %c: vector<2x2xbf16>) -> vector<2x2xbf16> {
  // expected-error@+1 {{products of bf16 are not added up as bf16}}
  %d = nvgpu.mma.sync(%a, %b, %c) {mmaShape = [16, 8, 16]} : (vector<4x2xbf16>, vector<2x2xbf16>, vector<2x2xbf16>) -> vector<2x2xbf16>
  func.return %d : vector<2x2xbf16>
}

// -----

func.func @transposed(%s: memref<16x40xi8, #gpu.address_space<workgroup>>, %i: index) -> vector<4x4xi8> {
  // expected-error@+1 {{only elements of 16 bits are transposed}}
  %a = nvgpu.ldmatrix %s[%i, %i] {numTiles = 4 : i32, transpose = true} : memref<16x40xi8, #gpu.address_space<workgroup>> -> vector<4x4xi8>
  func.return %a : vector<4x4xi8>
}

// -----

func.func @global(%s: memref<16x40xf16>, %i: index) -> vector<4x2xf16> {
  // expected-error@+1 {{the source is not in the memory of the workgroup}}
  %a = nvgpu.ldmatrix %s[%i, %i] {numTiles = 4 : i32, transpose = false} : memref<16x40xf16> -> vector<4x2xf16>
  func.return %a : vector<4x2xf16>
}

// -----

func.func @odd(%src: memref<64xbf16>, %dst: memref<64xbf16, #gpu.address_space<workgroup>>, %i: index) {
  // expected-error@+1 {{copies 4, 8 or 16 bytes, not 6}}
  %t = nvgpu.device_async_copy %src[%i], %dst[%i], 3 : memref<64xbf16> to memref<64xbf16, #gpu.address_space<workgroup>>
  func.return
}

// -----

func.func @cache(%src: memref<64xbf16>, %dst: memref<64xbf16, #gpu.address_space<workgroup>>, %i: index) {
  // expected-error@+1 {{bypasses the first-level cache with 16 bytes, not 8}}
  %t = nvgpu.device_async_copy %src[%i], %dst[%i], 4 {bypassL1} : memref<64xbf16> to memref<64xbf16, #gpu.address_space<workgroup>>
  func.return
}

// -----

func.func @back(%src: memref<64xbf16, #gpu.address_space<workgroup>>, %dst: memref<64xbf16>, %i: index) {
  // expected-error@+1 {{copies from global memory to the memory of the workgroup}}
  %t = nvgpu.device_async_copy %src[%i], %dst[%i], 8 : memref<64xbf16, #gpu.address_space<workgroup>> to memref<64xbf16>
  func.return
}
