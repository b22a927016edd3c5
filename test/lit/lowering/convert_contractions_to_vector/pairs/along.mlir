// RUN: hlo-opt %s -p 'convert-contractions-to-vector{vector-bits=256 pair-dots=true}' | filecheck %s
// RUN: hlo-opt %s -p 'convert-contractions-to-vector{vector-bits=256}' | filecheck %s --check-prefix=PLAIN
// RUN: hlo-opt %s -p 'convert-contractions-to-vector{vector-bits=256 pair-dots=true}' | hlo-opt --verify-each
// Few rows of bytes by the rows of a matrix: each vector of the matrix is read once, in place, for all of them.

// CHECK-LABEL: func.func private @rows(
// CHECK:         %[[COPY:.*]] = memref.alloc() : memref<224xi16>
// CHECK:         func.call @rows_wide_rows(%x, {{.*}}, %[[COPY]],
// CHECK:         func.call @rows_along(%[[COPY]], {{.*}}, %y, {{.*}}, %o,
// PLAIN-LABEL: func.func private @rows(
// PLAIN-NOT:     func.call
// PLAIN:         linalg.generic
func.func @main(%x: memref<2x100xi8>, %y: memref<512x100xi8>, %o: memref<2x512xi32>) {
  func.call @rows(%x, %y, %o) : (memref<2x100xi8>, memref<512x100xi8>, memref<2x512xi32>) -> ()
  func.return
}
func.func private @rows(%x: memref<2x100xi8>, %y: memref<512x100xi8>, %o: memref<2x512xi32>) attributes {hlo.kernel = "dot"} {
  %zero = arith.constant 0 : i32
  linalg.fill ins(%zero : i32) outs(%o : memref<2x512xi32>)
  linalg.generic {indexing_maps = [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (n, k)>, affine_map<(m, n, k) -> (m, n)>], iterator_types = ["parallel", "parallel", "reduction"]} ins(%x, %y : memref<2x100xi8>, memref<512x100xi8>) outs(%o : memref<2x512xi32>) attrs = {xhlo.contraction} {
  ^bb(%p: i8, %q: i8, %s: i32):
    %v = arith.extsi %p : i8 to i32
    %w = arith.extsi %q : i8 to i32
    %r = arith.muli %v, %w : i32
    %t = arith.addi %s, %r : i32
    linalg.yield %t : i32
  }
  func.return
}
// The last vector of a row ends with the row, whatever its length.
// CHECK-LABEL: func.func private @rows_along(
// CHECK:         scf.for
// CHECK:           %{{.*}}:2 = scf.for
// CHECK:             arith.minsi
// CHECK:             vector.load %{{.*}} : memref<16xi8, strided<[1], offset: ?>>, vector<16xi8>
// CHECK-NEXT:        arith.extsi %{{.*}} : vector<16xi8> to vector<16xi16>
// CHECK-COUNT-2:     cpu.dot
// CHECK:           vector.reduction <add>
