"""Switch off every defence of docs/threat_model.md, one at a time, in a copy of the code: its test must fail.

``make defences`` runs it; a list of those whose test did not notice is printed, and the end is 1 if there is any.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


@dataclass(frozen=True)
class Defence:
    """What stops a threat, how it is taken away, and the test that must notice."""

    name: str
    test: str
    """Under ``tests/``."""

    changes: tuple[tuple[str, str, str], ...]
    """A file under ``src/fairwise/``, a text that is in it once, and what takes its place."""


def one(name: str, test: str, file: str, before: str, after: str) -> Defence:
    return Defence(name, test, ((file, before, after),))


DEFENCES = (
    one("links are long", "study/test_signing.py::test_new_keys_have_enough_bits_and_never_repeat",
        "study/signing.py", "_TOKEN_BYTES = 18", "_TOKEN_BYTES = 3"),
    one("only hashes are kept", "web/shared/test_security.py::test_only_hashes_of_tokens_are_kept",
        "study/signing.py", "return hashlib.sha256(token.encode()).digest()", "return token.encode()"),
    one("a pair is found with its participant", "web/shared/test_security.py::test_nobody_sees_or_answers_for_somebody_else",
        "store/answers.py",
        '.where(appearances.c.key == sa.bindparam("key"), participants.c.token_hash == sa.bindparam("token_hash"))',
        '.where(appearances.c.key == sa.bindparam("key"), sa.bindparam("token_hash") == sa.bindparam("token_hash"))'),
    one("forms are signed", "web/shared/test_security.py::test_a_form_without_its_token_is_refused",
        "web/participant/base.py", 'if not self._keys.is_form(request.path_params["token"], form.text("csrf", 200)):', "if False:"),
    one("forms come from here", "web/shared/test_security.py::test_a_form_from_another_site_is_refused",
        "web/shared/security.py", "and not from_here(headers):", "and False:"),
    one("forms of the console are signed for the session", "web/console/test_login.py::test_nothing_without_a_login_and_no_owners_thing_for_a_viewer",
        "web/console/base.py", 'if not self._host.keys.is_form(self._subject(request), form.text("csrf", 200)):', "if False:"),
    one("no frames", "security/test_pages.py::test_every_page_keeps_frames_and_foreign_scripts_out",
        "web/shared/security.py", """f"{POLICY}; frame-ancestors 'none'",""", "POLICY,"),
    one("nothing from elsewhere is loaded", "security/test_pages.py::test_every_page_keeps_frames_and_foreign_scripts_out",
        "web/shared/security.py", "default-src 'none'; style-src", "default-src *; style-src"),
    one("participants' pages are escaped", "web/shared/test_security.py::test_every_text_is_escaped",
        "templates.py", "autoescape=html", "autoescape=False"),
    one("the console's pages are escaped", "security/test_pages.py::test_nothing_that_anybody_wrote_acts_on_any_page",
        "templates.py", "autoescape=html", "autoescape=False"),
    one("reports are escaped", "reporting/test_page.py::test_text_of_others_is_text",
        "templates.py", "autoescape=html", "autoescape=False"),
    Defence("Markdown is sanitised", "study/test_texts.py", (
        ("study/texts.py", "    return nh3.clean(\n        parser.renderer.render(tokens, parser.options, {}),",
         "    return (lambda html, **_: html)(\n        parser.renderer.render(tokens, parser.options, {}),"),
        ("study/texts.py", '{"html": False}', '{"html": True}'),
    )),
    one("reports are in a sandbox", "security/test_pages.py::test_every_page_keeps_frames_and_foreign_scripts_out",
        "web/console/fits.py", '"sandbox allow-scripts; default-src', '"default-src'),
    one("secrets are long", "web/shared/test_host.py::test_a_short_secret_is_refused_also_before_there_is_a_study",
        "study/folder.py", "if len(secret) < SECRET_BYTES:", "if False:"),
    one("no referrer", "web/shared/test_security.py::test_headers_that_keep_strangers_out",
        "web/shared/security.py", '"referrer-policy": "same-origin"', '"referrer-policy": "unsafe-url"'),
    one("no caches", "web/shared/test_security.py::test_headers_that_keep_strangers_out",
        "web/shared/security.py", '"cache-control": "no-store"', '"cache-control": "public"'),
    one("participants' cookies are out of reach", "web/shared/test_security.py::test_cookies_are_out_of_reach",
        "web/participant/consent.py", "httponly=True", "httponly=False"),
    one("operators' cookies are out of reach", "web/console/test_login.py::test_logging_in_and_out",
        "web/console/login.py", 'samesite="strict"', 'samesite="lax"'),
    one("sessions have new names", "web/console/test_login.py::test_a_token_that_was_planted_is_not_kept",
        "web/console/login.py", "token, now = self._host.keys.new(), datetime.now(UTC)",
        "token, now = request.cookies.get(COOKIE) or self._host.keys.new(), datetime.now(UTC)"),
    one("sessions end", "web/console/test_login.py::test_sessions_end",
        "store/operators.py", "(sessions.c.begun_at < at - LONGEST) | (sessions.c.used_at < at - IDLE)", "sa.false()"),
    one("names are not told by time", "security/test_login.py::test_a_name_that_nobody_has_takes_the_same_work",
        "web/console/login.py", "    try:\n        return _hasher.verify", "    if real is None:\n        return False\n    try:\n        return _hasher.verify"),
    one("so many wrong passwords", "web/console/test_login.py::test_guessing_is_stopped",
        "web/shared/attempts.py", "if number >= limit.most:", "if False:"),
    one("names are counted as they are matched", "security/test_guessing.py::test_a_name_in_other_letters_is_counted_as_the_same",
        "web/shared/attempts.py", 'Limit("login by", same_letters(name), OF_ONE_NAME)', 'Limit("login by", name.lower(), OF_ONE_NAME)'),
    one("networks count as one address", "security/test_guessing.py::test_a_network_is_counted_as_one_address",
        "web/shared/attempts.py", 'Limit("login from", network(address), FROM_ONE_ADDRESS)', 'Limit("login from", address, FROM_ONE_ADDRESS)'),
    one("known browsers are not kept out", "security/test_guessing.py::test_a_stranger_who_guesses_keeps_nobody_out",
        "web/shared/attempts.py", "if device is not None:", "if False:"),
    one("a browser is known for one name", "security/test_guessing.py::test_a_known_browser_guesses_no_more_than_others_and_for_its_own_name_only",
        "web/console/login.py", 'return f"device {said} {password_hash} {same_letters(name)}"', 'return f"device {said}"'),
    one("old passwords are counted", "security/test_guessing.py::test_the_old_password_is_not_guessed_on_the_page_that_changes_it",
        "web/console/login.py", "limits = change_limits(operator.name)\n        if not await self._beside(self._attempts.begin, *limits):",
        "limits = change_limits(operator.name)\n        if False:"),
    one("what was checked is what is kept", "security/test_outliving.py::test_a_password_that_was_right_a_moment_ago_opens_nothing",
        "store/operators.py", "if password_hash_of(connection, operator_id) != password_hash:", "if False:"),
    one("the first account is the first ever", "security/test_outliving.py::test_the_link_for_the_first_account_works_once_ever",
        "store/operators.py", "(sa.select(operators.c.id), done))", "(sa.select(operators.c.id),))"),
    one("the first account is the only first", "security/test_outliving.py::test_the_link_for_the_first_account_works_once_however_many_open_it",
        "store/operators.py", "    if was_set_up(connection):\n        return None\n", ""),
    one("a link for a password works once", "cli/test_operators.py::test_who_cannot_log_in_is_let_in_again",
        "web/console/login.py", 'return f"reset {operator_id} {until} {password_hash}"', 'return f"reset {operator_id} {until}"'),
    one("a link for a password has an end", "cli/test_operators.py::test_only_the_last_link_works_and_not_for_ever",
        "web/console/login.py", "or time.time() > until:", "or False:"),
    one("rights are looked at when all is there", "security/test_outliving.py::test_what_was_half_sent_shows_nothing_either",
        "web/console/base.py", "        self._refuse_others(request, form)\n        await self._check(request)\n", "        self._refuse_others(request, form)\n"),
    one("also of a file", "security/test_outliving.py::test_a_file_that_was_half_sent_is_not_kept",
        "web/console/study_wizard.py", "            await self._check(request)\n", ""),
    Defence("half a request", "security/test_outliving.py::test_half_a_request_of_somebody_removed_meanwhile_changes_nothing", (
        ("web/console/base.py", "        self._refuse_others(request, form)\n        await self._check(request)\n",
         "        self._refuse_others(request, form)\n"),
        ("web/console/base.py", "operator = operators.authorised(connection, token_hash, role, now)",
         "operator = request.state.operator"),
    )),
    one("rights are looked at in the transaction", "security/test_outliving.py::test_rights_are_those_of_the_moment_of_the_change",
        "web/console/base.py", "operator = operators.authorised(connection, token_hash, role, now)", "operator = request.state.operator"),
    one("of every change", "security/test_outliving.py::test_no_route_changes_anything_for_somebody_without_a_session",
        "web/console/base.py", "operator = operators.authorised(connection, token_hash, role, now)", "operator = request.state.operator"),
    one("changes of operators take turns", "security/test_outliving.py::test_changes_of_operators_take_turns",
        "store/operators.py", 'if connection.dialect.name == "postgresql":', "if False:"),
    one("owners who remove each other", "security/test_outliving.py::test_two_owners_who_remove_each_other_at_once",
        "web/console/base.py", "operator = operators.authorised(connection, token_hash, role, now)", "operator = request.state.operator"),
    one("an owner is left", "security/test_outliving.py::test_the_last_owner_cannot_be_removed",
        "store/operators.py", "if had_owner and not has_owner(connection):", "if False:"),
    one("many at once are counted", "security/test_login.py::test_many_at_once_are_not_each_the_first",
        "web/shared/attempts.py", 'connection.executemany("INSERT INTO attempts', 'print("INSERT INTO attempts'),
    one("processes count together", "security/test_login.py::test_processes_count_together_and_names_and_addresses_are_kept_nowhere",
        "web/shared/attempts.py", "home / FILE", 'home / f"{id(self)}{FILE}"'),
    one("sent twice counts once", "web/participant/test_pairs.py::test_double_clicks_replays_and_other_tabs",
        "store/answers.py", "if last is not None and (content in of_this_form or _is_repeat(connection, pair.id, form, content, *last)):", "if False:"),
    one("a pair is changed so many times", "store/test_answer_versions.py::test_a_pair_can_be_changed_so_many_times",
        "store/answers.py", "if version > MOST_VERSIONS or", "if"),
    one("panels sign", "study/test_recruitment.py::test_what_the_panel_did_not_sign_is_not_believed",
        "study/recruitment.py", "not key.signed(", "not (lambda *_: True)("),
    one("only signed links", "web/participant/test_made_up_ids.py::test_with_the_panels_keys_only_what_it_signed_is_believed",
        "web/participant/panel.py", "                raise NotSigned\n            signed = True", "                pass\n            signed = True"),
    one("the whole block is compared", "study/test_recruitment.py::test_garbage_behind_the_digest_is_noticed",
        "study/recruitment.py", "return hmac.compare_digest(pow(number, self.e, self.n).to_bytes(size), expected)",
        'return pow(number, self.e, self.n).to_bytes(size).lstrip(b"\\0\\1\\xff").startswith(b"\\0" + digest)'),
    one("signed for this study and now", "study/test_recruitment.py::test_what_was_signed_for_another_time_study_or_purpose_is_not",
        "study/recruitment.py", 'or sent.get("STUDY_ID") not in studies.split():', "or False:"),
    one("old forms of a panel", "web/participant/test_made_up_ids.py::test_forms_that_were_opened_without_the_panels_keys_are_worth_nothing_with_them",
        "web/participant/panel.py", "{' vouched for' if visitor.signed else ''}", ""),
    one("listed ids", "web/participant/test_made_up_ids.py::test_only_listed_ids_are_let_in",
        "store/participants.py", "if not may_come(connection, mark):", "if False:"),
    one("places are provisional", "web/participant/test_made_up_ids.py::test_places_of_made_up_ids_that_answer_nothing_are_free_again",
        "store/quotas.py", "(participants.c.consented_at > _begun)", "((participants.c.consented_at > _begun) | (participants.c.consented_at > _since))"),
    one("who lost a place is asked again", "web/participant/test_made_up_ids.py::test_whoever_was_slow_goes_on_if_there_is_room_and_is_told_if_not",
        "store/quotas.py", "    if lost_place(connection, token_hash, quotas, at):", "    if False:"),
    one("nobody is locked out by a made-up id", "web/participant/test_made_up_ids.py::test_a_stranger_who_withdraws_in_somebodys_name_does_not_lock_them_out",
        "store/participants.py", "    if contests:\n        return None\n", ""),
    one("of one id one counts", "web/participant/test_made_up_ids.py::test_whose_id_was_made_up_first_can_begin_and_the_operator_sees_both",
        "store/quotas.py", "        exclude(connection, who.number,", "        (lambda *_, **__: None)(connection, who.number,"),
    one("nobody unsigned withdraws for others", "web/participant/test_made_up_ids.py::test_who_withdrew_unsigned_keeps_nobody_out_for_whom_the_panel_signed",
        "store/recruitment.py", 'return hashlib.sha256(b"signed " + mark).digest() if signed else mark', "return mark"),
    Defence("old forms of another's device", "web/participant/test_made_up_ids.py::test_that_is_not_me_leads_whom_the_panel_signed_for_back_to_their_own_way_in", (
        ("web/participant/consent.py", "not self._keys.is_form(form_subject(_NOT_ME, visitor), ", "not self._keys.is_form(form_subject(_NOT_ME, Visitor(visitor.arrival)), "),
        ("web/participant/consent.py", "self._keys.form(form_subject(_NOT_ME, visitor))", "self._keys.form(form_subject(_NOT_ME, Visitor(visitor.arrival)))"),
    )),
    one("a device forgets also while nobody can begin", "web/console/test_study_pages.py::test_who_uses_a_device_after_another_can_say_so_while_the_study_is_not_open",
        "web/shared/templates/not_open.html", "{% if resume.csrf %}", "{% if false %}"),
    one("a panel's link leads on its own person", "web/console/test_study_pages.py::test_while_the_study_is_not_open_a_panels_link_leads_on_whoever_has_its_id",
        "web/participant/consent.py", "        visitor = sent or Visitor(Arrival.by_open_link())\n",
        "        visitor = Visitor(Arrival.by_open_link()) if not self._is_open else sent or Visitor(Arrival.by_open_link())\n"),
    one("two claims are shown", "web/console/test_participants.py::test_two_who_claim_one_id_are_shown_together_and_the_operator_decides",
        "store/roster.py", "    if len(found) == 1:\n", "    if found:\n"),
    one("and not to viewers", "web/console/test_participants.py::test_two_who_claim_one_id_are_shown_together_and_the_operator_decides",
        "web/console/templates/one_participant.html", "{% if operator.is_owner and same_id %}", "{% if same_id %}"),
    one("rooms ask whose device it is", "web/participant/test_shared_devices.py::test_in_a_room_one_is_asked_first_and_can_say_that_it_was_somebody_else",
        "web/participant/consent.py", "if resume is None or not self._is_open:", "if True:"),
    one("nothing is offered after the end", "web/participant/test_shared_devices.py::test_after_finishing_nothing_is_offered_to_the_next",
        "web/participant/consent.py", "if same and who.stage not in ENDS:", "if same:"),
    one("so many from one address", "web/participant/test_consent_limit.py::test_a_stranger_does_not_begin_without_end",
        "web/participant/consent.py", "if not await self._may_begin_from_here(request, visitor.arrival):", "if False:"),
    one("a network is one address", "web/participant/test_consent_limit.py::test_addresses_of_one_house_count_together",
        "web/shared/attempts.py", "int(parsed) >> 64 << 64", "int(parsed)"),
    one("an answer costs the same after many", "store/test_answer_versions.py::test_an_answer_costs_the_same_however_many_came_before_it",
        "store/answers.py", "order_by(answers.c.version.desc()).limit(1)", "order_by((answers.c.version + 0).desc()).limit(1)"),
    one("commits wait for the disk", "store/test_engine.py::test_commits_wait_for_the_disk",
        "store/engine.py", '"synchronous = FULL"', '"synchronous = OFF"'),
    one("a GET changes nothing", "web/participant/test_pairs.py::test_a_get_never_changes_anything",
        "web/participant/pairs.py", "        await self._participant_at(request, Stage.PAIRS)\n        own_answers, saved =",
        '        await self._write(request, participants.move_on, leaving="pairs", to="second_look")\n        own_answers, saved ='),
    one("large requests", "web/shared/test_security.py::test_too_much_is_refused_before_it_is_read",
        "web/shared/security.py", "if received > most:", "if False:"),
    one("no more fields than a page has", "web/shared/test_security.py::test_what_is_no_form_is_refused",
        "web/shared/forms.py", 'multipart/form-data"):\n        raise HTTPException(415)', 'multipart/form-data"):\n        return Form({})'),
    one("slow heads", "security/test_slow_and_huge.py::test_a_head_that_never_ends_is_hung_up_on",
        "web/protocol.py", "    def _close(self) -> None:\n        self.transport.close()\n", "    def _close(self) -> None:\n        return\n"),
    one("the server is impatient", "security/test_slow_and_huge.py::test_the_server_is_impatient",
        "web/server.py", "            http=LimitedProtocol,\n", ""),
    one("short heads", "security/test_crowds.py::test_a_head_without_end_is_refused",
        "web/protocol.py", "if self._head_bytes > MOST_HEAD_BYTES:\n            raise TooMuch", "if False:\n            raise TooMuch"),
    one("few headers", "security/test_crowds.py::test_a_head_without_end_is_refused",
        "web/protocol.py", "if len(self.headers) >= MOST_HEADERS:", "if False:"),
    one("nothing unfinished is kept for long", "security/test_crowds.py::test_a_head_without_end_is_refused",
        "web/protocol.py", "if self._kept_bytes > MOST_HEAD_BYTES and not self._refused:", "if False:"),
    one("few requests in line", "security/test_crowds.py::test_many_requests_in_one_packet_are_not_all_taken",
        "web/protocol.py", "if len(self.pipeline) >= MOST_IN_LINE:", "if False:"),
    one("no names of many parts", "study/test_settings.py::test_names_of_many_parts_are_not_read",
        "study/toml.py", 'if line.count(".") > _MOST_DOTS:', "if False:"),
    one("columns are not compared with each other", "study/test_settings.py::test_each_column_is_compared_with_few_others",
        "study/settings.py", "for value, count in Counter(values).items() if count > 1)", "for value in values if values.count(value) > 1)"),
    one("long names are not compared", "tables/test_row_errors.py::test_long_names_are_neither_compared_nor_shown_whole",
        "tables/row_errors.py", "_LONGEST, _MOST = 60, 500", "_LONGEST, _MOST = 10**6, 10**6"),
    one("strangers fill no log", "security/test_log_lines.py::test_strangers_fill_no_log",
        "web/server.py", "    limit_log()\n", ""),
    one("nobody is sent anything who hung up", "security/test_log_lines.py::test_strangers_fill_no_log",
        "web/protocol.py", "        self._tell_nobody_is_there()\n        super().connection_lost(exc)\n",
        "        super().connection_lost(exc)\n"),
    one("who asks nothing gives way", "security/test_crowds.py::test_half_open_connections_give_way",
        "web/protocol.py", "if len(members) >= most:", "if False:"),
    one("so many of one address", "security/test_crowds.py::test_one_address_cannot_take_all_connections",
        "web/protocol.py", "(_EVERYONE, network(host))", "(_EVERYONE,)"),
    one("networks are addresses", "security/test_crowds.py::test_addresses_of_one_network_count_together",
        "web/protocol.py", "(_EVERYONE, network(host))", "(_EVERYONE, host)"),
    one("our headers on the server's own replies", "security/test_crowds.py::test_no_request_is_refused_with_our_own_page",
        "web/shared/security.py", "{**HEADERS, ", "{"),
    one("who finds no room is told", "security/test_crowds.py::test_who_finds_no_room_is_told_so",
        "web/protocol.py", "if self._turned_away:", "if False:"),
    one("few marks on a letter", "security/test_work_per_byte.py::test_marks_without_end_are_cut",
        "web/shared/forms.py", "if marks <= _MOST_MARKS:", "if True:"),
    one("what is dropped parts no marks", "security/test_work_per_byte.py::test_what_is_not_kept_parts_no_marks",
        "web/shared/forms.py", "            continue  #", "            marks = 0\n            continue  #"),
    one("who reads nothing is hung up on", "security/test_crowds.py::test_who_reads_nothing_is_hung_up_on",
        "web/protocol.py", "self._unread = self.loop.call_later(UNREAD_SECONDS, self.abort)", "pass"),
    Defence("work per byte", "security/test_work_per_byte.py::test_work_per_byte_is_linear", (
        ("web/shared/forms.py", """self.fields.get(name, "")[: 2 * longest]""", """self.fields.get(name, "")"""),
        ("web/shared/forms.py", "if marks <= _MOST_MARKS:", "if True:"),
    )),
    one("no cookie is unquoted", "security/test_work_per_byte.py::test_no_cookie_is_unquoted",
        "web/shared/language_choice.py", "kept = cookie_of(visitor, LANGUAGE_COOKIE)", "kept = visitor.cookies.get(LANGUAGE_COOKIE)"),
    one("forms are in UTF-8", "security/test_work_per_byte.py::test_forms_are_in_utf_8",
        "web/shared/forms.py", """if options.get(b"charset", b"utf-8").lower() != b"utf-8":""", "if False:"),
    one("no host without end", "security/test_work_per_byte.py::test_a_host_without_end_is_refused",
        "web/shared/security.py", """if len(headers.get("host", "")) > _LONGEST_HOST:""", "if False:"),
    one("things to fill in are looked for once", "security/test_work_per_byte.py::test_what_is_to_be_filled_in_is_looked_for_once",
        "study/texts.py", r"\[FILL IN:[^\[\]]*\]", r"\[FILL IN:[^\]]*\]"),
    one("slow bodies", "security/test_slow_and_huge.py::test_a_body_that_drips_is_refused",
        "web/shared/security.py", "asyncio.timeout_at(deadline)", "asyncio.timeout_at(None)"),
    one("no tracebacks", "web/shared/test_security.py::test_a_failure_shows_no_traceback",
        "web/shared/security.py", "page = self._refuse(scope, 500)", "page = HTMLResponse(repr(error), 500)"),
    one("nobody is told who takes part", "security/test_pages.py::test_who_takes_part_cannot_be_found_out_by_asking",
        "web/participant/consent.py", "            return self._refused(request, Visitor(Arrival.by_personal_link(token)), NotInvited())\n        raise Unknown",
        "            return self._refused(request, Visitor(Arrival.by_personal_link(token)), NotInvited())\n        return HTMLResponse(token)"),
    one("times are signed", "study/test_signing.py::test_time_is_measured_in_milliseconds_and_only_for_its_pair",
        "study/signing.py", "/ 1000 if stamped == key else None", "/ 1000"),
    one("what is withdrawn is deleted", "web/participant/test_pairs.py::test_withdrawing_deletes_everything",
        "store/erasure.py", "connection.execute(sa.delete(participants).where(participants.c.id == who.id))",
        "connection.execute(sa.select(participants).where(participants.c.id == who.id))"),
    one("models hold no judgment", "learning/model/test_files.py::test_no_person_is_in_the_file",
        "learning/model/files.py", '"prices": {},', '"prices": model._prices,'),
    one("nor does any other file after a withdrawal", "jobs/test_withdrawals.py::test_no_answer_is_in_any_file_after_a_withdrawal",
        "store/fit_files.py", "WITH_ANSWERS = (REPORT, FRONTIER, PRICES)", "WITH_ANSWERS = (REPORT, FRONTIER)"),
    one("models of before are written anew", "jobs/test_withdrawals.py::test_models_of_earlier_versions_are_rewritten_when_they_are_served",
        "store/housekeeping.py", 'node["content"], node["key_types"]["content"] = {}, []', "pass"),
    one("what may hold answers is not handed out", "web/console/test_fits.py::test_a_model_that_may_hold_answers_is_not_handed_out",
        "store/fit_files.py", "    except Exception:  # noqa: BLE001 - whatever it is\n        return True\n",
        "    except Exception:  # noqa: BLE001 - whatever it is\n        return False\n"),
    one("fits are published in the transaction", "jobs/test_withdrawals.py::test_who_withdraws_while_the_report_is_written_is_not_published",
        "store/jobs.py", "    return bool(connection.execute(sa.update(jobs).where(mine).values(values)).rowcount)",
        "    return True or connection.execute(sa.update(jobs).where(mine).values(values))"),
    one("what ended jobs left goes", "jobs/test_withdrawals.py::test_what_an_ended_job_left_unfinished_goes",
        "store/fit_files.py", " or (run == job.restarts and job.state in _ENDED)", ""),
    one("who said nothing stops no fit", "web/console/test_erasing.py::test_who_said_nothing_stops_no_fit",
        "store/jobs.py", "theirs = sa.select(job_participants.c.job_id).where(job_participants.c.participant_id == participant_id)",
        "theirs = sa.select(jobs.c.id)"),
    one("fits made again take nobody new", "store/test_jobs.py::test_a_run_with_answers_of_someone_who_withdrew_is_void",
        "store/jobs.py", "    if job.restarts:\n", "    if False:\n"),
    one("the file is not written anew for each", "web/console/test_erasing.py::test_strangers_who_come_and_go_do_not_each_have_the_database_written_anew",
        "store/housekeeping.py", "            await asyncio.sleep(pause)\n", ""),
    one("events name nobody who withdrew", "web/console/test_erasing.py::test_events_name_nobody_who_withdrew",
        "store/erasure.py", 'connection.execute(sa.update(events).where(events.c.about == about(who.number)).values(about=""))', "pass"),
    one("a clock that jumps is not believed", "security/test_privacy.py::test_a_clock_that_jumps_deletes_nothing",
        "store/erasure.py", "off, minutes = days_off(connection, now), _minutes(now)", "off, minutes = 0, _minutes(now)"),
    one("nor at the first look", "security/test_clock.py::test_the_first_look_after_an_upgrade_is_not_simply_believed",
        "store/store.py", "                keep_newest_time(connection)\n", ""),
    one("who believes it is written down", "security/test_clock.py::test_who_believes_the_clock_is_written_down",
        "store/erasure.py", "        note(connection, COMMAND_LINE, CLOCK_BELIEVED,", "        print(connection, COMMAND_LINE, CLOCK_BELIEVED,"),
    one("a clock that was ahead once is forgotten", "security/test_clock.py::test_a_clock_that_was_far_ahead_once_is_forgotten",
        "store/erasure.py", "return minutes - since > _LONGEST", "return False"),
    one("old backups are not kept for ever", "security/test_clock.py::test_an_old_backup_goes_on_by_the_clock_of_who_restored_it",
        "store/erasure.py", "believed=ahead > 0)", "believed=False)"),
    one("jobs are not begun for ever", "store/test_jobs.py::test_a_job_that_ends_its_own_process_is_given_up",
        "store/jobs.py", "if found.attempts >= MOST_ATTEMPTS:", "if False:"),
    one("coarse bundles", "archive/test_bundle.py::test_a_coarse_bundle_has_neither_times_nor_words_and_can_be_checked",
        "archive/bundle.py", "_coarsened(table) if coarse else table", "table"),
    one("also in the files", "web/console/test_erasing.py::test_copies_that_sqlite_leaves_in_its_pages_are_cleaned_up",
        "store/erasure.py", 'connection.exec_driver_sql("VACUUM")', 'connection.exec_driver_sql("SELECT 1")'),
    one("the note about it names nobody", "web/console/test_erasing.py::test_what_is_noted_says_only_that_somebody_was_erased",
        "web/console/participants.py", '"erased a participant", "",', '"erased a participant", str(number),'),
    one("viewers are no owners", "web/console/test_login.py::test_nothing_without_a_login_and_no_owners_thing_for_a_viewer",
        "store/operators.py", 'if role == "owner" and not operator.is_owner:', "if False:"),
    one("strangers are no viewers", "web/console/test_login.py::test_nothing_without_a_login_and_no_owners_thing_for_a_viewer",
        "web/console/base.py", 'if request.state.role != "anyone":', "if False:"),
    one("viewers see nobody's name", "web/console/test_participants.py::test_a_viewer_never_sees_who_anyone_is",
        "web/console/templates/one_participant.html", "{% if operator.is_owner and one.name %}", "{% if one.name %}"),
    one("nobody begins as another", "web/participant/test_panel.py::test_someone_elses_arrival_cannot_be_made_up",
        "web/participant/consent.py", """if visitor is None or not self._keys.is_form(consent_subject(version, visitor), signature):""", "if False:"),
    one("an id counts once", "web/participant/test_panel.py::test_another_session_under_the_same_id_is_not_let_in",
        "store/participants.py", "if connection.execute(sa.select(participants.c.id).where(same)).first() is not None:", "if False:"),
    one("a shared machine", "web/participant/test_panel.py::test_on_a_shared_machine_the_next_person_is_not_shown_the_last_ones_answers",
        "web/participant/consent.py", "same = arrival.came_by not in PANELS or arrival.who == who.panel_id", "same = True"),
    one("paid for answers", "web/participant/test_panel.py::test_from_the_panel_and_back",
        "web/participant/pairs.py", 'address = ways.get(who.stage, "")', "address = recruitment.completion_url"),
    one("the way back is https", "study/test_settings.py::test_bad_settings_are_one_line",
        "study/recruitment.py", 'if parts.scheme == "http" and host not in _ON_THIS_MACHINE:', "if False:"),
    one("gaps in it are escaped", "security/test_pages.py::test_the_way_back_is_the_studys_own",
        "study/recruitment.py", 'quote(values[gap[1]], safe="")', "values[gap[1]]"),
    one("quotas", "web/participant/test_quotas.py::test_of_many_at_once_as_many_are_let_in_as_may",
        "store/participants.py", "if is_full(connection, consent.most, **consent.since):", "if False:"),
    one("a try is judged once", "web/participant/test_quotas.py::test_a_try_is_judged_once",
        "store/participants.py", "            participants.c.check_tries == before,\n", ""),
    one("who withdrew is known again", "web/participant/test_panel.py::test_who_withdrew_does_not_come_again_under_the_same_id",
        "store/participants.py", "return Withdrew() if mark is not None", "return Withdrew() if False"),
    one("a language keeps the way", "web/participant/test_panel.py::test_changing_the_language_changes_nothing_else",
        "web/participant/consent.py", 'return f"{self._prefix}{self._panel.address(visitor)}"', 'return f"{self._prefix}/"'),
    one("a text agreed to is the one that was read",
        "archive/bundle_checks/test_what_belongs.py::test_whoever_reads_a_text_that_is_changed_meanwhile_reads_it_again",
        "web/participant/consent.py", "if version != self._edition(request).consent_version:", "if False:"),
    one("only our own files are served", "security/test_pages.py::test_only_our_own_files_are_served",
        "web/shared/routing.py", '        if request.path_params["name"] not in files:\n            raise HTTPException(404)\n', ""),
    # Tables and texts of others
    one("formulas are defused", "web/console/test_downloads.py::test_formulas_are_defused",
        "store/export.py", """return _FORMULA.sub("'", text)""", "return text"),
    one("formulas after semicolons", "store/test_export.py::test_formulas_are_defused",
        "store/export.py", r"(?:^|(?<=[;\t\r\n]))", "^"),
    one("a name is only a name", "web/console/test_uploads.py::test_a_name_is_only_a_name",
        "web/console/uploads.py", 'rename(folder / f"people.{kind}")', "rename(folder / sent_name)"),
    one("uploads are for owners' forms", "web/console/test_uploads.py::test_forms_of_others_are_refused_before_anything_is_written",
        "web/console/study_wizard.py", "lambda form: self._refuse_others(request, form)", "lambda form: None"),
    one("uploads have a size", "web/console/test_uploads.py::test_a_stream_that_does_not_say_how_long_it_is",
        "web/shared/security.py", "if received > most:", "if False:"),
    one("text is text", "security/test_fuzz_files.py::test_text_that_is_no_text",
        "tables/files.py", "table.validate(full=True)", "table.validate()"),
    one("Parquet bombs", "security/test_slow_and_huge.py::test_a_parquet_bomb_is_refused_before_it_is_read",
        "tables/files.py", "if known.num_rows * known.num_columns > most_cells:", "if False:"),
    one("outcomes are not shown", "study/test_new_study.py::test_the_outcome_is_refused_among_what_is_shown",
        "study/new_study.py", "        _refuse_hidden(people, name, outcome)\n", "        pass\n"),
    one("nor by a threshold", "study/test_new_study.py::test_a_column_that_tells_the_outcome_by_one_threshold_is_refused",
        "study/new_study.py", "if lowest[higher] > highest[lower]:", "if False:"),
    one("nor under another name", "study/test_new_study.py::test_the_outcome_under_another_name_is_refused",
        "study/new_study.py", "if people.num_rows >= _NO_COINCIDENCE and (_split(people[name]) == _split(results[outcome])).all():", "if False:"),
    # Models of others
    one("unknown types are not opened", "learning/model/test_files.py::test_a_type_that_is_not_known_to_be_safe_is_refused_by_name",
        "learning/model/files.py", "unknown = set(skops.io.get_untrusted_types(file=path)) - set(allowed)",
        "unknown, allowed = set(), skops.io.get_untrusted_types(file=path)"),
    one("numbers in models are checked", "security/test_crafted_models.py::test_a_changed_number_is_refused_before_compiled_code_reads_it",
        "learning/model/file_checks.py", "            if isinstance(part, kind):\n", "            if False:\n"),
    one("also in trees without nodes", "security/test_crafted_models.py::test_a_tree_without_nodes_is_refused",
        "learning/model/file_checks.py", "require(1 <= tree.node_count <= tree.capacity,", "require(True,"),
    one("search trees are built anew", "security/test_crafted_models.py::test_a_search_tree_is_built_from_its_points",
        "learning/model/file_checks.py", "    points, _, _, _, leaf_size, *_, metric, weight = tree.__getstate__()\n", "    return\n"),
    one("each kind has its types", "security/test_crafted_models.py::test_own_models_need_nothing_of_scikit_learn",
        "learning/model/file_checks.py", 'FAIRLEARN | SCIKIT_LEARN if kind == "scikit-learn" else FAIRLEARN', "FAIRLEARN | SCIKIT_LEARN"),
    one("models have a size", "security/test_slow_and_huge.py::test_a_model_that_swells_is_refused_before_it_is_unpacked",
        "learning/model/files.py", "if sum(entry.file_size for entry in archive.infolist()) > _MOST_BYTES:", "if False:"),
    one("models are packed by deflate", "security/test_slow_and_huge.py::test_a_model_packed_in_a_way_that_swells_unseen_is_refused",
        "learning/model/files.py", "if any(entry.compress_type not in {zipfile.ZIP_STORED, _COMPRESSION} for entry in archive.infolist()):",
        "if False:"),
    # Bundles
    one("only a study's own files are handed on", "archive/bundle_checks/test_what_belongs.py::test_only_what_belongs_there_is_written",
        "archive/bundle.py", "ours = [study.path / name for name in sorted(study_files(study.settings))]",
        "ours = sorted(study.path.iterdir())"),
    one("and taken", "archive/bundle_checks/test_what_belongs.py::test_what_does_not_belong_there_is_refused_and_not_written",
        "archive/container.py", "strange = sorted(name for name in files if not kind.belongs(settings, name))", "strange = []"),
    one("a database with something in it", "archive/bundle_checks/test_what_belongs.py::test_a_database_with_anything_in_it_is_refused",
        "archive/restore.py", "    _check_empty(connection, database)\n", ""),
    one("names that lead elsewhere", "archive/test_bundle.py::test_names_that_lead_elsewhere_are_refused",
        "archive/container.py", """or not {"", ".", ".."}.isdisjoint(name.split("/"))""", "or False"),
    one("zip bombs", "archive/test_bundle.py::test_a_bomb_is_refused_before_it_is_unpacked",
        "archive/container.py", "if sum(entry.file_size for entry in entries) > kind.most_bytes:", "if False:"),
    one("checksums", "archive/test_bundle.py::test_tampering_is_refused_and_named",
        "archive/container.py", """if seen.hexdigest() != self.manifest["files"][name]:""", "if False:"),
    one("what follows from the seed", "archive/bundle_checks/test_what_cannot_be.py::test_what_cannot_be_is_refused",
        "archive/verify.py", "    _check_schedule(path, study, people, schedule)\n", ""),
    one("every cell", "archive/bundle_checks/test_what_cannot_be.py::test_every_cell_is_checked",
        "archive/bundle_tables.py", "if not kind.fits(cell)}", "if False}"),
    one("formulas in bundles", "archive/test_bundle.py::test_formulas_in_bundles_are_defused_and_come_back",
        "archive/bundle.py", "table[name].map(defused) for name", "table[name] for name"),
    one("formulas in bundles of others", "archive/test_bundle.py::test_a_newer_bundle_holds_no_formula",
        "archive/bundle.py", "if expected != cell:", "if False:"),
    # Backups
    one("backups lead nowhere else", "faults/test_backups.py::test_what_does_not_belong_there_is_refused",
        "archive/container.py", "if not kind.members.fullmatch(name)]", "if False]"),
    one("only a study's own files are restored", "faults/test_restoring.py::test_only_what_a_backup_holds_is_taken",
        "archive/backup.py", "return name in study_files(settings) | {OUTCOME, SECRET}", "return True"),
    one("only tables of a backup are restored", "faults/test_restoring.py::test_only_what_a_backup_holds_is_taken",
        "archive/backup.py", '_LEFT_OUT = (sessions.name, database_identity.name, "alembic_version")',
        '_LEFT_OUT = (database_identity.name, "alembic_version")'),
    one("backups have a size", "faults/test_restoring.py::test_a_backup_that_swells_is_refused_before_it_is_unpacked",
        "archive/container.py", "if sum(entry.file_size for entry in entries) > kind.most_bytes:", "if False:"),
    one("checksums of backups", "faults/test_backups.py::test_what_does_not_belong_there_is_refused",
        "archive/container.py", """if seen.hexdigest() != self.manifest["files"][name]:""", "if False:"),
    one("values that cannot be", "faults/test_restoring.py::test_no_value_of_a_row_is_a_bug",
        "archive/restore.py", "except (ValueError, OverflowError) as error:", "except ZeroDivisionError as error:"),
    one("both or neither", "faults/test_restoring.py::test_a_restore_that_fails_leaves_neither_folder_nor_rows",
        "archive/restore.py", "            folder.rename(draft)\n", "            pass\n"),
    # Privacy and operations
    Defence("the log says nothing of people", "security/test_privacy.py::test_neither_the_log_nor_any_file_says_who_was_there", (
        ("web/server.py", "access_log=False,", "access_log=True,"),
        ("web/server.py", 'log_level="warning"', 'log_level="info"'),
    )),
    one("addresses are kept nowhere", "security/test_privacy.py::test_neither_the_log_nor_any_file_says_who_was_there",
        "web/shared/attempts.py", "return self._keys.mark(limit.kind, limit.of)", "return limit.of.encode()"),
    one("what is old goes", "security/test_privacy.py::test_texts_and_names_go_in_time_and_judgments_stay",
        "store/erasure.py", "gone = sum(connection.execute(change).rowcount for change in changes)", "gone = 0"),
    one("also names of those who never came", "security/test_privacy.py::test_names_of_those_who_never_came_or_withdrew_go_too",
        "store/erasure.py", "invitations.c.token_hash.not_in(links) & (invitations.c.made_at < limit)", "sa.false()"),
    one("who withdrew has no name", "web/participant/test_consent_by_invitation.py::test_a_personal_link_from_invitation_to_withdrawal",
        "store/participants.py", """values(withdrawn_on=at.date(), name="")""", "values(withdrawn_on=at.date())"),
    one("files are cleaned later", "web/console/test_erasing.py::test_what_could_not_be_cleaned_is_cleaned_later",
        "store/erasure.py", "clean_files(database) if store.read_now(needs_cleaning) else None", "None"),
    one("databases are their owner's", "web/shared/test_host.py::test_nobody_else_opens_the_database_also_in_a_folder_that_everyone_may_open",
        "store/engine.py", 'event.listen(engine, "do_connect", lambda *_: create_private(file))', "pass"),
    one("also those of earlier versions", "web/shared/test_host.py::test_nobody_else_opens_the_database_also_in_a_folder_that_everyone_may_open",
        "web/shared/host.py", "        make_private(_private_files(path, database))\n", ""),
    one("only the owner opens keys and texts", "cli/test_export.py::test_only_their_owner_can_open_files_with_texts",
        "tables/output.py", "            draft.touch(mode=PRIVATE, exist_ok=False)\n", "            pass\n"),
    one("by itself", "security/test_privacy.py::test_the_server_does_it_by_itself",
        "store/housekeeping.py", "await asyncio.get_running_loop().run_in_executor(None, self._work)", "pass"),
    one("numbers are for whoever has the token", "web/shared/test_monitoring.py::test_numbers_are_about_nobody_and_for_whoever_has_the_token",
        "web/shared/monitoring.py", "return len(token) >= _SHORTEST_TOKEN and", "return True or"),
    one("numbers are about nobody", "web/shared/test_monitoring.py::test_numbers_are_about_nobody_and_for_whoever_has_the_token",
        "web/shared/monitoring.py", "route, seconds = _pattern(app, scope),", 'route, seconds = scope["path"],'),
    # Other users of the machine
    one("fits listen nowhere", "security/test_listening.py::test_fits_listen_nowhere",
        "jobs/runner.py", "            return LocalWorker(folder.unfinished, equal=self._equal)\n",
        "            from distributed import LocalCluster\n\n"
        "            self._cluster = LocalCluster(n_workers=1, threads_per_worker=1)\n"
        "            self._address = self._cluster.scheduler_address\n"),
    Defence("fits' folders are their owner's", "security/test_listening.py::test_other_users_read_nothing_of_a_fit", (
        ("jobs/steps.py", "self._done.parent.mkdir(mode=0o700, exist_ok=True)", "self._done.parent.mkdir(exist_ok=True)"),
        ("jobs/steps.py", "self.unfinished.mkdir(mode=0o700, exist_ok=True)", "self.unfinished.mkdir(exist_ok=True)"),
    )),
    one("a cluster without TLS is warned about", "cli/options/test_learning.py::test_nobody_without_the_key_talks_to_a_cluster",
        "cli/options/learning.py", """if not address.startswith("tls://"):""", "if False:"),
    # Restarts and disks
    one("a folder knows its database", "faults/test_own_database.py::test_a_closed_study_does_not_run_open_on_an_empty_database",
        "store/store.py", "            check_identity(url, home, fingerprint)\n", "            pass\n"),
    one("only what holds the study is taken instead", "faults/test_own_database.py::test_an_empty_or_another_study_never_takes_the_place_of_an_empty_one",
        "store/identity.py", "or not _asked(url, partial(_holds, of=fingerprint))", ""),
    one("and only of one that was never used", "faults/test_own_database.py::test_nothing_takes_the_place_of_a_database_in_which_something_was_done",
        "store/identity.py", "or not _is_unused(home, own)", ""),
    one("so do commands that only look", "faults/test_own_database.py::test_no_command_takes_another_database",
        "store/store.py", "                require_same(connection, url, home)\n", "                pass\n"),
    one("writes that fail are told", "faults/test_full_disk.py::test_a_full_disk_is_told_and_room_is_all_it_needs",
        "store/store.py", "        self.failed.add(error)\n", ""),
    one("readiness writes", "faults/test_full_disk.py::test_readiness_tells_before_anybody_answers",
        "web/shared/monitoring.py", "            await store.check_writing()\n", "            pass\n"),
    one("but not for everyone who asks", "faults/test_full_disk.py::test_whoever_asks_often_writes_no_oftener",
        "store/store.py", "_SECONDS_BETWEEN_CHECKS = 1.0", "_SECONDS_BETWEEN_CHECKS = 0.0"),
    one("strangers make nothing unready", "faults/test_full_disk.py::test_what_a_stranger_sends_makes_nothing_unready",
        "store/failures.py", "if not isinstance(error, (DataError, ProgrammingError)):", "if True:"),
)  # fmt: skip


def without(defence: Defence, source: Path) -> None:
    """Take a defence away in a copy of the code."""
    for name, before, after in defence.changes:
        file = source / "fairwise" / name
        text = file.read_text(encoding="utf-8")
        if text.count(before) != 1:
            raise SystemExit(f"{defence.name}: {before!r} is not in {name} once")
        file.write_text(text.replace(before, after), encoding="utf-8")


def failed(tests: list[str], source: Path, temporary: Path) -> bool:
    """Whether any of the tests fails."""
    command = [sys.executable, "-m", "pytest", "-q", "-x", "-p", "no:cacheprovider", f"--basetemp={temporary}"]
    environment = {**os.environ, "PYTHONPATH": str(source)}
    done = subprocess.run(
        [*command, *(f"tests/{test}" for test in tests)],
        cwd=ROOT, env=environment, capture_output=True, text=True, check=False,
    )  # fmt: skip
    if done.returncode not in (0, 1):
        raise SystemExit(f"{', '.join(tests)}: could not be run\n{done.stdout[-2000:]}")
    return done.returncode == 1


def noticed(defence: Defence, folder: Path) -> bool:
    """Whether the test fails without the defence."""
    source = folder / "src"
    shutil.copytree(ROOT / "src", source, ignore=shutil.ignore_patterns("__pycache__"))
    try:
        without(defence, source)
        return failed([defence.test], source, folder / "tmp")
    finally:
        shutil.rmtree(source)


def main() -> None:
    wanted = [defence for defence in DEFENCES if not sys.argv[1:] or any(word in defence.name for word in sys.argv[1:])]
    missed = []
    with tempfile.TemporaryDirectory() as folder:
        if failed(list(dict.fromkeys(defence.test for defence in wanted)), ROOT / "src", Path(folder, "tmp")):
            raise SystemExit("a test fails although every defence is there: make test says which")
        for defence in wanted:
            seen = noticed(defence, Path(folder))
            print("seen failing" if seen else "NOT NOTICED ", defence.name, f"({defence.test})", flush=True)
            missed += [] if seen else [defence.name]
    print(f"{len(wanted) - len(missed)} of {len(wanted)} defences are missed by their tests when they are gone")
    sys.exit(bool(missed))


if __name__ == "__main__":
    main()
