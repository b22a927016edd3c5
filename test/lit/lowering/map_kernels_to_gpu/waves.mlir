// RUN: hlo-opt %s --map-kernels-to-gpu=chip=gfx90a --split-input-file --verify-diagnostics | filecheck %s
// Chips of AMD's CDNA have waves of 64 threads, which shuffles and plans go by.

#ij = affine_map<(i, j) -> (i, j)>
#row = affine_map<(i, j) -> (i)>

// CHECK: gpu.module @kernels [#rocdl.target<chip = "gfx90a">]
// CHECK: gpu.func @k({{.*}}) kernel attributes {known_block_size = array<i32: 128, 1, 1>, {{.*}}, rocdl.waves_per_eu = 1 : i32}
// CHECK: %[[WIDTH:.*]] = arith.constant 64 : i32
// CHECK: gpu.shuffle xor %{{.*}}, %{{.*}}, %[[WIDTH]] : f32
// CHECK-NOT: workgroup
func.func private @k(%a: memref<64x1000xf32>, %o: memref<64xf32>) attributes {hlo.kernel = "reduction"} {
  %zero = arith.constant 0.0 : f32
  linalg.fill ins(%zero : f32) outs(%o : memref<64xf32>)
  linalg.generic {indexing_maps = [#ij, #row], iterator_types = ["parallel", "reduction"]} ins(%a : memref<64x1000xf32>) outs(%o : memref<64xf32>) attrs = {gpu.plan = #gpu.rows<threads = 64, rows = 2>} {
  ^bb(%x: f32, %acc: f32):
    %s = arith.addf %acc, %x : f32
    linalg.yield %s : f32
  }
  func.return
}

// -----

#ij = affine_map<(i, j) -> (i, j)>
#row = affine_map<(i, j) -> (i)>

func.func private @k(%a: memref<64x1000xf32>, %o: memref<64xf32>) attributes {hlo.kernel = "reduction"} {
  %zero = arith.constant 0.0 : f32
  linalg.fill ins(%zero : f32) outs(%o : memref<64xf32>)
  // expected-error@+1 {{a block of 96 threads is not a multiple of 64}}
  linalg.generic {indexing_maps = [#ij, #row], iterator_types = ["parallel", "reduction"]} ins(%a : memref<64x1000xf32>) outs(%o : memref<64xf32>) attrs = {gpu.plan = #gpu.rows<threads = 96>} {
  ^bb(%x: f32, %acc: f32):
    %s = arith.addf %acc, %x : f32
    linalg.yield %s : f32
  }
  func.return
}
