// RUN: hlo-opt %s --fuse --lower --target=nvptx --chip=sm_90 --emit=ptx | filecheck %s --check-prefixes=CHECK,SM90
// RUN: hlo-opt %s --fuse --lower --target=nvptx --chip=sm_80 --emit=ptx | filecheck %s --check-prefixes=CHECK,SM90
// RUN: hlo-opt %s --fuse --lower --target=nvptx --chip=sm_75 --emit=ptx | filecheck %s --check-prefixes=CHECK,SM75

// Sums are rounded after each operation, to bf16 by an instruction if the chip has one; maxima propagate NaN; nothing
// flushes denormals.

// CHECK-NOT:  .ftz
// SM90:       add.rn.f32
// SM90:       cvt.rn.bf16.f32
// SM90:       max.NaN.f32
// SM75:       add.rn.f32
// SM75:       setp.nan.f32
// SM75-NOT:   cvt.rn.bf16.f32
// CHECK-NOT:  .ftz
func.func @main(%x: tensor<1000xbf16>, %y: tensor<1000xbf16>) -> tensor<1000xbf16> {
  %0 = hlo.add %x, %y : tensor<1000xbf16>
  %1 = hlo.maximum %0, %y : tensor<1000xbf16>
  func.return %1 : tensor<1000xbf16>
}
