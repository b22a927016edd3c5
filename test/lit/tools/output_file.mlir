// The output is written whole or not at all.
// RUN: hlo-opt %s -o %t.mlir && filecheck %s --input-file %t.mlir
// RUN: not hlo-opt %s -p nothing -o %t.none.mlir
// RUN: not ls %t.none.mlir
// RUN: not hlo-opt %s -o %t.missing/x.mlir 2>&1 | filecheck %s --check-prefix=FOLDER
// RUN: not hlo-opt %s.none 2>&1 | filecheck %s --check-prefix=NONE
// RUN: not hlo-opt %S 2>&1 | filecheck %s --check-prefix=DIRECTORY

// CHECK:     @main
// FOLDER:    hlo-opt: error: cannot write {{.*}}: No such file or directory
// NONE:      hlo-opt: error: cannot read {{.*}}: No such file or directory
// DIRECTORY: hlo-opt: error: cannot read {{.*}}: Is a directory
func.func @main() {
  return
}
