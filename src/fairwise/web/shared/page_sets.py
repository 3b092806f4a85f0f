"""The pages of a study in each language that it offers."""

from __future__ import annotations

from collections.abc import Callable

from markupsafe import Markup

from fairwise.study.arms import Arm
from fairwise.study.folder import StudyFolder
from fairwise.web.shared.pages import Pages


def pages_of(
    folder: StudyFolder, prefix: str, notice: Callable[[str], Markup] = lambda _: Markup()
) -> dict[str, Pages]:
    """Return the pages of a study in each language that it offers; ``notice`` by the code of a language."""
    languages = [folder.editions[code].language for code in folder.offered]
    offered = languages if len(languages) > 1 else []

    def made(code: str, arm: Arm | None = None) -> Pages:
        edition = folder.editions[code].in_arm(None if arm is None else arm.name)
        return Pages(
            edition.settings,
            edition.consent_html,
            edition.task_html,
            prefix,
            spoken=edition.language,
            offered=offered,
            notice=notice(code),
            arm=arm,
        )

    pages = {code: made(code) for code in folder.offered}
    for code, of_all in pages.items():
        of_all.of_arms = {arm.name: made(code, arm) for arm in folder.editions[code].settings.arms}
    return pages
