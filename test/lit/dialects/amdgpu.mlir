// RUN: hlo-opt %s --verify-roundtrip --split-input-file --verify-diagnostics | filecheck %s

// The syntax is MLIR's. The verifier knows the products that there are, and the elements of a lane.

// CHECK-LABEL: func.func @products
func.func @products(%h: vector<4xf16>, %x: f32, %i: vector<8xi8>, %w: vector<16xbf16>, %c: vector<4xf32>,
                    %d: vector<4xi32>, %e: vector<8xf32>) {
  // CHECK: amdgpu.mfma %{{.*}} * %{{.*}} + %{{.*}} {m = 16 : i32, n = 16 : i32, k = 16 : i32, blocks = 1 : i32} : vector<4xf16>, vector<4xf16>, vector<4xf32>
  %0 = amdgpu.mfma %h * %h + %c {m = 16 : i32, n = 16 : i32, k = 16 : i32, blocks = 1 : i32} : vector<4xf16>, vector<4xf16>, vector<4xf32>
  // CHECK: amdgpu.mfma {{.*}} : f32, f32, vector<4xf32>
  %1 = amdgpu.mfma %x * %x + %c {m = 16 : i32, n = 16 : i32, k = 4 : i32, blocks = 1 : i32} : f32, f32, vector<4xf32>
  %2 = amdgpu.mfma %i * %i + %d {m = 16 : i32, n = 16 : i32, k = 32 : i32, blocks = 1 : i32} : vector<8xi8>, vector<8xi8>, vector<4xi32>
  // CHECK: amdgpu.wmma %{{.*}} * %{{.*}} + %{{.*}} : vector<16xbf16>, vector<16xbf16>, vector<8xf32>
  %3 = amdgpu.wmma %w * %w + %e : vector<16xbf16>, vector<16xbf16>, vector<8xf32>
  func.return
}

// -----

func.func @depth(%h: vector<4xf16>, %c: vector<4xf32>) {
  // expected-error @+1 {{there is no multiplication of 8 columns of elements of type f16}}
  %0 = amdgpu.mfma %h * %h + %c {m = 16 : i32, n = 16 : i32, k = 8 : i32, blocks = 1 : i32} : vector<4xf16>, vector<4xf16>, vector<4xf32>
  func.return
}

// -----

func.func @blocks(%h: vector<4xf16>, %c: vector<4xf32>) {
  // expected-error @+1 {{expected one block of 16 rows and columns}}
  %0 = amdgpu.mfma %h * %h + %c {m = 32 : i32, n = 32 : i32, k = 16 : i32, blocks = 1 : i32} : vector<4xf16>, vector<4xf16>, vector<4xf32>
  func.return
}

// -----

func.func @sums(%w: vector<16xf16>, %c: vector<4xf32>) {
  // expected-error @+1 {{C is of type vector<4xf32>, expected vector<8xf32>}}
  %0 = amdgpu.wmma %w * %w + %c : vector<16xf16>, vector<16xf16>, vector<4xf32>
  func.return
}

// -----

func.func @floats(%w: vector<16xf32>, %c: vector<8xf32>) {
  // expected-error @+1 {{there is no multiplication of 16 columns of elements of type f32}}
  %0 = amdgpu.wmma %w * %w + %c : vector<16xf32>, vector<16xf32>, vector<8xf32>
  func.return
}
