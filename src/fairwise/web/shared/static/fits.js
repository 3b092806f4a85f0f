// The marker on a frontier, and progress that goes on by itself. Without this file: links, and reloading.
(() => {
  "use strict";

  const range = document.querySelector("[data-marker-range]");
  if (range) {
    const marker = document.querySelector("[data-marker]");
    const panels = [...document.querySelectorAll("[data-point]")];
    const choose = (chosen) => {
      panels.forEach((panel, place) => (panel.hidden = place !== chosen));
      const { x, y, words } = panels[chosen].dataset;
      marker.setAttribute("transform", `translate(${x} ${y})`);
      range.value = String(chosen);
      range.setAttribute("aria-valuetext", words);
      document.querySelectorAll("[data-at]").forEach((link) => {
        if (link.dataset.at === String(chosen)) link.setAttribute("aria-current", "true");
        else link.removeAttribute("aria-current");
      });
      const here = new URL(location.href);
      here.searchParams.set("at", String(chosen));
      here.searchParams.delete("all");
      history.replaceState(null, "", here);
    };
    range.addEventListener("input", () => choose(Number(range.value)));
    // The points themselves can be pressed, too.
    document.querySelectorAll("[data-at]").forEach((link) =>
      link.addEventListener("click", (event) => {
        if (event.ctrlKey || event.metaKey || event.shiftKey) return;
        event.preventDefault();
        choose(Number(link.dataset.at));
      }),
    );
    range.setAttribute("aria-valuetext", panels[Number(range.value)].dataset.words);
  }

  // Ask for this page again and put what is live in its place; when it is no longer live, show all of it.
  const look = async () => {
    const live = document.querySelector("[data-live]");
    if (!live) return;
    if (!document.hidden) {
      try {
        const reply = await fetch(location.href, { credentials: "same-origin" });
        const page = new DOMParser().parseFromString(await reply.text(), "text/html");
        const now = page.querySelector("[data-live]");
        if (reply.ok && !now) {
          const here = new URL(location.href);
          here.searchParams.delete("done"); // that it was put in the queue is no news any more
          history.replaceState(null, "", here);
          location.reload();
          return;
        }
        if (now) live.replaceChildren(...now.childNodes);
      } catch {
        // the server is away for a moment
      }
    }
    setTimeout(look, 2000);
  };
  setTimeout(look, 2000);
})();
