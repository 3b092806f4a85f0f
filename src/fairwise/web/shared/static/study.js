// Conveniences only: every page works without this file.
(() => {
  "use strict";
  const root = document.documentElement;
  const KEYS = "fairwise-number-keys";

  // The number keys, which can be switched off (they must be: speech input may "type" digits).
  const remembered = () => {
    try {
      return localStorage.getItem(KEYS);
    } catch {
      return null; // storage may be forbidden
    }
  };
  const remember = (value) => {
    try {
      localStorage.setItem(KEYS, value);
    } catch {
      // then until the next page
    }
  };
  root.classList.add("script");
  root.classList.toggle("keys", remembered() !== "off");

  document.addEventListener("keydown", (event) => {
    if (!root.classList.contains("keys") || event.repeat || event.isComposing) return;
    if (event.ctrlKey || event.metaKey || event.altKey || event.shiftKey) return;
    if (event.target.closest("input, textarea, select, [contenteditable]")) return;
    if (!/^[1-9]$/.test(event.key)) return;
    const button = document.querySelector(`button[name="answer"][aria-keyshortcuts="${event.key}"]`);
    if (!button) return;
    event.preventDefault();
    button.focus();
    button.form.requestSubmit(button);
  });

  // A form is sent once; after a while, or when one comes back to the page, it may be sent again.
  const say = (form, words) => {
    const status = document.querySelector("[data-saving]");
    if (status && form.hasAttribute("data-once")) status.textContent = words ?? status.dataset.saving;
  };
  const release = (form) => {
    delete form.dataset.sent;
    say(form, "");
  };
  document.addEventListener("submit", (event) => {
    const form = event.target;
    if (form.dataset.sent) {
      event.preventDefault();
      return;
    }
    form.dataset.sent = "yes";
    setTimeout(() => say(form), 400);
    setTimeout(() => release(form), 10_000);
  });
  addEventListener("pageshow", (event) => {
    if (!event.persisted) return;
    // A form counts once, so that another answer needs another form.
    if (document.querySelector("form[data-once][data-sent]")) location.reload();
    document.querySelectorAll("form").forEach(release);
  });

  // The second half of a double click may fall on the next pair, which nobody has looked at yet.
  document.addEventListener("click", (event) => {
    if (event.detail > 1 && event.target.closest('button[name="answer"]')) event.preventDefault();
  });

  // What was written and not sent is not lost without asking.
  let written = false;
  document.addEventListener("input", (event) => {
    written ||= event.target.matches("textarea");
  });
  addEventListener("beforeunload", (event) => {
    if (written && !document.querySelector("form[data-sent]")) event.preventDefault();
  });

  document.addEventListener("click", async (event) => {
    if (event.target.closest("[data-keys]")) {
      remember(root.classList.toggle("keys") ? "on" : "off");
      return;
    }
    const button = event.target.closest("[data-copy]");
    if (!button) return;
    const source = document.getElementById(button.dataset.copy);
    try {
      await navigator.clipboard.writeText(source.textContent);
    } catch {
      getSelection().selectAllChildren(source); // no clipboard without https: select, and copy the old way
      document.execCommand("copy");
    }
    const status = button.parentElement.querySelector("[data-copied]");
    status.textContent = status.dataset.copied;
  });

  // Times as they are where the reader is; without this file they are in universal time, and say so.
  addEventListener("DOMContentLoaded", () => {
    for (const time of document.querySelectorAll("time[data-local]")) {
      const language = root.lang === "en" ? "en-GB" : root.lang;
      const parts = { day: "numeric", month: "long", year: "numeric", hour: "2-digit", minute: "2-digit", timeZoneName: "short" };
      time.textContent = new Intl.DateTimeFormat(language, parts).format(new Date(time.dateTime));
    }
  });
})();
