// RUN: hlo-opt %s --plan-gpu-kernels | filecheck %s
// RUN: hlo-opt %s --plan-gpu-kernels=chip=sm_75 | filecheck %s
// RUN: hlo-opt %s --plan-gpu-kernels=chip=gfx942 | filecheck %s --check-prefix=WAVE
// One block runs a kernel with a loop around its operations. In shared memory are the weights, buffer 1, and the state.

#i = affine_map<(i) -> (i)>
#none = affine_map<() -> ()>

// CHECK-LABEL: @recurrence
// CHECK: linalg.fill {gpu.plan = #gpu.block<threads = 64, shared = [1, 5, 6]>}
// CHECK: "memref.copy"(%h0, %h) {gpu.joined}
// CHECK: } attributes {xhlo.trip_count = 20 : i64, gpu.joined}
// CHECK: "memref.copy"(%h, %0) {gpu.joined}
// WAVE: #gpu.block<threads = 64, shared = [1, 5, 6]>
func.func private @recurrence(%h0: memref<64xf32>, %w: memref<64x64xf32>, %0: memref<64xf32>) attributes {hlo.kernel = "while"} {
  %go = memref.alloc() : memref<i1>
  %i = memref.alloc() : memref<i32>
  %h = memref.alloc() : memref<64xf32>
  %g = memref.alloc() : memref<64xf32>
  %zero = arith.constant 0 : i32
  linalg.fill ins(%zero : i32) outs(%i : memref<i32>)
  "memref.copy"(%h0, %h) : (memref<64xf32>, memref<64xf32>) -> ()
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
  } attributes {xhlo.trip_count = 20 : i64}
  "memref.copy"(%h, %0) : (memref<64xf32>, memref<64xf32>) -> ()
  func.return
}
