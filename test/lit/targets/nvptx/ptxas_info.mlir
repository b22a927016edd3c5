// The report of ptxas about kernels, on standard error, with or without other output.
// REQUIRES: ptxas
// RUN: hlo-opt %s --target=nvptx --emit=cubin --ptxas-info -o %t.cubin 2>&1 | filecheck %s
// RUN: test -s %t.cubin
// RUN: hlo-opt %s --target=nvptx --emit=ptx --ptxas-info -o %t.ptx 2>&1 | filecheck %s
// RUN: not hlo-opt %s %s --target=nvptx --emit=cubin -o %t.two 2>&1 | filecheck %s --check-prefix=TWO

// CHECK:      kernel  registers  spill stores  spill loads  stack  shared  barriers
// CHECK-NEXT: first {{ *[1-9][0-9]* +}}0            0      0     256         1
// TWO: hlo-opt: error: --emit=cubin makes one file of one module
llvm.mlir.global internal @shared() {addr_space = 3 : i32} : !llvm.array<64 x i32>

llvm.func @first(%out: !llvm.ptr<1>) attributes {nvvm.kernel, nvvm.reqntid = array<i32: 64, 1, 1>} {
  %s = llvm.mlir.addressof @shared : !llvm.ptr<3>
  %t = llvm.call_intrinsic "llvm.nvvm.read.ptx.sreg.tid.x"() : () -> i32
  %last = llvm.mlir.constant(63 : i32) : i32
  %a = llvm.getelementptr %s[%t] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, i32
  llvm.store %t, %a : i32, !llvm.ptr<3>
  llvm.call_intrinsic "llvm.nvvm.barrier0"() : () -> ()
  %o = llvm.sub %last, %t : i32
  %b = llvm.getelementptr %s[%o] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, i32
  %v = llvm.load %b : !llvm.ptr<3> -> i32
  %p = llvm.getelementptr %out[%t] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, i32
  llvm.store %v, %p : i32, !llvm.ptr<1>
  llvm.return
}
