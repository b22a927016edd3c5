// Wrong command lines: one line each, exit status 2.
// RUN: not hlo-opt %s --no-such-pass 2>&1 | filecheck %s --check-prefix=FLAG
// RUN: not hlo-opt %s --csee 2>&1 | filecheck %s --check-prefix=SIMILAR
// RUN: not hlo-opt %s --cse=a=1 2>&1 | filecheck %s --check-prefix=OPTION
// RUN: not hlo-opt %s -p "cse,nothing" 2>&1 | filecheck %s --check-prefix=PIPELINE
// RUN: not hlo-opt %s -p "cse{" 2>&1 | filecheck %s --check-prefix=SYNTAX
// RUN: not hlo-opt %s --lower=nowhere 2>&1 | filecheck %s --check-prefix=STAGE
// RUN: not hlo-opt %s --lower --fuse 2>&1 | filecheck %s --check-prefix=ORDER
// RUN: not hlo-opt %s --target=abacus 2>&1 | filecheck %s --check-prefix=TARGET
// RUN: not hlo-opt %s --emit=poem 2>&1 | filecheck %s --check-prefix=EMIT
// RUN: not hlo-opt %s --emit=ptx 2>&1 | filecheck %s --check-prefix=CPU-PTX
// RUN: not hlo-opt %s --chip=sm_90 2>&1 | filecheck %s --check-prefix=CPU-CHIP
// RUN: not hlo-opt %s --ptx-version=8.0 2>&1 | filecheck %s --check-prefix=CPU-VERSION
// RUN: not hlo-opt %s --ptxas-info 2>&1 | filecheck %s --check-prefix=CPU-INFO
// RUN: not hlo-opt %s --target=nvptx --emit=asm 2>&1 | filecheck %s --check-prefix=GPU-ASM
// RUN: not hlo-opt %s --target=nvptx --chip=H200 2>&1 | filecheck %s --check-prefix=CHIP
// RUN: not hlo-opt %s --target=gpu --chip=sm_100 --ptx-version=8.0 2>&1 | filecheck %s --check-prefix=OLD-PTX
// RUN: not hlo-opt %s --target=nvptx --ptx-version=12 2>&1 | filecheck %s --check-prefix=NO-PTX
// RUN: not hlo-opt %s --target=nvptx --lower=nowhere 2>&1 | filecheck %s --check-prefix=GPU-STAGE
// RUN: not hlo-opt %s --timing=yes 2>&1 | filecheck %s --check-prefix=VALUE
// RUN: not hlo-opt %s --elide-large-constants=many 2>&1 | filecheck %s --check-prefix=NUMBER
// RUN: not hlo-opt %s --print-ir-after=nothing 2>&1 | filecheck %s --check-prefix=PRINT
// RUN: not hlo-opt %s -o 2>&1 | filecheck %s --check-prefix=MISSING

// FLAG:     hlo-opt: error: unknown option '--no-such-pass'
// SIMILAR:  did you mean --cse?
// OPTION:   pass 'cse': a is no option; it takes no options
// PIPELINE: no pass is named 'nothing'
// SYNTAX:   syntax of the pass pipeline
// ORDER:    --fuse stands before --lower
// STAGE:    --lower is one of linalg, loops, llvm, not 'nowhere'
// TARGET:   no target is named 'abacus'; there are: cpu, nvptx, amdgcn, simt
// EMIT:     --emit is one of mlir, bytecode, hlo-text, llvm, asm, obj, ptx, cubin, hsaco, not 'poem'
// CPU-PTX:     target cpu does not emit ptx; it emits mlir, bytecode, hlo-text, llvm, asm, obj
// CPU-CHIP:    --chip is about GPUs: give --target=nvptx or amdgcn or simt
// CPU-VERSION: --ptx-version is about GPUs: give --target=nvptx
// CPU-INFO:    --ptxas-info is about GPUs: give --target=nvptx
// GPU-ASM:     target nvptx does not emit asm; it emits mlir, bytecode, hlo-text, llvm, ptx, cubin
// CHIP:        no chip is named 'H200'; there are: sm_75, {{.*}}sm_90, sm_90a, {{.*}}; H200 is sm_90
// OLD-PTX:     PTX 8.0 does not know sm_100: it is known from PTX 8.6 on
// NO-PTX:      PTX 12 is not a version that LLVM writes; for sm_90 there are 7.8, 8.0, {{.*}}9.0
// GPU-STAGE:   --lower is one of linalg, loops, nvvm, llvm, not 'nowhere'
// VALUE:    --timing takes no value
// NUMBER:   --elide-large-constants takes a number, not 'many'
// PRINT:    --print-ir-after: no pass is named 'nothing'
// MISSING:  -o needs a value
func.func @main() {
  return
}
