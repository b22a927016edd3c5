// RUN: hlo-opt %s --convert-contractions-to-vector | filecheck %s
// RUN: hlo-opt %s -p 'convert-contractions-to-vector{vector-bits=256}' | filecheck %s --check-prefix=AVX2
// RUN: hlo-opt %s -p 'convert-contractions-to-vector{byte-dots=true pair-dots=true}' | filecheck %s --check-prefix=BYTES
// RUN: hlo-opt %s -p 'convert-contractions-to-vector{pair-dots=true}' | filecheck %s --check-prefix=PAIRS
// RUN: hlo-opt %s -p 'convert-contractions-to-vector{bfloat-dots=true}' | filecheck %s --check-prefix=BFLOATS

#a = affine_map<(m, n, k) -> (m, k)>
#b = affine_map<(m, n, k) -> (k, n)>
#c = affine_map<(m, n, k) -> (m, n)>

// Both factors are packed into panels; a task multiplies the panels of one tile of the output, with a function for two
// panels that takes the sizes as arguments.
// CHECK-LABEL: func.func private @product
// CHECK-NOT:     linalg
// CHECK:         %[[PA:.*]] = memref.alloc() : memref<265216xf32>
// CHECK:         %[[PB:.*]] = memref.alloc() : memref<524288xf32>
// CHECK:         "scf.parallel"
// CHECK:           func.call @product_pack(%x,
// CHECK:         "scf.parallel"
// CHECK:           func.call @product_pack_1(%y,
// CHECK:         "scf.parallel"
// CHECK:           func.call @product_block(%[[PA]], %{{.*}}, %[[PB]], %{{.*}}, %o,
// CHECK-LABEL: func.func private @product_block(
// CHECK-SAME:    attributes {xhlo.shared, xhlo.written = array<i64: 5>}
// CHECK:         scf.for
// CHECK:           vector.load %{{.*}} : memref<32xf32, strided<[1], offset: ?>>, vector<16xf32>
// CHECK:           cpu.prefetch %{{.*}} : memref<32xf32, strided<[1], offset: ?>>
// CHECK:           vector.broadcast %{{.*}} : f32 to vector<16xf32>
// CHECK-NEXT:      vector.fma
// CHECK:         scf.if
// CHECK:           vector.store %{{.*}} : memref<32xf32, strided<[1], offset: ?>>, vector<16xf32>
// CHECK:         } else {
// CHECK:           vector.store %{{.*}} : memref<14x32xf32>, vector<16xf32>
// AVX2-LABEL:  func.func private @product_block(
// AVX2:          vector.load
// AVX2:          vector.broadcast %{{.*}} : f32 to vector<8xf32>
// AVX2-NEXT:     vector.fma
func.func private @product(%x: memref<512x512xf32>, %y: memref<512x1024xf32>, %o: memref<512x1024xf32>) attributes {hlo.kernel = "dot"} {
  %zero = arith.constant 0.0 : f32
  linalg.fill ins(%zero : f32) outs(%o : memref<512x1024xf32>)
  linalg.generic {indexing_maps = [#a, #b, #c], iterator_types = ["parallel", "parallel", "reduction"]} ins(%x, %y : memref<512x512xf32>, memref<512x1024xf32>) outs(%o : memref<512x1024xf32>) attrs = {xhlo.contraction} {
  ^bb(%p: f32, %q: f32, %z: f32):
    %r = arith.mulf %p, %q fastmath<reassoc,contract> : f32
    %s = arith.addf %z, %r fastmath<reassoc,contract> : f32
    linalg.yield %s : f32
  }
  func.return
}

// A product of few elements is a call of a function for matrices of any sizes.
// CHECK-LABEL: func.func private @few(
// CHECK-NOT:     linalg
// CHECK:         func.call @few_small(%x, %{{.*}}, %y, %{{.*}}, %o,
// CHECK-LABEL: func.func private @few_small(
// CHECK-SAME:    attributes {xhlo.shared, xhlo.written = array<i64: 7>}
// CHECK:         vector.load %{{.*}} : memref<8xf32, strided<[1], offset: ?>>, vector<8xf32>
// CHECK:         vector.fma
func.func private @few(%x: memref<8x8xf32>, %y: memref<8x8xf32>, %o: memref<8x8xf32>) attributes {hlo.kernel = "dot"} {
  %zero = arith.constant 0.0 : f32
  linalg.fill ins(%zero : f32) outs(%o : memref<8x8xf32>)
  linalg.generic {indexing_maps = [#a, #b, #c], iterator_types = ["parallel", "parallel", "reduction"]} ins(%x, %y : memref<8x8xf32>, memref<8x8xf32>) outs(%o : memref<8x8xf32>) attrs = {xhlo.contraction} {
  ^bb(%p: f32, %q: f32, %z: f32):
    %r = arith.mulf %p, %q fastmath<reassoc,contract> : f32
    %s = arith.addf %z, %r fastmath<reassoc,contract> : f32
    linalg.yield %s : f32
  }
  func.return
}

// Small factors are read in place: the function takes the strides between their rows.
// CHECK-LABEL: func.func private @in_place(
// CHECK-NOT:     memref.alloc
// CHECK:         func.call @in_place_block(%x, %{{.*}}, %y,
// CHECK-LABEL: func.func private @in_place_block(
// CHECK:         vector.fma
func.func private @in_place(%x: memref<64x64xf32>, %y: memref<64x64xf32>, %o: memref<64x64xf32>) attributes {hlo.kernel = "dot"} {
  %zero = arith.constant 0.0 : f32
  linalg.fill ins(%zero : f32) outs(%o : memref<64x64xf32>)
  linalg.generic {indexing_maps = [#a, #b, #c], iterator_types = ["parallel", "parallel", "reduction"]} ins(%x, %y : memref<64x64xf32>, memref<64x64xf32>) outs(%o : memref<64x64xf32>) attrs = {xhlo.contraction} {
  ^bb(%p: f32, %q: f32, %z: f32):
    %r = arith.mulf %p, %q fastmath<reassoc,contract> : f32
    %s = arith.addf %z, %r fastmath<reassoc,contract> : f32
    linalg.yield %s : f32
  }
  func.return
}

// Products of i8 summed in i32: the panels hold i32, or bytes for dot products of four, or i16 for those of two. Sums of
// bytes start from what undoes the 128 that is added to those of the first factor, found once for each panel of the second.
// Their block, of few rows, is asked for when a pass begins, and again before its last steps.
// BYTES-LABEL: func.func private @integers
// BYTES:         memref.alloc() : memref<{{.*}}xi8>
// BYTES:         %[[OFFSETS:.*]] = memref.alloc() : memref<{{.*}}xi32>
// BYTES:         func.call @integers_offsets(%{{.*}}, %{{.*}}, %{{.*}}, %[[OFFSETS]], %{{.*}})
// BYTES:         func.call @integers_block({{.*}}, %[[OFFSETS]], %{{.*}})
// BYTES-LABEL: func.func private @integers_block(
// BYTES:           %[[PARTS:.*]] = arith.constant 2 : index
// BYTES:           %[[LAST:.*]] = arith.constant 24 : index
// BYTES:           vector.load %{{.*}} : memref<32xi32{{.*}}>, vector<16xi32>
// BYTES:           arith.subi %{{.*}}, %[[LAST]]
// BYTES:           scf.for %{{.*}} to %[[PARTS]]
// BYTES-COUNT-16:    cpu.prefetch %{{.*}} {to_write}
// BYTES-NOT:         {to_write}
// BYTES:             scf.for
// BYTES:               cpu.dot %{{.*}} {unsigned} : vector<64xi8>, vector<64xi8>, vector<16xi32> -> vector<16xi32>
// BYTES-NOT:       arith.subi {{.*}} : vector
// BYTES-LABEL: func.func private @integers_offsets(
// BYTES:           arith.constant -128 : i8
// BYTES:           cpu.dot
// BYTES:           arith.subi %{{.*}} : vector<16xi32>
// PAIRS-LABEL: func.func private @integers
// PAIRS:         memref.alloc() : memref<{{.*}}xi16>
// PAIRS-LABEL: func.func private @integers_block(
// PAIRS:           cpu.dot %{{.*}} : vector<32xi16>, vector<32xi16>, vector<16xi32> -> vector<16xi32>
// PAIRS-NOT:       arith.subi {{.*}} : vector
// Panels are widened in vectors: pairs of rows of B, and neighbours along k of A through a transposition.
// PAIRS-LABEL: func.func private @integers_pack_1(
// PAIRS:           [[ROW:%.*]] = arith.extsi %{{.*}} : vector<16xi8> to vector<16xi16>
// PAIRS:           [[NEXT:%.*]] = arith.extsi %{{.*}} : vector<16xi8> to vector<16xi16>
// PAIRS:           vector.shuffle [[ROW]], [[NEXT]] [0, 16, 1, 17, {{.*}}] : vector<16xi16>, vector<16xi16>
// PAIRS-LABEL: func.func private @integers_pack(
// PAIRS:           arith.extsi %{{.*}} : vector<32xi8> to vector<32xi16>
// PAIRS:           vector.bitcast %{{.*}} : vector<32xi16> to vector<16xi32>
// CHECK-LABEL: func.func private @integers
// CHECK:         memref.alloc() : memref<{{.*}}xi32>
// CHECK-LABEL: func.func private @integers_block(
// CHECK:           vector.load
// CHECK:           vector.broadcast %{{.*}} : i32 to vector<16xi32>
// CHECK-NEXT:      arith.muli %{{.*}}, %{{.*}} : vector<16xi32>
// CHECK-NEXT:      arith.addi %{{.*}}, %{{.*}} : vector<16xi32>
func.func private @integers(%x: memref<512x512xi8>, %y: memref<512x512xi8>, %o: memref<512x512xi32>) attributes {hlo.kernel = "dot"} {
  %zero = arith.constant 0 : i32
  linalg.fill ins(%zero : i32) outs(%o : memref<512x512xi32>)
  linalg.generic {indexing_maps = [#a, #b, #c], iterator_types = ["parallel", "parallel", "reduction"]} ins(%x, %y : memref<512x512xi8>, memref<512x512xi8>) outs(%o : memref<512x512xi32>) attrs = {xhlo.contraction} {
  ^bb(%p: i8, %q: i8, %z: i32):
    %u = arith.extsi %p : i8 to i32
    %v = arith.extsi %q : i8 to i32
    %r = arith.muli %u, %v : i32
    %s = arith.addi %z, %r : i32
    linalg.yield %s : i32
  }
  func.return
}

// Pairs of bf16 along k are packed together, and so are rows of a large factor: some rows of many panels, then the next
// ones. A function finds the least number of each panel. Where two panels have only larger ones than subnormal products
// need, an instruction multiplies pairs; others are widened.
// BFLOATS-LABEL: func.func private @bfloats(
// BFLOATS:         "scf.parallel"
// BFLOATS:           func.call @bfloats_pack(%x, %{{[0-9]+}}, %[[PA:[0-9]+]],
// BFLOATS:           func.call @bfloats_least(%[[PA]], %{{[0-9]+}}, %{{[0-9]+}}, %[[LA:[0-9]+]],
// BFLOATS:         "scf.parallel"
// BFLOATS:           scf.for
// BFLOATS:             scf.for
// BFLOATS:               func.call @bfloats_pack_1(%y, %{{[0-9]+}}, %[[PB:[0-9]+]],
// BFLOATS:           scf.for
// BFLOATS:             func.call @bfloats_least_1(%[[PB]], %{{[0-9]+}}, %{{[0-9]+}}, %[[LB:[0-9]+]],
// BFLOATS:         memref.load %[[LB]][
// BFLOATS:         memref.load %[[LA]][
// BFLOATS:         scf.if
// BFLOATS:           func.call @bfloats_block(%[[PA]],
// BFLOATS:         } else {
// BFLOATS:           func.call @bfloats_block_1(%[[PA]],
// BFLOATS-LABEL: func.func private @bfloats_block_1(
// BFLOATS-NOT:     cpu.dot
// BFLOATS:         vector.fma
// BFLOATS-LABEL: func.func private @bfloats_block(
// BFLOATS-NOT:     vector.fma
// BFLOATS:         cpu.dot
// BFLOATS-LABEL: func.func private @bfloats_least_1(
// BFLOATS:         arith.minui {{.*}} : vector<32xi16>
func.func private @bfloats(%x: memref<512x512xbf16>, %y: memref<512x2048xbf16>, %o: memref<512x2048xf32>) attributes {hlo.kernel = "dot"} {
  %zero = arith.constant 0.0 : f32
  linalg.fill ins(%zero : f32) outs(%o : memref<512x2048xf32>)
  linalg.generic {indexing_maps = [#a, #b, #c], iterator_types = ["parallel", "parallel", "reduction"]} ins(%x, %y : memref<512x512xbf16>, memref<512x2048xbf16>) outs(%o : memref<512x2048xf32>) attrs = {xhlo.contraction} {
  ^bb(%p: bf16, %q: bf16, %z: f32):
    %p_wide = arith.extf %p : bf16 to f32
    %q_wide = arith.extf %q : bf16 to f32
    %r = arith.mulf %p_wide, %q_wide fastmath<reassoc,contract> : f32
    %s = arith.addf %z, %r fastmath<reassoc,contract> : f32
    linalg.yield %s : f32
  }
  func.return
}
