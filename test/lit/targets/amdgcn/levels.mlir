// RUN: hlo-opt --fuse --lower=loops --target=amdgcn %s | filecheck %s --check-prefix=LOOPS
// RUN: hlo-opt --fuse --lower=rocdl --target=amdgcn %s | filecheck %s --check-prefix=ROCDL
// RUN: hlo-opt --fuse --lower --target=amdgcn %s | filecheck %s --check-prefix=LLVM
// RUN: hlo-opt --fuse --lower --target=amdgcn --emit=llvm %s | filecheck %s --check-prefix=IR
// RUN: hlo-opt --fuse --lower --target=amdgcn --chip=gfx90a --emit=asm %s | filecheck %s --check-prefixes=ASM,GFX90A
// RUN: hlo-opt --fuse --lower --target=amdgcn --chip=gfx942 --emit=asm %s | filecheck %s --check-prefixes=ASM,GFX942
// RUN: hlo-opt --fuse --lower --target=amdgcn --chip=gfx1100 --emit=asm %s | filecheck %s --check-prefixes=ASM,GFX1100
// RUN: not hlo-opt --fuse --lower --target=amdgcn --chip=sm_90 %s 2>&1 | filecheck %s --check-prefix=CHIP
// RUN: not hlo-opt --fuse --lower --target=amdgcn --emit=ptx %s 2>&1 | filecheck %s --check-prefix=EMIT

// LOOPS: gpu.module @kernels [#rocdl.target<chip = "gfx942">]
// LOOPS: gpu.func @row_fusion_0
// LOOPS: gpu.shuffle

// ROCDL: sym_name = "row_fusion_0_shared_0"
// ROCDL: func.func @row_fusion_0({{.*}}) attributes {rocdl.waves_per_eu = {{.*}}, rocdl.kernel, rocdl.reqd_work_group_size = array<i32: [[N:[0-9]+]], 1, 1>
// ROCDL: rocdl.workitem.id.x range <i32, 0, [[N]]> : i32
// ROCDL: rocdl.update.dpp

// LLVM: llvm.func @row_fusion_0(%{{.*}}: !llvm.ptr<1> {llvm.noalias, llvm.align = 16 : i64}, {{.*}}) attributes {{{.*}}rocdl.kernel
// LLVM: llvm.alloca {{.*}} : (i64) -> !llvm.ptr<5>
// LLVM: llvm.addrspacecast %{{.*}} : !llvm.ptr<5> to !llvm.ptr

// IR: target triple = "amdgcn-amd-amdhsa"
// IR: @row_fusion_0_shared_0 = internal addrspace(3) global
// IR: define amdgpu_kernel void @row_fusion_0(ptr addrspace(1) noalias align 16 %{{.*}}) {{.*}}"amdgpu-flat-work-group-size"="[[N:[0-9]+]],[[N]]" "uniform-work-group-size"="true" "amdgpu-waves-per-eu"="{{[0-9]+}}" {
// IR: = alloca float, i64 {{.*}}, align {{.*}}, addrspace(5)
// IR: = addrspacecast ptr addrspace(5) %{{.*}} to ptr
// IR: fence syncscope("workgroup") release
// IR: call void @llvm.amdgcn.s.barrier()
// IR: fence syncscope("workgroup") acquire
// IR: !{i32 1, !"amdhsa_code_object_version", i32 400}

// GFX90A:  .amdgcn_target "amdgcn-amd-amdhsa--gfx90a"
// GFX942:  .amdgcn_target "amdgcn-amd-amdhsa--gfx942"
// GFX1100: .amdgcn_target "amdgcn-amd-amdhsa--gfx1100"
// ASM-LABEL: row_fusion_0:
// ASM:     global_load_
// ASM:     quad_perm
// ASM:     s_barrier
// ASM:     global_store_
// ASM:     .amdhsa_kernel row_fusion_0
// GFX90A:  .wavefront_size: 64
// GFX942:  .wavefront_size: 64
// GFX1100: .wavefront_size: 32

// CHIP: error: no chip is named 'sm_90'; there are: gfx90a, gfx942, gfx1100
// EMIT: error: target amdgcn does not emit ptx; it emits mlir, bytecode, hlo-text, llvm, asm, obj, hsaco

func.func @main(%x: tensor<64x1000xf32>) -> tensor<64x1000xf32> {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %s = stablehlo.reduce(%x init: %zero) applies stablehlo.add across dimensions = [1] : (tensor<64x1000xf32>, tensor<f32>) -> tensor<64xf32>
  %b = stablehlo.broadcast_in_dim %s, dims = [0] : (tensor<64xf32>) -> tensor<64x1000xf32>
  %r = stablehlo.divide %x, %b : tensor<64x1000xf32>
  return %r : tensor<64x1000xf32>
}
