// RUN: hlo-opt %s --expand-math | filecheck %s --check-prefixes=CHECK,DEFAULT
// RUN: hlo-opt %s --expand-math=mode=strict | filecheck %s --check-prefixes=CHECK,DEFAULT
// RUN: hlo-opt %s --expand-math=mode=fast | filecheck %s --check-prefixes=CHECK,FAST
// RUN: hlo-opt %s --expand-math=mode=fast --convert-gpu-to-nvvm | filecheck %s --check-prefix=NVVM

// The host program is not changed.
// CHECK-LABEL: func.func @host
// CHECK:         math.exp %{{.*}} : f32
func.func @host(%x: f32) -> f32 {
  %0 = math.exp %x : f32
  func.return %0 : f32
}

// CHECK-LABEL: gpu.module @kernels
gpu.module @kernels {
  // CHECK-LABEL: gpu.func @functions
  // CHECK-NEXT:    func.call @xhlo_math_exp_f32
  // DEFAULT-NEXT:  math.sqrt
  // FAST-NEXT:     func.call @xhlo_math_sqrt_f32
  // CHECK-NEXT:    func.call @xhlo_math_sin_f64
  // CHECK-NEXT:    func.call @xhlo_math_remf_f32
  // CHECK-NEXT:    func.call @xhlo_math_tanh_f16
  // DEFAULT-NEXT:  arith.truncf %{{.*}} : f32 to bf16
  // FAST-NEXT:     arith.truncf %{{.*}} : f32 to bf16
  // DEFAULT-NEXT:  arith.mulf %{{.*}}, %{{.*}} : f32
  // FAST-NEXT:     arith.mulf %{{.*}}, %{{.*}} fastmath<contract> : f32
  // DEFAULT-NEXT:  arith.addf %{{.*}}, %{{.*}} fastmath<reassoc> : f32
  // FAST-NEXT:     arith.addf %{{.*}}, %{{.*}} fastmath<reassoc,contract> : f32
  gpu.func @functions(%x: f32, %y: f64, %z: f16) -> (f32, f64, f16, bf16) {
    %0 = math.exp %x : f32
    %1 = math.sqrt %0 : f32
    %2 = math.sin %y : f64
    %3 = arith.remf %1, %x : f32
    %4 = math.tanh %z : f16
    %5 = arith.truncf %3 : f32 to bf16
    %6 = arith.mulf %3, %x : f32
    %7 = arith.addf %6, %x fastmath<reassoc> : f32
    gpu.return %7, %2, %4, %5 : f32, f64, f16, bf16
  }
  // The table that sin reads for large numbers moves along with it.
  // CHECK: "memref.global"() <{{.*}}xhlo_two_over_pi
  // CHECK: func.func private @xhlo_math_exp_f32
  // FAST:    %[[Y:.*]] = arith.mulf
  // FAST:    math.exp2 %[[Y]] fastmath<afn> : f32
  // NVVM-LABEL: func.func private @xhlo_math_exp_f32
  // NVVM:         llvm.call_intrinsic "llvm.nvvm.ex2.approx.f"
  // NVVM-LABEL: func.func private @xhlo_math_sqrt_f32
  // NVVM:         llvm.call_intrinsic "llvm.nvvm.sqrt.approx.f"
  // CHECK: func.func private @xhlo_math_sin_f64
  // CHECK:   scf.if
  // CHECK: func.func private @xhlo_math_remf_f32
  // CHECK:   scf.while
  // CHECK: func.func private @xhlo_math_tanh_f16
  // CHECK:   arith.extf %{{.*}} : f16 to f32
  // CHECK:   arith.truncf %{{.*}} : f32 to f16
}
