// RUN: hlo-opt %s --convert-loops-to-cf --convert-to-llvm --share-kernels | filecheck %s

// Bounds and distances are arguments, whose least value is known; the bound of the innermost loop stays known as a multiple
// of 256.
// CHECK-LABEL: llvm.func internal @sums(
// CHECK-SAME:    !llvm.ptr {llvm.noalias}, %{{.*}}: !llvm.ptr {llvm.noalias}, %[[ROW:[0-9]+]]: i64 {llvm.range = array<i64: 8, 1099511627776>}, %[[M:[0-9]+]]: i64 {llvm.range = array<i64: 1, 1099511627776>}, %[[ROWS:[0-9]+]]: i64 {llvm.range = {{[^)]*}}})
// CHECK-SAME:    attributes {xhlo.shared, passthrough = ["noinline", "nounwind"]}
// CHECK:         %[[F:.*]] = llvm.mlir.constant(256) : i64
// CHECK:         %[[N:.*]] = llvm.mul %[[M]], %[[F]] overflow<nsw,nuw> : i64
// CHECK:         llvm.mul %{{.*}}, %[[ROW]] overflow<nsw,nuw> : i64
// CHECK:         llvm.icmp "slt" %{{.*}}, %[[N]] : i64
// CHECK:         llvm.icmp "slt" %{{.*}}, %[[ROWS]] : i64
func.func private @sums(%a: memref<40x1024xf32>, %r: memref<40xf32>) attributes {hlo.kernel = "reduce"} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c40 = arith.constant 40 : index
  %c1024 = arith.constant 1024 : index
  %zero = arith.constant 0.0 : f32
  scf.for %i = %c0 to %c40 step %c1 {
    %sum = scf.for %j = %c0 to %c1024 step %c1 iter_args(%s = %zero) -> (f32) {
      %x = memref.load %a[%i, %j] : memref<40x1024xf32>
      %t = arith.addf %s, %x : f32
      scf.yield %t : f32
    }
    memref.store %sum, %r[%i] : memref<40xf32>
  }
  func.return
}

// The bound of a short loop and distances in it stay, and so does a number that is no size.
// CHECK-LABEL: llvm.func internal @columns(
// CHECK-SAME:    !llvm.ptr {llvm.noalias}, %[[R:.*]]: !llvm.ptr {llvm.noalias}, %{{.*}}: i64) attributes {xhlo.shared
// CHECK-DAG:     %[[LENGTH:.*]] = llvm.mlir.constant(1000) : i64
// CHECK-DAG:     %[[STRIDE:.*]] = llvm.mlir.constant(512) : i64
// CHECK-DAG:     %[[LIMIT:.*]] = llvm.mlir.constant(4611686018427387904) : i64
// CHECK:         llvm.mul %{{.*}}, %[[STRIDE]] overflow<nsw,nuw> : i64
// CHECK:         llvm.icmp "slt" %{{.*}}, %[[LIMIT]] : i64
// CHECK:         llvm.icmp "slt" %{{.*}}, %[[LENGTH]] : i64
func.func private @columns(%a: memref<1000x512xi64>, %r: memref<1000xi64>, %column: index) attributes {hlo.kernel = "loop"} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c1000 = arith.constant 1000 : index
  %limit = arith.constant 4611686018427387904 : i64
  scf.for %i = %c0 to %c1000 step %c1 {
    %x = memref.load %a[%i, %column] : memref<1000x512xi64>
    %below = arith.cmpi slt, %x, %limit : i64
    %y = arith.select %below, %x, %limit : i64
    memref.store %y, %r[%i] : memref<1000xi64>
  }
  func.return
}

// LLVM unrolls a loop fully only if it knows the number of iterations.
// CHECK-LABEL: llvm.func internal @unrolled(
// CHECK-SAME:    xhlo.shared
// CHECK:         %[[EIGHT:.*]] = llvm.mlir.constant(8) : i64
// CHECK:         %[[MORE:.*]] = llvm.icmp "slt" %{{.*}}, %[[EIGHT]] : i64
// CHECK-NEXT:    llvm.cond_br %[[MORE]], {{.*}}unroll = <full = true>
func.func private @unrolled(%a: memref<40x8x4xf32>) attributes {hlo.kernel = "loop"} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %c8 = arith.constant 8 : index
  %c40 = arith.constant 40 : index
  scf.for %i = %c0 to %c40 step %c1 {
    scf.for %j = %c0 to %c8 step %c1 {
      scf.for %k = %c0 to %c4 step %c1 {
        %x = memref.load %a[%i, %j, %k] : memref<40x8x4xf32>
        %y = arith.addf %x, %x : f32
        memref.store %y, %a[%i, %j, %k] : memref<40x8x4xf32>
      }
    } {xhlo.unroll = 0 : i64}
  }
  func.return
}

