"""Facts about hlo.while: trip counts, induction variables, what a loop leaves alone, what it computes elementwise."""

from .analysis import Induction as Induction
from .analysis import Loop as Loop
from .duplicates import merge_equal as merge_equal
from .elementwise import ElementwiseLoop as ElementwiseLoop
from .elementwise import elementwise_loop as elementwise_loop
from .elementwise import is_pointwise as is_pointwise
