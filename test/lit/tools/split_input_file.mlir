// Each part is a module; a wrong one does not stop the others, and lines count from the top of the file.
// RUN: not hlo-opt %s --split-input-file 2>%t.err | filecheck %s
// RUN: filecheck %s --check-prefix=ERROR --input-file %t.err

// CHECK:      @first
// CHECK:      // -----
// CHECK:      @third
func.func @first() {
  return
}

// -----

// ERROR: split_input_file.mlir:16:{{[0-9]+}}: error:
func.func @second(%x: tensor<2xf32>) -> tensor<3xf32> {
  return %x : tensor<2xf32>
}

// -----

func.func @third() {
  return
}