// Loops over 16 and over 8 times 16 elements become vectors, so that the one around them is innermost: only its bound is
// an argument.
// CHECK-LABEL: llvm.func internal @brief(
// CHECK-SAME:    !llvm.ptr {llvm.noalias}, %{{.*}}: !llvm.ptr {llvm.noalias}, %[[ROWS:[0-9]+]]: i64 {llvm.range = {{[^)]*}}}) attributes {xhlo.shared
// CHECK-DAG:     %[[SIXTEEN:.*]] = llvm.mlir.constant(16) : i64
// CHECK-DAG:     %[[EIGHT:.*]] = llvm.mlir.constant(8) : i64
// CHECK:         llvm.mul %{{.*}}, %[[SIXTEEN]] overflow<nsw,nuw> : i64
// CHECK:         llvm.icmp "slt" %{{.*}}, %[[SIXTEEN]] : i64
// CHECK:         llvm.icmp "slt" %{{.*}}, %[[EIGHT]] : i64
// CHECK:         llvm.icmp "slt" %{{.*}}, %[[ROWS]] : i64
func.func private @brief(%a: memref<40x16xf32>, %r: memref<40x8xf32>) attributes {hlo.kernel = "reduce"} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  %c16 = arith.constant 16 : index
  %c40 = arith.constant 40 : index
  %zero = arith.constant 0.0 : f32
  scf.for %i = %c0 to %c40 step %c1 {
    scf.for %k = %c0 to %c8 step %c1 {
      %sum = scf.for %j = %c0 to %c16 step %c1 iter_args(%s = %zero) -> (f32) {
        %x = memref.load %a[%i, %j] : memref<40x16xf32>
        %y = memref.load %a[%k, %j] : memref<40x16xf32>
        %p = arith.mulf %x, %y : f32
        %t = arith.addf %s, %p : f32
        scf.yield %t : f32
      }
      memref.store %sum, %r[%i, %k] : memref<40x8xf32>
    }
  }
  func.return
}

// Parts of a buffer begin at constants: one register addresses all.
// CHECK-LABEL: llvm.func internal @parts(
// CHECK-SAME:    !llvm.ptr {llvm.noalias}, %{{.*}}: !llvm.ptr {llvm.noalias}, %[[ROW:[0-9]+]]: i64 {llvm.range = {{[^,]*, [^,]*}}}, %[[ROWS:[0-9]+]]: i64 {llvm.range = {{[^)]*}}}) attributes {xhlo.shared
// CHECK-DAG:     %[[FIRST:.*]] = llvm.mlir.constant(513) : i64
// CHECK:         llvm.getelementptr inbounds %{{.*}}[%[[FIRST]]]
func.func private @parts(%a: memref<40x512xf32>, %r: memref<40x512xf32>) attributes {hlo.kernel = "loop"} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c39 = arith.constant 39 : index
  %c510 = arith.constant 510 : index
  %part = memref.reinterpret_cast %a to offset: [513], sizes: [39, 510], strides: [512, 1] : memref<40x512xf32> to memref<39x510xf32, strided<[512, 1], offset: 513>>
  scf.for %i = %c0 to %c39 step %c1 {
    scf.for %j = %c0 to %c510 step %c1 {
      %x = memref.load %part[%i, %j] : memref<39x510xf32, strided<[512, 1], offset: 513>>
      memref.store %x, %r[%i, %j] : memref<40x512xf32>
    }
  }
  func.return
}

// A function with calls is left: it is translated quickly.
// CHECK-LABEL: llvm.func internal @calls(
// CHECK-SAME:    !llvm.ptr {llvm.noalias}) attributes {xhlo.brief, passthrough
func.func private @calls(%r: memref<40xf32>) attributes {hlo.kernel = "loop"} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c40 = arith.constant 40 : index
  scf.for %i = %c0 to %c40 step %c1 {
    func.call @other(%r) : (memref<40xf32>) -> ()
  }
  func.return
}
func.func private @other(%r: memref<40xf32>)

// CHECK-LABEL: llvm.func internal @main(
// CHECK-DAG:     %[[N1024:.*]] = llvm.mlir.constant(1024) : i64
// CHECK-DAG:     %[[N4:.*]] = llvm.mlir.constant(4) : i64
// CHECK-DAG:     %[[N40:.*]] = llvm.mlir.constant(40) : i64
// CHECK:         llvm.call @sums(%{{.*}}, %{{.*}}, %[[N1024]], %[[N4]], %[[N40]])
// CHECK:         llvm.call @columns(%{{.*}}, %{{.*}}, %{{.*}}) : (!llvm.ptr, !llvm.ptr, i64) -> ()
func.func public @main(%a: memref<40x1024xf32>, %r: memref<40xf32>, %b: memref<1000x512xi64>, %s: memref<1000xi64>, %u: memref<40x8x4xf32>, %d: memref<40x16xf32>, %e: memref<40x8xf32>, %f: memref<40x512xf32>, %g: memref<40x512xf32>) {
  %c7 = arith.constant 7 : index
  func.call @sums(%a, %r) : (memref<40x1024xf32>, memref<40xf32>) -> ()
  func.call @columns(%b, %s, %c7) : (memref<1000x512xi64>, memref<1000xi64>, index) -> ()
  func.call @unrolled(%u) : (memref<40x8x4xf32>) -> ()
  func.call @brief(%d, %e) : (memref<40x16xf32>, memref<40x8xf32>) -> ()
  func.call @parts(%f, %g) : (memref<40x512xf32>, memref<40x512xf32>) -> ()
  func.call @calls(%r) : (memref<40xf32>) -> ()
  func.return
}
