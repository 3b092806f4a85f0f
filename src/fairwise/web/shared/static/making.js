// Conveniences only: making and editing a study works without this file.
(() => {
  "use strict";
  const form = document.querySelector("form[data-preview]");
  const frame = document.getElementById("preview");

  // The preview follows what is chosen. Only the body of the framed page is changed, so that it stays where it was
  // scrolled to, and going back in the browser leads to the page before.
  let waiting, newest = 0;
  const show = (html) => {
    const shown = new DOMParser().parseFromString(html, "text/html");
    const page = frame.contentDocument;
    page.documentElement.lang = shown.documentElement.lang;
    page.body.replaceWith(page.importNode(shown.body, true));
  };
  const preview = async (submitter) => {
    const mine = ++newest;
    try {
      const answer = await fetch(form.dataset.preview, { method: "POST", body: new FormData(form, submitter) });
      const html = await answer.text();
      if (answer.ok && mine === newest) show(html);
    } catch {
      // the next change tries again
    }
  };
  const soon = () => {
    clearTimeout(waiting);
    waiting = setTimeout(() => preview(), 250);
  };

  // What is the id or the outcome is never shown.
  const hide = () => {
    const never = ["id", "outcome"].map((name) => form.elements[name]?.value);
    document.querySelectorAll(".column").forEach((column, number) => {
      const box = column.querySelector("input[type=checkbox]");
      const is = never.includes(String(number));
      column.querySelector(".never").hidden = !is;
      box.disabled = is;
      if (is) box.checked = false;
    });
  };

  // What is decided: suggested from the outcome that was chosen, as long as nobody has typed anything.
  const offer = (fields, texts) => {
    if (fields.some((input) => input.value !== (input.dataset.offered ?? ""))) return;
    for (const input of fields) input.value = input.dataset.offered = texts[input.name] ?? "";
  };
  const suggest = () => {
    const { labels = "[]", ends = "[]" } = form.elements.outcome.selectedOptions[0]?.dataset ?? {};
    const [found, range] = [JSON.parse(labels), JSON.parse(ends)];
    const decisions = found.flatMap((label, row) => [
      [`decision-label-${row}`, label],
      [`decision-words-${row}`, label.replaceAll("_", " ")],
    ]);
    offer([...document.querySelectorAll(".of-tiers input")], Object.fromEntries(decisions));
    const amount = { "amount-least": range[0], "amount-most": range[1] };
    offer([...document.querySelectorAll(".of-amount input:not([type=radio])")], amount);
    form.elements.kind.value = found.length > 2 ? "tiers" : range.length ? "amount" : "yes-no";
  };
  // One empty line more than there are decisions.
  const lines = () => {
    const rows = [...document.querySelectorAll(".decision")];
    const last = rows.findLastIndex((row) => [...row.querySelectorAll("input")].some((input) => input.value));
    rows.forEach((row, number) => (row.hidden = number > Math.max(last + 1, 2)));
  };

  if (form && frame) {
    form.elements.outcome?.addEventListener("change", suggest);
    const changed = () => {
      if (form.elements.outcome) {
        hide();
        lines();
      }
      soon();
    };
    form.addEventListener("input", changed);
    form.addEventListener("change", changed);
    document.querySelector("select[form]")?.addEventListener("change", changed);
    document.addEventListener("click", (event) => {
      const button = event.target.closest("button[formtarget=preview]");
      if (!button || !frame.contentDocument?.body) return;
      event.preventDefault();
      preview(button);
    });
    if (form.elements.outcome) {
      hide();
      lines();
    }
    // After a problem, or when one comes back, fields are filled: show what they say.
    frame.addEventListener("load", () => preview(), { once: true });
    if (frame.contentDocument?.readyState === "complete") preview();
  }

  const file = document.querySelector("input[type=file][data-most]");
  file?.addEventListener("change", () => {
    const large = file.files[0]?.size > Number(file.dataset.most);
    document.querySelector("[data-too-large]").hidden = !large;
    file.setCustomValidity(large ? document.querySelector("[data-too-large]").textContent : "");
  });

  // Reading a large file takes some seconds: say so, and send it once.
  document.addEventListener("submit", (event) => {
    const button = event.submitter;
    if (!button?.dataset.busy || event.defaultPrevented) return;
    if (button.getAttribute("aria-disabled")) {
      event.preventDefault();
      return;
    }
    button.setAttribute("aria-disabled", "true");
    button.textContent = button.dataset.busy;
  });
})();
