// RUN: hlo-opt %s --verify-roundtrip | filecheck %s
// RUN: hlo-opt %s --convert-to-llvm | filecheck %s --check-prefix=LLVM

// CHECK-LABEL: @sums
// CHECK:         cpu.prefetch %m[%{{.*}}] : memref<8xf32>
// CHECK-NEXT:    cpu.prefetch %m[%{{.*}}] {to_write} : memref<8xf32>
// CHECK-NEXT:    cpu.prefetch %m[%{{.*}}] {second_level} : memref<8xf32>
// CHECK:         cpu.dot %x, %y, %z {unsigned} : vector<64xi8>, vector<64xi8>, vector<16xi32> -> vector<16xi32>
// CHECK:         cpu.dot %p, %q, %r : vector<16xi16>, vector<16xi16>, vector<8xi32> -> vector<8xi32>
// CHECK:         cpu.dot %s, %s, %t : vector<32xbf16>, vector<32xbf16>, vector<16xf32> -> vector<16xf32>
// LLVM:          llvm.call_intrinsic "llvm.prefetch.p0"
// LLVM:          llvm.call_intrinsic "llvm.x86.avx512.vpdpbusd.512"
// LLVM:          llvm.call_intrinsic "llvm.x86.avx2.pmadd.wd"
// LLVM-NEXT:     llvm.add
// LLVM-COUNT-2:  llvm.bitcast %s : vector<32xi16> to vector<32xbf16>
// LLVM-NEXT:     llvm.call_intrinsic "llvm.x86.avx512bf16.dpbf16ps.512"(%t,
func.func private @sums(%m: memref<8xf32>, %x: vector<64xi8>, %y: vector<64xi8>, %z: vector<16xi32>, %p: vector<16xi16>, %q: vector<16xi16>, %r: vector<8xi32>, %s: vector<32xbf16>, %t: vector<16xf32>) {
  %0 = arith.constant 7 : index
  cpu.prefetch %m[%0] : memref<8xf32>
  cpu.prefetch %m[%0] {to_write} : memref<8xf32>
  cpu.prefetch %m[%0] {second_level} : memref<8xf32>
  %1 = cpu.dot %x, %y, %z {unsigned} : vector<64xi8>, vector<64xi8>, vector<16xi32> -> vector<16xi32>
  %2 = cpu.dot %p, %q, %r : vector<16xi16>, vector<16xi16>, vector<8xi32> -> vector<8xi32>
  %3 = cpu.dot %s, %s, %t : vector<32xbf16>, vector<32xbf16>, vector<16xf32> -> vector<16xf32>
  func.return
}
