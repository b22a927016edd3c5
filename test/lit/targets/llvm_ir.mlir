// RUN: hlo-opt %s --emit=llvm | filecheck %s

// CHECK: @table = internal unnamed_addr constant [8 x i8] c"\00\00\80?\00\00\00@", align 64
llvm.mlir.global internal constant @table(dense<[1.0, 2.0]> : tensor<2xf32>) {alignment = 64 : i64, addr_space = 0 : i32} : !llvm.array<2 x f32>

// CHECK-LABEL: define internal void @loop(ptr noalias %v0, i64 %v1) noinline #0 {
// CHECK:       bb1:
// CHECK-NEXT:    %[[I:.*]] = phi i64 [ 0, %bb0 ], [ %[[NEXT:.*]], %bb1 ]
// CHECK:         load float, ptr %{{.*}}, align 4, !llvm.access.group ![[GROUP:[0-9]+]]
// CHECK:         %[[NEXT]] = add nsw i64 %[[I]], 1
// CHECK:         br i1 %{{.*}}, label %bb1, label %bb2, !llvm.loop ![[LOOP:[0-9]+]]
llvm.func internal @loop(%p: !llvm.ptr {llvm.noalias}, %n: i64) attributes {passthrough = ["noinline"]} {
  %zero = llvm.mlir.constant(0) : i64
  %one = llvm.mlir.constant(1) : i64
  llvm.br ^body(%zero : i64)
^body(%i: i64):
  %a = llvm.getelementptr inbounds %p[%i] : (!llvm.ptr, i64) -> !llvm.ptr, f32
  %v = llvm.load %a {alignment = 4 : i64, access_groups = [#llvm.access_group<id = distinct[0]<>>]} : !llvm.ptr -> f32
  %next = llvm.add %i, %one overflow<nsw> : i64
  %more = llvm.icmp "slt" %next, %n : i64
  llvm.cond_br %more, ^body(%next : i64), ^done {loop_annotation = #llvm.loop_annotation<vectorize = <disable = false>, interleave = <count = 2 : i32>, unroll = <count = 4 : i32>, parallelAccesses = #llvm.access_group<id = distinct[0]<>>>}
^done:
  llvm.return
}

// A separate edge for the second branch from one block to another with arguments.
// CHECK-LABEL: define internal i32 @twice(i1 %v0, i32 %v1, i32 %v2)
// CHECK:         br i1 %v0, label %bb1, label %bb0.edge1
// CHECK:       bb0.edge1:
// CHECK-NEXT:    br label %bb1
// CHECK:       bb1:
// CHECK-NEXT:    phi i32 [ %v1, %bb0 ], [ %v2, %bb0.edge1 ]
llvm.func internal @twice(%c: i1, %x: i32, %y: i32) -> i32 {
  llvm.cond_br %c, ^join(%x : i32), ^join(%y : i32)
^join(%r: i32):
  llvm.return %r : i32
}

// CHECK-LABEL: define internal float @frozen(
// CHECK:         freeze float %v0
llvm.func internal @frozen(%x: f32) -> f32 {
  %0 = llvm.freeze %x : f32
  llvm.return %0 : f32
}

// CHECK-LABEL: define internal i32 @unpredictable(
// CHECK:         select i1 %v0, i32 %v1, i32 %v2, !unpredictable ![[NONE:[0-9]+]]
llvm.func internal @unpredictable(%c: i1, %x: i32, %y: i32) -> i32 {
  %r = llvm.select %c, %x, %y {xhlo.unpredictable} : i1, i32
  llvm.return %r : i32
}

// CHECK: ![[GROUP]] = distinct !{}
// CHECK: ![[INTERLEAVE:[0-9]+]] = !{!"llvm.loop.interleave.count", i32 2}
// CHECK: ![[LOOP]] = distinct !{![[LOOP]],{{.*}}![[INTERLEAVE]],
// CHECK: ![[NONE]] = !{}
