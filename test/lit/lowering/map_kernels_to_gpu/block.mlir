// RUN: hlo-opt %s --map-kernels-to-gpu | filecheck %s
// A block runs the loop. Its threads wait before each operation that reads what others wrote; the counter is a value.

#i = affine_map<(i) -> (i)>
#none = affine_map<() -> ()>

// The product is in global memory, as its number, 6, is not in the plan.
// CHECK-LABEL: func.func private @recurrence
// CHECK: %g = memref.alloc() : memref<64xf32>
// CHECK: gpu.launch_func @kernels::@recurrence {{.*}} args(%h0 : memref<64xf32>, %g : memref<64xf32>,
// CHECK-LABEL: gpu.func @recurrence
// CHECK-SAME: workgroup(%[[W:.*]]: memref<64x64xf32, #gpu.address_space<workgroup>>, %h: memref<64xf32, #gpu.address_space<workgroup>>)
// CHECK-SAME: known_block_size = array<i32: 32, 1, 1>, known_grid_size = array<i32: 1, 1, 1>
// CHECK: gpu.barrier
// CHECK: gpu.barrier
// CHECK: scf.while ({{.*}}%[[I:.*]] = %{{.*}}) : (i1, i32) -> (i1, i32) {
// CHECK: scf.condition
// CHECK: } do {
// CHECK: memref.store %{{.*}}, %g[
// CHECK: gpu.barrier
// CHECK: math.tanh
// CHECK: memref.store %{{.*}}, %h[
// CHECK: arith.addi {{.*}} : i32
// CHECK: gpu.barrier
// CHECK-NEXT: scf.yield {{.*}} : i1, i32
func.func private @recurrence(%h0: memref<64xf32>, %w: memref<64x64xf32>, %0: memref<64xf32>) attributes {hlo.kernel = "while"} {
  %go = memref.alloc() : memref<i1>
  %i = memref.alloc() : memref<i32>
  %h = memref.alloc() : memref<64xf32>
  %g = memref.alloc() : memref<64xf32>
  %zero = arith.constant 0 : i32
  linalg.fill {gpu.plan = #gpu.block<threads = 32, shared = [1, 5]>} ins(%zero : i32) outs(%i : memref<i32>)
  "memref.copy"(%h0, %h) {gpu.joined} : (memref<64xf32>, memref<64xf32>) -> ()
  scf.while () : () -> () {
    linalg.generic {indexing_maps = [#none, #none], iterator_types = []} ins(%i : memref<i32>) outs(%go : memref<i1>) {
    ^bb(%n: i32, %z: i1):
      %most = arith.constant 20 : i32
      %less = arith.cmpi slt, %n, %most : i32
      linalg.yield %less : i1
    }
    %c = memref.load %go[] : memref<i1>
    scf.condition(%c)
  } do {
    %none = arith.constant 0.0 : f32
    linalg.fill ins(%none : f32) outs(%g : memref<64xf32>)
    linalg.generic {indexing_maps = [affine_map<(j, k) -> (k)>, affine_map<(j, k) -> (k, j)>, affine_map<(j, k) -> (j)>], iterator_types = ["parallel", "reduction"]} ins(%h, %w : memref<64xf32>, memref<64x64xf32>) outs(%g : memref<64xf32>) attrs = {xhlo.contraction} {
    ^bb(%a: f32, %b: f32, %s: f32):
      %p = arith.mulf %a, %b : f32
      %q = arith.addf %s, %p : f32
      linalg.yield %q : f32
    }
    linalg.generic {indexing_maps = [#i, #i], iterator_types = ["parallel"]} ins(%g : memref<64xf32>) outs(%h : memref<64xf32>) {
    ^bb(%a: f32, %z: f32):
      %t = math.tanh %a : f32
      linalg.yield %t : f32
    }
    linalg.generic {indexing_maps = [#none], iterator_types = []} outs(%i : memref<i32>) {
    ^bb(%n: i32):
      %one = arith.constant 1 : i32
      %m = arith.addi %n, %one : i32
      linalg.yield %m : i32
    }
    scf.yield
  } attributes {gpu.joined, xhlo.trip_count = 20 : i64}
  "memref.copy"(%h, %0) {gpu.joined} : (memref<64xf32>, memref<64xf32>) -> ()
  func.return
}

// The last sum starts from what the loop leaves: the fill before the loop is not its initial value.
// CHECK-LABEL: gpu.func @sum_after_a_loop
// CHECK: %[[ZERO:.*]] = arith.constant 0.000000e+00 : f32
// CHECK: memref.store %[[ZERO]], %s[] : memref<f32>
// CHECK: scf.while
// CHECK: gpu.shuffle
// CHECK: memref.load %s[] : memref<f32>
func.func private @sum_after_a_loop(%x: memref<64xf32>, %s: memref<f32>) attributes {hlo.kernel = "while"} {
  %go = memref.alloc() : memref<i1>
  %i = memref.alloc() : memref<i32>
  %zero = arith.constant 0 : i32
  %none = arith.constant 0.0 : f32
  linalg.fill {gpu.plan = #gpu.block<threads = 32>} ins(%zero : i32) outs(%i : memref<i32>)
  linalg.fill {gpu.joined} ins(%none : f32) outs(%s : memref<f32>)
  scf.while () : () -> () {
    linalg.generic {indexing_maps = [#none, #none], iterator_types = []} ins(%i : memref<i32>) outs(%go : memref<i1>) {
    ^bb(%n: i32, %z: i1):
      %most = arith.constant 20 : i32
      %less = arith.cmpi slt, %n, %most : i32
      linalg.yield %less : i1
    }
    %c = memref.load %go[] : memref<i1>
    scf.condition(%c)
  } do {
    linalg.generic {indexing_maps = [#none], iterator_types = []} outs(%s : memref<f32>) {
    ^bb(%a: f32):
      %one = arith.constant 1.0 : f32
      %b = arith.addf %a, %one : f32
      linalg.yield %b : f32
    }
    linalg.generic {indexing_maps = [#none], iterator_types = []} outs(%i : memref<i32>) {
    ^bb(%n: i32):
      %one = arith.constant 1 : i32
      %m = arith.addi %n, %one : i32
      linalg.yield %m : i32
    }
    scf.yield
  } attributes {gpu.joined, xhlo.trip_count = 20 : i64}
  linalg.generic {indexing_maps = [#i, affine_map<(i) -> ()>], iterator_types = ["reduction"]} ins(%x : memref<64xf32>) outs(%s : memref<f32>) attrs = {gpu.joined} {
  ^bb(%a: f32, %b: f32):
    %q = arith.addf %a, %b : f32
    linalg.yield %q : f32
  }
  func.return
}
