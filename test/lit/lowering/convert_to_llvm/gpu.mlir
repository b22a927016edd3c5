// RUN: hlo-opt %s --convert-to-llvm | filecheck %s

// Beside a gpu.module, the functions at the top are the host program, which is not converted.
// CHECK-LABEL: func.func @main
// CHECK:         "memref.copy"
func.func @main(%x: memref<8xf32>, %y: memref<8xf32>) {
  "memref.copy"(%x, %y) : (memref<8xf32>, memref<8xf32>) -> ()
  func.return
}

// CHECK-LABEL: gpu.module @kernels {
gpu.module @kernels {
  // CHECK: llvm.mlir.global internal @s() {addr_space = 3 : i32, alignment = 16 : i64} : !llvm.array<32 x f32>
  "memref.global"() <{sym_name = "s", sym_visibility = "private", type = memref<32xf32, #gpu.address_space<workgroup>>, initial_value, alignment = 16 : i64}> : () -> ()
  // CHECK: llvm.mlir.global external @d() {addr_space = 3 : i32, alignment = 16 : i64} : !llvm.array<0 x i8>
  "memref.global"() <{sym_name = "d", sym_visibility = "private", type = memref<65536xi8, #gpu.address_space<workgroup>>, initial_value, alignment = 16 : i64}> {nvvm.dynamic_shared} : () -> ()
  // CHECK: llvm.mlir.global internal constant @c(dense<[1.000000e+00, 2.000000e+00]> : tensor<2xf32>) {addr_space = 1 : i32, alignment = 64 : i64}
  "memref.global"() <{sym_name = "c", sym_visibility = "private", type = memref<2xf32>, initial_value = dense<[1.0, 2.0]> : tensor<2xf32>, constant}> : () -> ()

  // A kernel: whole buffers in global memory that do not overlap; index in 32 bits.
  // CHECK:      llvm.func @k(%[[X:.*]]: !llvm.ptr<1> {llvm.noalias, llvm.align = 16 : i64}, %[[Y:.*]]: !llvm.ptr<1> {llvm.noalias, llvm.align = 16 : i64}) attributes {
  // CHECK-SAME: nvvm.kernel
  // CHECK-SAME: nvvm.reqntid = array<i32: 256, 1, 1>
  func.func @k(%x: memref<4x8xbf16>, %y: memref<4x8xf32>) attributes {nvvm.kernel, nvvm.reqntid = array<i32: 256, 1, 1>, xhlo.index_bitwidth = 32 : i64} {
    // CHECK: %[[EIGHT:.*]] = llvm.mlir.constant(8 : i32) : i32
    // CHECK: llvm.alloca {{.*}} : (i64) -> !llvm.ptr
    // CHECK: %[[T:.*]] = llvm.call_intrinsic "llvm.nvvm.read.ptx.sreg.tid.x"()
    %t = llvm.call_intrinsic "llvm.nvvm.read.ptx.sreg.tid.x"() : () -> i32
    %i = arith.index_cast %t : i32 to index
    // CHECK: %[[ROW:.*]] = llvm.mul %[[T]], %[[EIGHT]] overflow<nsw,nuw> : i32
    // CHECK: %[[PLACE:.*]] = llvm.add %[[ROW]], %[[T]] overflow<nsw,nuw> : i32
    // CHECK: llvm.getelementptr inbounds %[[X]][%[[PLACE]]] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, bf16
    %v = memref.load %x[%i, %i] : memref<4x8xbf16>
    // A GPU rounds to bf16 by itself.
    // CHECK: %[[W:.*]] = llvm.bitcast %{{.*}} : i32 to f32
    // CHECK: %[[SUM:.*]] = llvm.fadd %[[W]], %{{.*}} : f32
    // CHECK: llvm.fptrunc %[[SUM]] : f32 to bf16
    %w = arith.addf %v, %v : bf16
    memref.store %w, %x[%i, %i] : memref<4x8xbf16>
    // CHECK: %[[S:.*]] = llvm.mlir.addressof @s : !llvm.ptr<3>
    %s = memref.get_global @s : memref<32xf32, #gpu.address_space<workgroup>>
    // CHECK: %[[P:.*]] = llvm.getelementptr inbounds %[[S]][%[[T]]] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, f32
    // CHECK: llvm.load %[[P]] {{.*}} : !llvm.ptr<3> -> f32
    %z = memref.load %s[%i] : memref<32xf32, #gpu.address_space<workgroup>>
    // A thread's own memory has a pointer of the generic space; LLVM keeps it in registers.
    %own = memref.alloca() : memref<4xf32>
    // CHECK: llvm.getelementptr inbounds %{{.*}}[%[[T]]] : (!llvm.ptr, i32) -> !llvm.ptr, f32
    memref.store %z, %own[%i] : memref<4xf32>
    // CHECK: %[[AS:.*]] = llvm.getelementptr inbounds %[[S]][%[[T]]]
    %pointer = builtin.unrealized_conversion_cast %s : memref<32xf32, #gpu.address_space<workgroup>> to !llvm.ptr<3>
    %place = llvm.getelementptr inbounds %pointer[%t] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, f32
    %q = llvm.load %place : !llvm.ptr<3> -> f32
    memref.store %q, %y[%i, %i] : memref<4x8xf32>
    func.return
  }

  // CHECK-LABEL: llvm.func @atomic
  // CHECK:         %[[P:.*]] = llvm.getelementptr
  // CHECK:         llvm.atomicrmw fadd %[[P]], %{{.*}} syncscope("device") monotonic : !llvm.ptr<1>, bf16
  func.func @atomic(%x: memref<8xbf16>, %i: index, %v: bf16) {
    %old = "memref.atomic_rmw"(%v, %x, %i) <{kind = 0 : i64}> : (bf16, memref<8xbf16>, index) -> bf16
    func.return
  }

  // Without the mark index is i64.
  // CHECK: llvm.func internal @wide(%[[X:.*]]: !llvm.ptr<1>, %[[I:.*]]: i64) -> f32 attributes {passthrough = ["convergent", "nounwind"]}
  func.func private @wide(%x: memref<8xf32>, %i: index) -> f32 {
    // CHECK: llvm.getelementptr inbounds %[[X]][%[[I]]] : (!llvm.ptr<1>, i64)
    %v = memref.load %x[%i] : memref<8xf32>
    func.return %v : f32
  }
}
