// RUN: hlo-opt %s --convert-to-llvm --split-input-file --verify-diagnostics

func.func @unplanned() {
  // expected-error@+1 {{must be placed in the arena first: run plan-buffers}}
  %m = memref.alloc() : memref<4xf32>
  func.return
}

// -----

func.func @strided(%m: memref<8x8xf32, strided<[8, 2]>>, %c0: index) {
  // expected-error@+1 {{the last dimension of the memref must be dense}}
  %v = vector.load %m[%c0, %c0] : memref<8x8xf32, strided<[8, 2]>>, vector<4xf32>
  func.return
}

// -----

// expected-error@+1 {{the entry takes memrefs only}}
func.func @main(%x: f32) {
  func.return
}
