// RUN: hlo-opt %s --convert-gpu-to-nvvm | filecheck %s

gpu.module @kernels {
  // The clamp of xor, down and idx: groups of 32 - 16 in the upper bits, the last lane of a group in the lower ones.
  // CHECK-LABEL: func.func @single
  // CHECK:         %[[ALL:.*]] = arith.constant -1 : i32
  // CHECK:         %[[SPLIT:.*]] = arith.subi %{{.*}}, %[[WIDTH:.*]] : i32
  // CHECK:         %[[HIGH:.*]] = arith.shli %[[SPLIT]], %{{.*}} : i32
  // CHECK:         %[[CLAMP:.*]] = arith.ori %[[HIGH]], %{{.*}} : i32
  // CHECK:         nvvm.shfl.sync bfly %[[ALL]], %{{.*}}, %{{.*}}, %[[CLAMP]] : f32 -> f32
  gpu.func @single(%x: f32, %offset: i32, %width: i32) -> f32 {
    %y, %valid = gpu.shuffle xor %x, %offset, %width : f32
    gpu.return %y : f32
  }

  // For up the limit is the first lane of a group: the lower bits are zero.
  // CHECK-LABEL: func.func @with_validity
  // CHECK:         %[[SPLIT:.*]] = arith.subi
  // CHECK:         %[[CLAMP:.*]] = arith.shli %[[SPLIT]]
  // CHECK:         %[[BOTH:.*]] = nvvm.shfl.sync up %{{.*}}, %{{.*}}, %{{.*}}, %[[CLAMP]] {return_value_and_is_valid} : i32 -> !llvm.struct<(i32, i1)>
  // CHECK:         llvm.extractvalue %[[BOTH]]{{.}}1] : !llvm.struct<(i32, i1)>
  // CHECK:         llvm.extractvalue %[[BOTH]]{{.}}0] : !llvm.struct<(i32, i1)>
  gpu.func @with_validity(%x: i32, %offset: i32, %width: i32) -> (i32, i1) {
    %y, %valid = gpu.shuffle up %x, %offset, %width : i32
    gpu.return %y, %valid : i32, i1
  }

  // Two halves of 64 bits.
  // CHECK-LABEL: func.func @double
  // CHECK:         %[[BITS:.*]] = arith.bitcast %{{.*}} : f64 to i64
  // CHECK:         %[[LOW:.*]] = arith.trunci %[[BITS]] : i64 to i32
  // CHECK:         %[[SHIFTED:.*]] = arith.shrui %[[BITS]], %{{.*}} : i64
  // CHECK:         %[[UPPER:.*]] = arith.trunci %[[SHIFTED]] : i64 to i32
  // CHECK:         nvvm.shfl.sync down %{{.*}}, %[[LOW]]
  // CHECK:         nvvm.shfl.sync down %{{.*}}, %[[UPPER]]
  // CHECK:         %[[JOINED:.*]] = arith.ori {{.*}} : i64
  // CHECK:         arith.bitcast %[[JOINED]] : i64 to f64
  gpu.func @double(%x: f64, %offset: i32, %width: i32) -> f64 {
    %y, %valid = gpu.shuffle down %x, %offset, %width : f64
    gpu.return %y : f64
  }

  // CHECK-LABEL: func.func @narrow
  // CHECK:         %[[BITS:.*]] = arith.bitcast %{{.*}} : bf16 to i16
  // CHECK:         %[[WIDE:.*]] = arith.extui %[[BITS]] : i16 to i32
  // CHECK:         %[[MOVED:.*]] = nvvm.shfl.sync idx %{{.*}}, %[[WIDE]]
  // CHECK:         %[[BACK:.*]] = arith.trunci %[[MOVED]] : i32 to i16
  // CHECK:         arith.bitcast %[[BACK]] : i16 to bf16
  gpu.func @narrow(%x: bf16, %offset: i32, %width: i32) -> bf16 {
    %y, %valid = gpu.shuffle idx %x, %offset, %width : bf16
    gpu.return %y : bf16
  }

  // CHECK-LABEL: func.func @bit
  // CHECK:         %[[WIDE:.*]] = arith.extui %{{.*}} : i1 to i32
  // CHECK:         %[[MOVED:.*]] = nvvm.shfl.sync bfly %{{.*}}, %[[WIDE]]
  // CHECK:         arith.trunci %[[MOVED]] : i32 to i1
  gpu.func @bit(%x: i1, %offset: i32, %width: i32) -> i1 {
    %y, %valid = gpu.shuffle xor %x, %offset, %width : i1
    gpu.return %y : i1
  }

  // CHECK-LABEL: func.func @vectors
  // CHECK:         llvm.bitcast %{{.*}} : vector<2xbf16> to i32
  // CHECK:         nvvm.shfl.sync bfly
  // CHECK:         llvm.bitcast %{{.*}} : i32 to vector<2xbf16>
  // CHECK:         llvm.bitcast %{{.*}} : vector<4xf32> to i128
  // CHECK-COUNT-4: nvvm.shfl.sync bfly
  gpu.func @vectors(%x: vector<2xbf16>, %z: vector<4xf32>, %offset: i32, %width: i32) -> (vector<2xbf16>, vector<4xf32>) {
    %y, %valid = gpu.shuffle xor %x, %offset, %width : vector<2xbf16>
    %w, %valid_w = gpu.shuffle xor %z, %offset, %width : vector<4xf32>
    gpu.return %y, %w : vector<2xbf16>, vector<4xf32>
  }
}
