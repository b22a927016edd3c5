// RUN: hlo-opt %s --convert-gpu-to-rocdl | filecheck %s
// RUN: hlo-opt %s --convert-gpu-to-rocdl --convert-rocdl-to-llvm | filecheck %s --check-prefix=LLVM

// Products take bf16 as i16 and i8 as whole words; wmma is told that integers have signs.

gpu.module @kernels [#rocdl.target<chip = "gfx90a">] {
  // CHECK-LABEL: func.func @mfma
  gpu.func @mfma(%h: vector<4xf16>, %b: vector<4xbf16>, %x: f32, %i: vector<4xi8>, %c: vector<4xf32>,
                 %d: vector<4xi32>) {
    // CHECK: rocdl.mfma.f32.16x16x16f16 %[[H:.*]], %[[H]], %[[C:.*]], %[[Z:.*]], %[[Z]], %[[Z]] : (vector<4xf16>, vector<4xf16>, vector<4xf32>, i32, i32, i32) -> vector<4xf32>
    // LLVM: llvm.call_intrinsic "llvm.amdgcn.mfma.f32.16x16x16f16"
    %0 = amdgpu.mfma %h * %h + %c {m = 16 : i32, n = 16 : i32, k = 16 : i32, blocks = 1 : i32} : vector<4xf16>, vector<4xf16>, vector<4xf32>
    // CHECK: %[[B:.*]] = llvm.bitcast %{{.*}} : vector<4xbf16> to vector<4xi16>
    // CHECK: rocdl.mfma.f32.16x16x16bf16.1k %[[B]]
    // LLVM: llvm.call_intrinsic "llvm.amdgcn.mfma.f32.16x16x16bf16.1k"
    %1 = amdgpu.mfma %b * %b + %0 {m = 16 : i32, n = 16 : i32, k = 16 : i32, blocks = 1 : i32} : vector<4xbf16>, vector<4xbf16>, vector<4xf32>
    // CHECK: rocdl.mfma.f32.16x16x4f32 {{.*}} : (f32, f32, vector<4xf32>, i32, i32, i32) -> vector<4xf32>
    // LLVM: llvm.call_intrinsic "llvm.amdgcn.mfma.f32.16x16x4f32"
    %2 = amdgpu.mfma %x * %x + %1 {m = 16 : i32, n = 16 : i32, k = 4 : i32, blocks = 1 : i32} : f32, f32, vector<4xf32>
    // CHECK: %[[I:.*]] = llvm.bitcast %{{.*}} : vector<4xi8> to i32
    // CHECK: rocdl.mfma.i32.16x16x16i8 %[[I]]
    // LLVM: llvm.call_intrinsic "llvm.amdgcn.mfma.i32.16x16x16i8"
    %3 = amdgpu.mfma %i * %i + %d {m = 16 : i32, n = 16 : i32, k = 16 : i32, blocks = 1 : i32} : vector<4xi8>, vector<4xi8>, vector<4xi32>
    gpu.return
  }
  // CHECK-LABEL: func.func @wmma
  gpu.func @wmma(%h: vector<16xf16>, %i: vector<16xi8>, %c: vector<8xf32>, %d: vector<8xi32>) {
    // CHECK: rocdl.wmma.f32.16x16x16.f16 {{.*}} : (vector<16xf16>, vector<16xf16>, vector<8xf32>) -> vector<8xf32>
    // LLVM: llvm.call_intrinsic "llvm.amdgcn.wmma.f32.16x16x16.f16.v8f32.v16f16"
    %0 = amdgpu.wmma %h * %h + %c : vector<16xf16>, vector<16xf16>, vector<8xf32>
    // CHECK: rocdl.wmma.i32.16x16x16.iu8 {{.*}} : (i1, vector<4xi32>, i1, vector<4xi32>, vector<8xi32>, i1) -> vector<8xi32>
    // LLVM: llvm.call_intrinsic "llvm.amdgcn.wmma.i32.16x16x16.iu8.v8i32.v4i32"
    %1 = amdgpu.wmma %i * %i + %d : vector<16xi8>, vector<16xi8>, vector<8xi32>
    gpu.return
  }
}
