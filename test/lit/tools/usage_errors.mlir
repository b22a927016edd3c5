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
// RUN: not hlo-opt %s --timing=yes 2>&1 | filecheck %s --check-prefix=VALUE
// RUN: not hlo-opt %s --elide-large-constants=many 2>&1 | filecheck %s --check-prefix=NUMBER
// RUN: not hlo-opt %s --print-ir-after=nothing 2>&1 | filecheck %s --check-prefix=PRINT
// RUN: not hlo-opt %s -o 2>&1 | filecheck %s --check-prefix=MISSING

// FLAG:     hlo-opt: error: unknown option '--no-such-pass'
// SIMILAR:  did you mean --cse?
// OPTION:   pass 'cse': {{.*}}"a"{{.*}}it takes no options
// PIPELINE: no pass is named 'nothing'
// SYNTAX:   syntax of the pass pipeline
// ORDER:    --fuse stands before --lower
// STAGE:    --lower is one of linalg, loops, llvm, not 'nowhere'
// TARGET:   no target is named 'abacus'; there are: cpu
// EMIT:     --emit is one of mlir, llvm, asm, obj, not 'poem'
// VALUE:    --timing takes no value
// NUMBER:   --elide-large-constants takes a number, not 'many'
// PRINT:    --print-ir-after: no pass is named 'nothing'
// MISSING:  -o needs a value
func.func @main() {
  return
}
