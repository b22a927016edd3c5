"""lax: reductions of windows, their gradients, and convolutions in all forms."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from cases import case, integers, normal

ROUNDING = "sums of many products in another order"


def conv(strides=(1, 1), padding="SAME", **options):
    return lambda x, w: lax.conv_general_dilated(x, w, strides, padding, **options)


NHWC = ("NHWC", "HWIO", "NHWC")
CONVOLUTIONS = {
    "plain": (conv(), (2, 3, 8, 7), (4, 3, 3, 3)),
    "valid": (conv(padding="VALID"), (2, 3, 8, 7), (4, 3, 3, 3)),
    "strides": (conv((2, 3)), (2, 3, 9, 9), (4, 3, 3, 3)),
    "explicit_padding": (conv(padding=[(0, 2), (3, 1)]), (2, 3, 8, 7), (4, 3, 3, 3)),
    "negative_padding": (conv(padding=[(-1, 0), (0, -2)]), (2, 3, 8, 9), (4, 3, 3, 3)),
    "lhs_dilation": (conv(padding=[(2, 2), (2, 2)], lhs_dilation=(2, 3)), (2, 3, 5, 4), (4, 3, 3, 3)),
    "rhs_dilation": (conv(rhs_dilation=(2, 1)), (2, 3, 8, 8), (4, 3, 3, 3)),
    "both_dilations": (
        conv((2, 1), [(3, 3), (2, 2)], lhs_dilation=(2, 2), rhs_dilation=(2, 2)),
        (1, 2, 6, 6),
        (3, 2, 3, 2),
    ),
    "groups": (conv(feature_group_count=2), (2, 4, 7, 7), (6, 2, 3, 3)),
    "depthwise": (conv(feature_group_count=4), (2, 4, 7, 7), (8, 1, 3, 3)),
    "batch_groups": (conv(batch_group_count=2), (4, 3, 6, 6), (4, 3, 3, 3)),
    "channels_last": (conv(dimension_numbers=NHWC), (2, 8, 7, 3), (3, 3, 3, 4)),
    "channels_last_strided": (conv((2, 2), "VALID", dimension_numbers=NHWC), (2, 9, 9, 3), (3, 3, 3, 4)),
    "one_by_one": (conv(), (2, 3, 5, 5), (4, 3, 1, 1)),
    "odd_layout": (conv(dimension_numbers=("HNWC", "OHIW", "CNHW")), (6, 2, 5, 3), (4, 3, 3, 2)),
}


def conv_gradient(x, w):
    """The gradients of both operands, with strides and dilation."""

    def loss(x, w):
        return jnp.sum(jnp.sin(lax.conv_general_dilated(x, w, (2, 1), "SAME", rhs_dilation=(1, 2))))

    return jax.grad(loss, (0, 1))(x, w)


def window(operation, init, **options):
    return lambda x: lax.reduce_window(x, x.dtype.type(init), operation, **options)


def reduce_window_of_two(x, i):
    """The largest of each window, and where it came from."""

    def larger(a, b):
        first = (a[0] > b[0]) | ((a[0] == b[0]) & (a[1] < b[1]))
        return jnp.where(first, a[0], b[0]), jnp.where(first, a[1], b[1])

    return lax.reduce_window((x, i), (jnp.float32(-jnp.inf), jnp.int32(0)), larger, (2, 3), (1, 2), "VALID")


CASES = [
    case(
        "max_pool",
        window(lax.max, -np.inf, window_dimensions=(1, 3, 3, 1), window_strides=(1, 2, 2, 1), padding="SAME"),
        normal(2, 7, 8, 3),
    ),
    case(
        "min_pool",
        window(lax.min, np.inf, window_dimensions=(2, 2), window_strides=(1, 2), padding="VALID"),
        normal(5, 6),
    ),
    case(
        "sum_pool",
        window(lax.add, 0, window_dimensions=(3, 2), window_strides=(1, 1), padding=((1, 1), (0, 1))),
        normal(5, 6),
    ),
    case("product_window", window(lax.mul, 1, window_dimensions=(3,), window_strides=(1,), padding="SAME"), normal(8)),
    case(
        "dilated_window",
        window(
            lax.add,
            0,
            window_dimensions=(2, 3),
            window_strides=(1, 2),
            padding=((2, 1), (0, 3)),
            base_dilation=(2, 1),
            window_dilation=(1, 2),
        ),
        normal(5, 6),
    ),
    case(
        "integer_window",
        window(lax.max, -128, window_dimensions=(3,), window_strides=(2,), padding="SAME"),
        integers(9, dtype="int8"),
    ),
    case("window_of_two", reduce_window_of_two, normal(5, 8), np.arange(40, dtype=np.int32).reshape(5, 8)),
    case(
        "max_pool_gradient",
        jax.grad(lambda x: jnp.sum(lax.reduce_window(x, -jnp.inf, lax.max, (2, 3), (2, 2), "SAME") ** 2)),
        normal(6, 7),
    ),
    case(
        "sum_pool_gradient",
        jax.grad(lambda x: jnp.sum(lax.reduce_window(x, 0.0, lax.add, (2, 3), (2, 2), "SAME") ** 2)),
        normal(6, 7),
    ),
    case(
        "select_and_scatter_add",
        lambda s, x: lax.select_and_scatter_add_p.bind(
            s, x, select_prim=lax.ge_p, window_dimensions=(2, 2), window_strides=(2, 2), padding=((0, 0), (0, 0))
        ),
        normal(3, 3),
        normal(6, 6),
    ),
    *(
        case(f"conv_{name}", function, normal(*x), normal(*w), tolerance=(1e-5, 1e-5), because=ROUNDING)
        for name, (function, x, w) in CONVOLUTIONS.items()
    ),
    case("conv_1d", lambda x, w: lax.conv_general_dilated(x, w, (2,), "SAME"), normal(2, 3, 9), normal(4, 3, 3)),
    case(
        "conv_3d",
        lambda x, w: lax.conv_general_dilated(x, w, (1, 2, 1), "SAME"),
        normal(1, 2, 4, 5, 4),
        normal(3, 2, 2, 3, 2),
        tolerance=(1e-5, 1e-5),
        because=ROUNDING,
    ),
    case("conv_0d", lambda x, w: lax.conv_general_dilated(x, w, (), ()), normal(3, 4), normal(5, 4)),
    case(
        "conv_transpose",
        lambda x, w: lax.conv_transpose(x, w, (2, 2), "SAME"),
        normal(2, 5, 5, 3),
        normal(3, 3, 3, 4),
        tolerance=(1e-5, 1e-5),
        because=ROUNDING,
    ),
    case(
        "conv_local",
        lambda x, w: lax.conv_general_dilated_local(x, w, (1, 1), "VALID", (2, 2)),
        normal(1, 2, 4, 4),
        normal(3, 8, 3, 3),
    ),
    case("conv_patches", lambda x: lax.conv_general_dilated_patches(x, (2, 2), (1, 2), "SAME"), normal(1, 2, 5, 6)),
    case("conv_integers", lambda x, w: lax.conv(x, w, (1, 1), "SAME"), integers(1, 2, 6, 6), integers(3, 2, 3, 3)),
    case(
        "conv_int8_to_int32",
        lambda x, w: lax.conv_general_dilated(x, w, (1, 1), "SAME", preferred_element_type=jnp.int32),
        integers(1, 2, 6, 6, low=-128, high=127, dtype="int8"),
        integers(3, 2, 3, 3, low=-128, high=127, dtype="int8"),
    ),
    case(
        "conv_bfloat16",
        conv(),
        normal(1, 2, 6, 6, dtype="bfloat16"),
        normal(3, 2, 3, 3, dtype="bfloat16"),
        tolerance=(2e-2, 3e-2),
        because="each sum is rounded to 8 bits, in another order",
    ),
    case(
        "conv_complex",
        conv(),
        normal(1, 2, 5, 5, dtype="complex64"),
        normal(3, 2, 3, 3, dtype="complex64"),
        tolerance=(1e-5, 1e-5),
        because=ROUNDING,
    ),
    case(
        "conv_gradient", conv_gradient, normal(2, 3, 7, 8), normal(4, 3, 3, 3), tolerance=(1e-4, 2e-5), because=ROUNDING
    ),
    case(
        "conv_gradient_of_groups",
        jax.grad(lambda x, w: jnp.sum(conv(feature_group_count=2)(x, w) ** 2), (0, 1)),
        normal(2, 4, 5, 5),
        normal(6, 2, 3, 3),
        tolerance=(1e-4, 1e-4),
        because=ROUNDING,
    ),
    case(
        "conv_vmapped",
        jax.vmap(lambda x, w: lax.conv(x, w, (1, 1), "SAME")),
        normal(3, 1, 2, 5, 5),
        normal(3, 2, 2, 3, 3),
        tolerance=(1e-5, 1e-5),
        because=ROUNDING,
    ),
]
