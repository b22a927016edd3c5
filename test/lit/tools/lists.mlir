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
// HELP:      --lower[=linalg|loops|llvm]
// HELP:    Output:
// HELP:    Debugging:
// VERSION: xhlo {{.*}}xdsl
// RUNNER:  usage: hlo-run
