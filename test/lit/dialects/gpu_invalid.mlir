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

// -----

func.func private @host(%x: memref<4xf32>) {
  func.return
}

gpu.module @kernels {
  gpu.func @k(%x: memref<4xf32>) kernel {
    // expected-error@+1 {{calls '@host', which is not defined}}
    func.call @host(%x) : (memref<4xf32>) -> ()
    gpu.return
  }
}

// -----

gpu.module @kernels {
  gpu.func @k(%x: memref<4xf32>) kernel {
    // expected-error@+1 {{operand #0 has type memref<4xf32>, but '@f' has memref<5xf32>}}
    func.call @f(%x) : (memref<4xf32>) -> ()
    gpu.return
  }
  // expected-note@+1 {{'@f' is defined here}}
  func.func private @f(%x: memref<5xf32>) {
    func.return
  }
}

// -----

func.func @f(%x: !hlo.token, %n: i32) {
  // expected-error@+1 {{exchanges numbers and vectors of numbers, not values of type !hlo.token}}
  %y, %valid = gpu.shuffle xor %x, %n, %n : !hlo.token
  func.return
}
