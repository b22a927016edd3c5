// RUN: hlo-opt %s --split-input-file --verify-diagnostics --convert-nvgpu-to-nvvm

gpu.module @kernels {
  gpu.func @arithmetic(%i: index) workgroup(%a: memref<16x24xf16, #gpu.address_space<workgroup>>) {
    %x = nvgpu.ldmatrix %a[%i, %i] {numTiles = 4 : i32, transpose = false} : memref<16x24xf16, #gpu.address_space<workgroup>> -> vector<4x2xf16>
    // expected-error@+1 {{takes or gives a fragment, which convert-nvgpu-to-nvvm knows in nvgpu and vector only}}
    %y = arith.addf %x, %x : vector<4x2xf16>
    gpu.return
  }
}

// -----

gpu.module @kernels {
  gpu.func @sums(%a: vector<4x2xf16>, %b: vector<2x2xf16>, %c: vector<2x2xf16>) {
    // expected-error@+1 {{adds products up in f16, which convert-nvgpu-to-nvvm does not lower; sum them in f32}}
    %d = nvgpu.mma.sync(%a, %b, %c) {mmaShape = [16, 8, 16]} : (vector<4x2xf16>, vector<2x2xf16>, vector<2x2xf16>) -> vector<2x2xf16>
    gpu.return
  }
}

// -----

gpu.module @kernels {
  gpu.func @flat(%i: index, %b: vector<2x2xf16>, %c: vector<2x2xf32>) {
    %factors = memref.alloca() : memref<8xf16>
    // expected-error@+1 {{moves a fragment to or from one dimension}}
    %x = vector.load %factors[%i] : memref<8xf16>, vector<4x2xf16>
    %d = nvgpu.mma.sync(%x, %b, %c) {mmaShape = [16, 8, 16]} : (vector<4x2xf16>, vector<2x2xf16>, vector<2x2xf32>) -> vector<2x2xf32>
    gpu.return
  }
}
