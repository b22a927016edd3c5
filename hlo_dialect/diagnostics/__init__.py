"""Located errors and warnings: how they are made, shown, and cited from the specification."""

from ..errors import (
    Diagnostic as Diagnostic,
)
from ..errors import (
    DiagnosticError as DiagnosticError,
)
from ..errors import (
    file_location as file_location,
)
from .diagnostic import (
    HloContext as HloContext,
)
from .diagnostic import (
    applied_in as applied_in,
)
from .diagnostic import (
    current_operation as current_operation,
)
from .diagnostic import (
    engine_of as engine_of,
)
from .diagnostic import (
    fail as fail,
)
from .diagnostic import (
    location_name as location_name,
)
from .diagnostic import (
    location_near as location_near,
)
from .diagnostic import (
    op_error as op_error,
)
from .diagnostic import (
    op_message as op_message,
)
from .diagnostic import (
    placed as placed,
)
