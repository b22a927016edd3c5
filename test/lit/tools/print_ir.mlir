// The IR around passes goes to standard error, so that standard output contains only the result.
// RUN: hlo-opt %s --cse --dce --print-ir-before=cse -o /dev/null 2>&1 | filecheck %s --check-prefix=BEFORE
// RUN: hlo-opt %s --cse --dce --print-ir-after=dce -o /dev/null 2>&1 | filecheck %s --check-prefix=AFTER
// RUN: hlo-opt %s --cse --dce --print-ir-before-all -o /dev/null 2>&1 | filecheck %s --check-prefix=ALL
// RUN: hlo-opt %s --cse --dce --print-ir-after-change -o /dev/null 2>&1 | filecheck %s --check-prefix=CHANGE

// BEFORE:     IR Dump Before cse
// BEFORE:     hlo.add
// BEFORE:     hlo.add
// BEFORE-NOT: IR Dump

// AFTER:      IR Dump After dce
// AFTER-NOT:  IR Dump

// ALL:        IR Dump Before cse
// ALL:        IR Dump Before dce

// CHANGE:     IR Dump After cse
// CHANGE-NOT: IR Dump

func.func @twice(%x: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
  %0 = hlo.add %x, %x : tensor<4xf32>
  %1 = hlo.add %x, %x : tensor<4xf32>
  return %0, %1 : tensor<4xf32>, tensor<4xf32>
}
