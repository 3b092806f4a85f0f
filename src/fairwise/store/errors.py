"""What can be wrong with something that was asked of the store; none of it says anything about other participants."""


class StoreProblem(Exception):
    """Nothing was changed."""


class Unknown(StoreProblem):
    """There is no such participant or pair, or it is not theirs."""


class AlreadyFinished(StoreProblem):
    """Answers can no longer be changed."""


class ChangedTooOften(StoreProblem):
    """A pair was answered as often as it can be; the last answer stands."""


class NotYet(StoreProblem):
    """Something that comes before is missing."""


class NotShownAgain(NotYet):
    """After all pairs, only those that are shown once more can be answered anew."""


class Full(StoreProblem):
    """As many take part as may."""


class TakesPartAlready(StoreProblem):
    """Someone began under this id of a panel before."""


class Withdrew(StoreProblem):
    """Someone with this id of a panel took part, and withdrew."""


class NotListed(StoreProblem):
    """Only ids of a panel that an operator listed may begin, and this is none of them."""


class NotInvited(StoreProblem):
    """The personal link was revoked, or its participant withdrew, or the room was closed."""


class NameTaken(StoreProblem):
    """There is an account of this name."""


class NotLoggedIn(StoreProblem):
    """The session of whoever asked has ended, or their account was removed."""


class NotAllowed(StoreProblem):
    """It needs an owner's account."""


class LastOwner(StoreProblem):
    """Without this account nobody could change anything any more."""


class NotOpen(StoreProblem):
    """The study is paused or closed: nobody may begin, answer or finish."""


class RoundOver(StoreProblem):
    """The first round is over: nobody may begin, and its answers stay as they are."""


class NothingToDiscuss(StoreProblem):
    """No pair is disputed or dear that enough people answered."""


class NotUnderWay(StoreProblem):
    """A run of a job that is over, or void since somebody whose answers it has withdrew."""


class StoreUnavailable(StoreProblem):
    """The database cannot be reached or written to at the moment."""
