// RUN: hlo-opt %s -p 'convert-contractions-to-vector{vector-bits=256 pair-dots=true}' | filecheck %s
// RUN: hlo-opt %s -p 'convert-contractions-to-vector{vector-bits=256}' | filecheck %s --check-prefix=PLAIN
// RUN: hlo-opt %s -p 'convert-contractions-to-vector{vector-bits=256 pair-dots=true}' | hlo-opt --verify-each
// Few rows of bytes by a matrix: pairs of its rows are read in place, and those of A from a wider copy.

#a = affine_map<(m, n, k) -> (m, k)>
#b = affine_map<(m, n, k) -> (k, n)>
#c = affine_map<(m, n, k) -> (m, n)>

// CHECK-LABEL: func.func private @rows(
// CHECK-NOT:     func.call @rows_pack
// CHECK:         func.call @rows_widened(%x, %[[COPY:[0-9]+]],
// CHECK:         func.call @rows_block(%[[COPY]], %{{.*}}, %y,
// CHECK-LABEL: func.func private @rows_block(
// CHECK:         %[[X:.*]] = vector.load %{{.*}} : memref<16xi8, strided<[1], offset: ?>>, vector<16xi8>
// CHECK-NEXT:    %[[Y:.*]] = vector.load %{{.*}} : memref<16xi8, strided<[1], offset: ?>>, vector<16xi8>
// CHECK-NEXT:    %[[PAIRS:.*]] = vector.shuffle %[[X]], %[[Y]] [0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23]
// CHECK-NEXT:    arith.extsi %[[PAIRS]] : vector<16xi8> to vector<16xi16>
// CHECK-NEXT:    vector.shuffle %[[X]], %[[Y]] [8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29, 14, 30, 15, 31]
// CHECK:         cpu.dot

// One row, too, where its machine multiplies pairs.
// CHECK-LABEL: func.func private @row(
// CHECK:         func.call @row_block(
// PLAIN-LABEL: func.func private @row(
// PLAIN-NOT:     func.call
// PLAIN:         linalg.generic
func.func @main(%x: memref<4x256xi8>, %r: memref<256xi8>, %y: memref<256x512xi8>, %o: memref<4x512xi32>, %p: memref<512xi32>) {
  func.call @rows(%x, %y, %o) : (memref<4x256xi8>, memref<256x512xi8>, memref<4x512xi32>) -> ()
  func.call @row(%r, %y, %p) : (memref<256xi8>, memref<256x512xi8>, memref<512xi32>) -> ()
  func.return
}
func.func private @rows(%x: memref<4x256xi8>, %y: memref<256x512xi8>, %o: memref<4x512xi32>) attributes {hlo.kernel = "dot"} {
  %zero = arith.constant 0 : i32
  linalg.fill ins(%zero : i32) outs(%o : memref<4x512xi32>)
  linalg.generic {indexing_maps = [#a, #b, #c], iterator_types = ["parallel", "parallel", "reduction"]} ins(%x, %y : memref<4x256xi8>, memref<256x512xi8>) outs(%o : memref<4x512xi32>) attrs = {xhlo.contraction} {
  ^bb(%p: i8, %q: i8, %s: i32):
    %v = arith.extsi %p : i8 to i32
    %w = arith.extsi %q : i8 to i32
    %r = arith.muli %v, %w : i32
    %t = arith.addi %s, %r : i32
    linalg.yield %t : i32
  }
  func.return
}
func.func private @row(%x: memref<256xi8>, %y: memref<256x512xi8>, %o: memref<512xi32>) attributes {hlo.kernel = "dot"} {
  %zero = arith.constant 0 : i32
  linalg.fill ins(%zero : i32) outs(%o : memref<512xi32>)
  linalg.generic {indexing_maps = [affine_map<(n, k) -> (k)>, affine_map<(n, k) -> (k, n)>, affine_map<(n, k) -> (n)>], iterator_types = ["parallel", "reduction"]} ins(%x, %y : memref<256xi8>, memref<256x512xi8>) outs(%o : memref<512xi32>) attrs = {xhlo.contraction} {
  ^bb(%p: i8, %q: i8, %s: i32):
    %v = arith.extsi %p : i8 to i32
    %w = arith.extsi %q : i8 to i32
    %r = arith.muli %v, %w : i32
    %t = arith.addi %s, %r : i32
    linalg.yield %t : i32
  }
  func.return
}
