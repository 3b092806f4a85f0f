"""joblib's tasks on the workers of a dask cluster, where one is given."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator


@contextmanager
def joblib_on(client: Any) -> Iterator[None]:
    """Within this, whatever is done through joblib is done by the client's workers; without a client, nothing changes.

    That is how a scikit-learn estimator with ``n_jobs`` is fitted by a cluster.
    """
    if client is None:
        yield
        return
    import joblib

    with joblib.parallel_config(backend="dask", client=client):
        yield
