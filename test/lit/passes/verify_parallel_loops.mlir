// RUN: hlo-opt %s --verify-parallel-loops --split-input-file --verify-diagnostics

// Every iteration adds to one place.

func.func @sum(%x: memref<8xf32>, %total: memref<f32>) {
  cpu.parallel_for @sum_body(%x, %total : memref<8xf32>, memref<f32>) {count = 8 : i64}
  func.return
}
func.func private @sum_body(%x: memref<8xf32>, %total: memref<f32>, %i: index, %slot: index) attributes {xhlo.parallel_body} {
  %0 = memref.load %x[%i] : memref<8xf32>
  %1 = memref.load %total[] : memref<f32>
  %2 = arith.addf %0, %1 : f32
  // expected-error@+1 {{writes to one place in every iteration of @sum_body, which run at once}}
  memref.store %2, %total[] : memref<f32>
  func.return
}

// -----

// A number in memory that all iterations share is not that of an iteration.

func.func @count(%x: memref<8xf32>, %number: memref<index>) {
  cpu.parallel_for @count_body(%x, %number : memref<8xf32>, memref<index>) {count = 8 : i64}
  func.return
}
func.func private @count_body(%x: memref<8xf32>, %number: memref<index>, %i: index, %slot: index) attributes {xhlo.parallel_body} {
  %0 = memref.load %number[] : memref<index>
  %1 = arith.constant 1.0 : f32
  // expected-error@+1 {{writes to one place in every iteration of @count_body, which run at once}}
  memref.store %1, %x[%0] : memref<8xf32>
  func.return
}

// -----

// A function that the body calls writes where it is told.

func.func @calls(%x: memref<8xf32>) {
  cpu.parallel_for @calls_body(%x : memref<8xf32>) {count = 8 : i64}
  func.return
}
func.func private @calls_body(%x: memref<8xf32>, %i: index, %slot: index) attributes {xhlo.parallel_body} {
  %0 = arith.constant 0 : index
  func.call @put(%x, %i) : (memref<8xf32>, index) -> ()
  // expected-error@+1 {{writes to one place in every iteration of @calls_body, which run at once}}
  func.call @put(%x, %0) : (memref<8xf32>, index) -> ()
  func.return
}
func.func private @put(%x: memref<8xf32>, %at: index) {
  %0 = arith.constant 1.0 : f32
  memref.store %0, %x[%at] : memref<8xf32>
  func.return
}

// -----

// Right are places of the iteration, of its part of shared memory, in its own memory, that it counts to, that it reads,
// and those under a condition.

func.func @right(%x: memref<8x4xf32>, %places: memref<8xindex>, %bytes: memref<512xi8>) {
  cpu.parallel_for @right_body(%x, %places, %bytes : memref<8x4xf32>, memref<8xindex>, memref<512xi8>) {count = 8 : i64}
  func.return
}
func.func private @right_body(%x: memref<8x4xf32>, %places: memref<8xindex>, %bytes: memref<512xi8>, %i: index, %slot: index) attributes {xhlo.parallel_body} {
  %0 = arith.constant 0 : index
  %1 = arith.constant 1 : index
  %2 = arith.constant 64 : index
  %one = arith.constant 1.0 : f32
  %own = memref.alloca() : memref<index>
  memref.store %i, %own[] : memref<index>
  %3 = memref.load %own[] : memref<index>
  memref.store %one, %x[%3, %0] : memref<8x4xf32>
  %4 = arith.muli %slot, %2 : index
  %part = memref.view %bytes[%4][] : memref<512xi8> to memref<16xf32>
  memref.store %one, %part[%0] : memref<16xf32>
  %5 = memref.load %places[%i] : memref<8xindex>
  memref.store %one, %x[%5, %1] : memref<8x4xf32>
  scf.for %6 = %0 to %i step %1 {
    memref.store %one, %x[%i, %6] : memref<8x4xf32>
  }
  %7 = arith.cmpi eq, %i, %0 : index
  scf.if %7 {
    memref.store %one, %x[%0, %1] : memref<8x4xf32>
  }
  func.return
}
