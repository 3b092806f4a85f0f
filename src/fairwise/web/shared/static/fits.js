// The marker on a frontier, and progress that goes on by itself. Without this file: links, and reloading.
(() => {
  "use strict";

  const range = document.querySelector("[data-marker-range]");
  if (range) {
    const marker = document.querySelector("[data-marker]");
    const panels = [...document.querySelectorAll("[data-point]")];
    const answers = [...document.querySelectorAll("[data-answers]")];
    const places = panels.map((panel) => Number(panel.dataset.x));
    let now = panels.findIndex((panel) => !panel.hidden);
    const choose = (chosen) => {
      now = chosen;
      panels.forEach((panel, place) => (panel.hidden = place !== chosen));
      answers.forEach((part, place) => (part.hidden = place !== chosen));
      const { x, y, words } = panels[chosen].dataset;
      marker.setAttribute("transform", `translate(${x} ${y})`);
      range.value = x; // the knob is below the marker, wherever it was let go
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
    const nearest = (x) => places.reduce((best, place, k) => (Math.abs(place - x) < Math.abs(places[best] - x) ? k : best), 0);
    range.addEventListener("input", () => choose(nearest(Number(range.value))));
    // Keys go from point to point.
    const steps = { ArrowRight: 1, ArrowUp: 1, ArrowLeft: -1, ArrowDown: -1, PageUp: 3, PageDown: -3, Home: -1e9, End: 1e9 };
    range.addEventListener("keydown", (event) => {
      if (!(event.key in steps)) return;
      event.preventDefault();
      choose(Math.max(0, Math.min(panels.length - 1, now + steps[event.key])));
    });
    // The points themselves can be pressed, too.
    document.querySelectorAll("[data-at]").forEach((link) =>
      link.addEventListener("click", (event) => {
        if (event.ctrlKey || event.metaKey || event.shiftKey) return;
        event.preventDefault();
        choose(Number(link.dataset.at));
      }),
    );
    range.setAttribute("aria-valuetext", panels[now].dataset.words);
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
