// RUN: hlo-opt %s --convert-nvgpu-to-nvvm | filecheck %s
// RUN: hlo-opt %s --convert-nvgpu-to-nvvm | hlo-opt | filecheck %s
// RUN: hlo-opt %s --convert-nvgpu-to-nvvm --convert-gpu-to-nvvm --convert-nvvm-to-llvm --convert-to-llvm --target=nvptx --emit=ptx | filecheck %s --check-prefix=PTX

gpu.module @kernels {
  // A fragment becomes one value per register, also in block arguments; tokens vanish.

  // CHECK-LABEL: gpu.func @product
  // PTX-LABEL: .visible .entry product(
  gpu.func @product(%out: memref<16x8xf32>) workgroup(%a: memref<16x24xbf16, #gpu.address_space<workgroup>>, %b: memref<16x16xbf16, #gpu.address_space<workgroup>>) kernel {
    %i = gpu.thread_id x
    %zero = arith.constant 0.0 : f32
    // CHECK: %[[ZERO:.*]] = arith.constant 0.000000e+00 : f32
    %nothing = vector.broadcast %zero : f32 to vector<2x2xf32>
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c4 = arith.constant 4 : index
    // CHECK: cf.br ^[[HEADER:.*]](%{{.*}}, %[[ZERO]], %[[ZERO]], %[[ZERO]], %[[ZERO]] : index, f32, f32, f32, f32)
    cf.br ^header(%c0, %nothing : index, vector<2x2xf32>)
  // CHECK: ^[[HEADER]](%{{.*}}: index, %[[C0:.*]]: f32, %[[C1:.*]]: f32, %[[C2:.*]]: f32, %[[C3:.*]]: f32):
  ^header(%k: index, %sum: vector<2x2xf32>):
    %more = arith.cmpi slt, %k, %c4 : index
    cf.cond_br %more, ^body, ^end
  ^body:
    // CHECK: %[[PLACE:.*]] = memref.subview %a[%[[I:.*]], %[[I]]] [1, 1] [1, 1]
    // CHECK: %[[P:.*]] = builtin.unrealized_conversion_cast %[[PLACE]] : {{.*}} to !llvm.ptr<3>
    // CHECK: %[[A:.*]] = nvvm.ldmatrix %[[P]] {num = 4 : i32, layout = "row"} : (!llvm.ptr<3>) -> !llvm.struct<(i32, i32, i32, i32)>
    // CHECK: %[[A0:.*]] = llvm.extractvalue %[[A]][0]
    // PTX: ldmatrix.sync.aligned.m8n8.x4.shared.b16
    %x = nvgpu.ldmatrix %a[%i, %i] {numTiles = 4 : i32, transpose = false} : memref<16x24xbf16, #gpu.address_space<workgroup>> -> vector<4x2xbf16>
    // CHECK: nvvm.ldmatrix {{.*}} {num = 2 : i32, layout = "col"} : (!llvm.ptr<3>) -> !llvm.struct<(i32, i32)>
    // PTX: ldmatrix.sync.aligned.m8n8.x2.trans.shared.b16
    %y = nvgpu.ldmatrix %b[%i, %i] {numTiles = 2 : i32, transpose = true} : memref<16x16xbf16, #gpu.address_space<workgroup>> -> vector<2x2xbf16>
    // CHECK: %[[D:.*]] = nvvm.mma.sync A[%[[A0]], %{{.*}}, %{{.*}}, %{{.*}}] B[%{{.*}}, %{{.*}}] C[%[[C0]], %[[C1]], %[[C2]], %[[C3]]] {multiplicandPtxType = "bf16", shape = array<i64: 16, 8, 16>}
    // PTX: mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32
    %next = nvgpu.mma.sync(%x, %y, %sum) {mmaShape = [16, 8, 16]} : (vector<4x2xbf16>, vector<2x2xbf16>, vector<2x2xf32>) -> vector<2x2xf32>
    // CHECK: %[[D0:.*]] = llvm.extractvalue %[[D]][0]
    %k1 = arith.addi %k, %c1 : index
    // CHECK: cf.br ^[[HEADER]](%{{.*}}, %[[D0]], %{{.*}}, %{{.*}}, %{{.*}} : index, f32, f32, f32, f32)
    cf.br ^header(%k1, %next : index, vector<2x2xf32>)
  ^end:
    // CHECK: vector.broadcast %[[C2]] : f32 to vector<2xf32>
    // CHECK: vector.insert %[[C3]]
    %row = vector.extract %sum[1] : vector<2xf32> from vector<2x2xf32>
    vector.store %row, %out[%c1, %c4] : memref<16x8xf32>, vector<2xf32>
    gpu.return
  }

  // Half the rows of fragments, for multiplications of 8 products; registers of f16 are pairs.

  // CHECK-LABEL: gpu.func @halves
  // PTX-LABEL: .visible .entry halves(
  gpu.func @halves(%out: memref<16x8xf32>) workgroup(%a: memref<16x24xf16, #gpu.address_space<workgroup>>) kernel {
    %i = gpu.thread_id x
    %zero = arith.constant 0.0 : f32
    %nothing = vector.broadcast %zero : f32 to vector<2x2xf32>
    // CHECK-COUNT-4: llvm.bitcast {{.*}} i32 to vector<2xf16>
    %x = nvgpu.ldmatrix %a[%i, %i] {numTiles = 4 : i32, transpose = false} : memref<16x24xf16, #gpu.address_space<workgroup>> -> vector<4x2xf16>
    %high = vector.shuffle %x, %x [2, 3] : vector<4x2xf16>, vector<4x2xf16>
    %one = vector.shuffle %x, %x [0] : vector<4x2xf16>, vector<4x2xf16>
    // CHECK: nvvm.mma.sync {{.*}} {multiplicandPtxType = "f16", shape = array<i64: 16, 8, 8>}
    // PTX: mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32
    %sum = nvgpu.mma.sync(%high, %one, %nothing) {mmaShape = [16, 8, 8]} : (vector<2x2xf16>, vector<1x2xf16>, vector<2x2xf32>) -> vector<2x2xf32>
    %single = vector.extract %sum[1, 0] : f32 from vector<2x2xf32>
    memref.store %single, %out[%i, %i] : memref<16x8xf32>
    gpu.return
  }

  // CHECK-LABEL: gpu.func @copies
  // PTX-LABEL: .visible .entry copies(
  gpu.func @copies(%x: memref<1024xbf16>, %n: memref<1xi32>) workgroup(%s: memref<2x256xbf16, #gpu.address_space<workgroup>>) kernel {
    %i = gpu.thread_id x
    %c0 = arith.constant 0 : index
    %count = memref.load %n[%c0] : memref<1xi32>
    %read = arith.index_cast %count : i32 to index
    // CHECK: nvvm.cp.async.shared.global %{{.*}}, %{{.*}} {size = 16 : i32, modifier = "cg"} : !llvm.ptr<3>, !llvm.ptr<1>
    // PTX: cp.async.cg.shared.global {{.*}}, 16;
    %t = nvgpu.device_async_copy %x[%i], %s[%c0, %i], 8 {bypassL1} : memref<1024xbf16> to memref<2x256xbf16, #gpu.address_space<workgroup>>
    // The number of elements becomes one of bytes.
    // CHECK: %[[BYTES:.*]] = arith.muli
    // CHECK: nvvm.cp.async.shared.global %{{.*}}, %{{.*}}, %[[BYTES]] {size = 4 : i32, modifier = "ca"}
    // PTX: cp.async.ca.shared.global {{.*}}, 4, %
    %u = nvgpu.device_async_copy %x[%i], %s[%c0, %i], 2, %read : memref<1024xbf16> to memref<2x256xbf16, #gpu.address_space<workgroup>>
    // CHECK: nvvm.cp.async.commit.group
    // PTX: cp.async.commit_group;
    %g = nvgpu.device_async_create_group %t, %u
    // CHECK: nvvm.cp.async.wait.group {n = 1 : i32}
    // PTX: cp.async.wait_group 1;
    nvgpu.device_async_wait %g {numGroups = 1 : i32}
    // CHECK-NOT: nvgpu
    gpu.return
  }

  // Fragments move from and to memory of the thread row by row: sums as vectors, factors as registers.

  // CHECK-LABEL: gpu.func @kept
  gpu.func @kept(%i: index) {
    %none = arith.constant 0.0 : f32
    %sum = vector.broadcast %none : f32 to vector<2x2xf32>
    // CHECK: %[[SUMS:.*]] = memref.alloca() : memref<4x2xf32>
    %sums = memref.alloca() : memref<4x2xf32>
    %factors = memref.alloca() : memref<8x2xf16>
    // CHECK: vector.store %{{.*}}, %[[SUMS]][%[[R0:.*]], %{{.*}}] : memref<4x2xf32>, vector<2xf32>
    // CHECK: vector.store %{{.*}}, %[[SUMS]][%[[R1:.*]], %{{.*}}] : memref<4x2xf32>, vector<2xf32>
    vector.store %sum, %sums[%i, %i] : memref<4x2xf32>, vector<2x2xf32>
    // CHECK-COUNT-4: vector.load %{{.*}} : memref<8x2xf16>, vector<2xf16>
    %x = vector.load %factors[%i, %i] : memref<8x2xf16>, vector<4x2xf16>
    %y = vector.load %factors[%i, %i] : memref<8x2xf16>, vector<2x2xf16>
    // CHECK: nvvm.mma.sync
    %d = nvgpu.mma.sync(%x, %y, %sum) {mmaShape = [16, 8, 16]} : (vector<4x2xf16>, vector<2x2xf16>, vector<2x2xf32>) -> vector<2x2xf32>
    vector.store %d, %sums[%i, %i] : memref<4x2xf32>, vector<2x2xf32>
    gpu.return
  }
}
