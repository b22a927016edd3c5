// RUN: hlo-opt %s --split-input-file --verify-diagnostics

gpu.module @kernels {
  // expected-error@+1 {{a workgroup buffer is of type memref<8xf32>, not a memref of the workgroup}}
  gpu.func @plain() workgroup(%s: memref<8xf32>) kernel {
    gpu.return
  }
}

// -----

gpu.module @kernels {
  // expected-error@+1 {{a kernel returns nothing}}
  gpu.func @result(%x: f32) -> f32 kernel {
    gpu.return %x : f32
  }
}

// -----

func.func @main(%one: index) {
  // expected-error@+1 {{expected three numbers of blocks and three of threads}}
  gpu.launch_func @kernels::@k blocks in (%one, %one) threads in (%one, %one, %one)
  func.return
}

// -----

func.func @f(%x: f32, %n: i32) {
  // expected-error@+1 {{no shuffle is called 'rotate'; there are xor, up, down, idx}}
  %y, %valid = gpu.shuffle rotate %x, %n, %n : f32
  func.return
}

// -----

func.func @f() {
  // expected-error@+1 {{expected one of x, y, z}}
  %t = gpu.thread_id w
  func.return
}
