// RUN: hlo-opt %s --pass-pipeline='plan-buffers{guard=end}' | filecheck %s --check-prefixes=CHECK,END
// RUN: hlo-opt %s --pass-pipeline='plan-buffers{guard=start}' | filecheck %s --check-prefixes=CHECK,START
// Guard mode: two buffers of 64 bytes, which are not in use at once, have pages of their own, 16 pages apart. Events
// enclose the uses of each; the use in a branch ends with the branch.

// CHECK:       builtin.module attributes {xhlo.arena_size = 204800 : i64}
// CHECK-LABEL: func.func @main
// END-DAG:       arith.constant 69568 : index
// END-DAG:       arith.constant 139200 : index
// START-DAG:     arith.constant 65536 : index
// START-DAG:     arith.constant 135168 : index
// CHECK:         %[[A:[a-z0-9]+]] = memref.view %arena
// CHECK-NEXT:    cpu.guard "begin"(%arena : memref<204800xi8>) {number = 0 : i64, offset = {{69568|65536}} : i64, size = 64 : i64}
// CHECK-NEXT:    func.call @k(%x, %[[A]])
// CHECK-NEXT:    scf.if %p {
// CHECK-NEXT:      func.call @k(%[[A]], %out)
// CHECK-NEXT:    }
// CHECK-NEXT:    cpu.guard "end"(%arena : memref<204800xi8>) {number = 0 : i64
// CHECK-NEXT:    scf.if %p {
// CHECK-NEXT:      %[[B:[a-z0-9]+]] = memref.view %arena
// CHECK-NEXT:      cpu.guard "begin"(%arena : memref<204800xi8>) {number = 1 : i64
// CHECK-NEXT:      func.call @k(%[[B]], %out)
// CHECK-NEXT:      cpu.guard "end"(%arena : memref<204800xi8>) {number = 1 : i64
// CHECK-NEXT:    }
func.func @main(%x: memref<16xf32>, %p: i1, %out: memref<16xf32>) {
  %a = memref.alloc() : memref<16xf32>
  func.call @k(%x, %a) : (memref<16xf32>, memref<16xf32>) -> ()
  scf.if %p {
    func.call @k(%a, %out) : (memref<16xf32>, memref<16xf32>) -> ()
  }
  scf.if %p {
    %b = memref.alloc() : memref<16xf32>
    func.call @k(%b, %out) : (memref<16xf32>, memref<16xf32>) -> ()
  }
  func.return
}

func.func private @k(%x: memref<16xf32>, %y: memref<16xf32>) attributes {hlo.kernel = "loop"} {
  func.return
}
