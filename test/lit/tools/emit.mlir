// A module in the llvm dialect is emitted as it is; others are lowered first.
// RUN: hlo-opt %s --emit=llvm | filecheck %s --check-prefix=LLVM
// RUN: hlo-opt %s --emit=asm | filecheck %s --check-prefix=ASM
// RUN: hlo-opt %s --emit=obj -o %t.o && test -s %t.o
// RUN: not hlo-opt %s %s --emit=obj -o %t.two.o 2>&1 | filecheck %s --check-prefix=TWO

// LLVM: define {{.*}}@add(i64 %{{.*}}, i64 %{{.*}})
// ASM:  add:
// TWO:  hlo-opt: error: --emit=obj makes one file of one module
llvm.func @add(%a: i64, %b: i64) -> i64 {
  %0 = llvm.add %a, %b : i64
  llvm.return %0 : i64
}
