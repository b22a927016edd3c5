// RUN: hlo-opt --list-passes | filecheck %s --check-prefix=LIST
// RUN: hlo-opt --help | filecheck %s --check-prefix=HELP
// RUN: hlo-opt --version | filecheck %s --check-prefix=VERSION
// RUN: hlo-run --help | filecheck %s --check-prefix=RUNNER

// LIST:    {{^}}bufferize  {{.*}}memrefs
// LIST:    {{^}}cse
// HELP:    usage: hlo-opt
// HELP:    General:
// HELP:    Passes:
// HELP:      --bufferize
// HELP:      --cse
// HELP:    Pipelines:
// HELP:      --lower[=linalg|loops|nvvm|rocdl|llvm]
// HELP:      --target=NAME {{.*}} cpu, nvptx, amdgcn, simt (default cpu)
// HELP:      --chip=sm_NN[a]|gfxNNN {{.*}} (default sm_90), or gfx90a, gfx942, gfx1100
// HELP:    Output:
// HELP:      --emit=mlir|bytecode|hlo-text|llvm|asm|obj|ptx|cubin|hsaco
// HELP:      --ptxas-info {{.*}}registers, spills and shared memory
// HELP:    Debugging:
// VERSION: xhlo {{.*}}xdsl
// RUNNER:  usage: hlo-run
