"""Refusals of the store. None of them reveals anything about other participants."""


class StoreProblem(Exception):
    """Refusal of a change or query; nothing was changed."""


class Unknown(StoreProblem):
    """No such participant or pair exists, or it is not theirs."""


class AlreadyFinished(StoreProblem):
    """Answers can no longer be changed."""


class ChangedTooOften(StoreProblem):
    """A pair was answered too often; the last answer stands."""


class NotYet(StoreProblem):
    """Something that comes before is missing."""


class NotShownAgain(NotYet):
    """Only pairs that are shown again can be answered now."""


class Full(StoreProblem):
    """All places are taken."""


class TakesPartAlready(StoreProblem):
    """A participant has this id of a panel."""


class Withdrew(StoreProblem):
    """A participant with this id of a panel withdrew."""


class NotListed(StoreProblem):
    """The operator's list does not have this id of a panel."""


class NotInvited(StoreProblem):
    """The personal link was revoked, or its participant withdrew, or the room was closed."""


class NameTaken(StoreProblem):
    """An account has this name."""


class NotLoggedIn(StoreProblem):
    """The session has ended, or the account was removed."""


class NotAllowed(StoreProblem):
    """The change needs an owner's account."""


class LastOwner(StoreProblem):
    """The account is the last one that can change anything."""


class NotOpen(StoreProblem):
    """The study is paused or closed: nobody may begin, answer or finish."""


class RoundOver(StoreProblem):
    """The first round is over: nobody may begin, and its answers stay as they are."""


class NothingToDiscuss(StoreProblem):
    """No pair with enough answers is disputed or expensive."""


class NotUnderWay(StoreProblem):
    """The run of the job is over, or void after a withdrawal."""


class StoreUnavailable(StoreProblem):
    """The database cannot be reached or written to at the moment."""
