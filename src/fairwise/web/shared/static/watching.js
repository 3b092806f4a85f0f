// Renews the numbers of the overview, and copies addresses. Without this file: reload, or mark and copy.
(() => {
  "use strict";
  const SECONDS = 5;
  const live = document.querySelector("[data-live]");
  const note = document.querySelector("[data-live-note]");

  const renew = async () => {
    if (document.hidden) return true;
    try {
      const reply = await fetch(live.dataset.live, { credentials: "same-origin" });
      if (reply.redirected || reply.status === 404) return false; // logged out, or the study is gone
      if (!reply.ok) return true; // for the time being
      const page = new DOMParser().parseFromString(await reply.text(), "text/html");
      // Whoever is on a link by the keyboard stays there.
      const focused = live.contains(document.activeElement) ? document.activeElement.getAttribute("href") : null;
      live.replaceChildren(...page.body.childNodes);
      if (focused) [...live.querySelectorAll("a")].find((link) => link.getAttribute("href") === focused)?.focus();
    } catch {
      // The network may come back.
    }
    return true;
  };
  const again = () =>
    setTimeout(async () => {
      if (await renew()) again();
      else note.textContent = note.dataset.stopped;
    }, SECONDS * 1000);
  if (live) again();

  document.addEventListener("click", async (event) => {
    const button = event.target.closest("[data-copy]");
    if (!button) return;
    await navigator.clipboard.writeText(button.dataset.copy);
    button.textContent = button.dataset.copied;
  });
})();
