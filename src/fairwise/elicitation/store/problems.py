"""What can be wrong with something that was asked of the store; none of it says anything about other participants."""


class StoreProblem(Exception):
    """Nothing was changed."""


class Unknown(StoreProblem):
    """There is no such participant or pair, or it is not theirs."""


class AlreadyFinished(StoreProblem):
    """Answers can no longer be changed."""


class NotYet(StoreProblem):
    """Something that comes before is missing."""


class StoreUnavailable(StoreProblem):
    """The database cannot be reached or written to at the moment."""
