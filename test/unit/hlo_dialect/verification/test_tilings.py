"""The spellings of tilings."""

from __future__ import annotations

import pytest
from xdsl.utils.exceptions import VerifyException

from xhlo.hlo_dialect.sharding.tilings import Tiling, parse_tiling

pytest.importorskip("jax")

TEXTS = {
    "{devices=[2,2]<=[4]}": ((2, 2), (0, 1, 2, 3)),
    "{devices=[2,2]<=[2,2]T(1,0)}": ((2, 2), (0, 2, 1, 3)),
    "{devices=[1,2,2]3,1,2,0 last_tile_dim_replicate}": ((1, 2), (3, 1, 2, 0)),
    '{devices=[4,1]0,2,1,3 metadata={op_name="a"}}': ((4, 1), (0, 2, 1, 3)),
    "{replicated}": ((1, 1), (0, 1, 2, 3)),
}


@pytest.mark.parametrize("text", TEXTS)
def test_tilings_are_read_and_printed(text: str) -> None:
    from jax._src.lib import xla_client

    tiling = parse_tiling(text, 2, 4)
    assert tiling is not None
    assert (tiling.counts, tiling.devices) == TEXTS[text]
    assert parse_tiling(tiling.text, 2, 4) == tiling
    proto = xla_client.OpSharding()
    proto.ParseFromString(tiling.op_sharding)
    if "metadata" not in text:
        assert xla_client.HloSharding.from_proto(proto) == xla_client.HloSharding.from_string(text)


@pytest.mark.parametrize(
    "text",
    [
        "{devices=[2,2]<=[9999999999,9999999999]}",
        "{devices=[2,2]0,1,2,2}",
        "{devices=[4]<=[4]}",
        "{devices=[2,2]<=[2,2]T(1,1)}",
        "{maximal device=0}",
        "{devices=[2,1,2]<=[4] last_tile_dims={manual}}",
    ],
)
def test_tilings_that_do_not_fit_are_refused(text: str) -> None:
    with pytest.raises(VerifyException, match="the sharding"):
        parse_tiling(text, 2, 4)


def test_tilings_are_equal_where_each_device_holds_the_same() -> None:
    assert Tiling((2,), (0, 1, 2, 3)) == Tiling((2,), (1, 0, 3, 2))
    assert Tiling((2,), (0, 1, 2, 3)) != Tiling((2,), (0, 2, 1, 3))
    assert Tiling((2, 2), (0, 1, 2, 3)).derived([None, 0]) == Tiling((1, 2), (0, 1, 2, 3))
