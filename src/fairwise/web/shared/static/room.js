// Only on pages of a room that talks, which alone may ask this server.
(() => {
  "use strict";
  // In a room that talks: shows the page anew when the room has gone on. Without this file waiting pages are loaded
  // every few seconds. Only what has changed is exchanged, so that nothing flickers.
  const ROOM_SECONDS = 3;
  const follow = (room) => {
    let tag = room.dataset.tag;
    const ask = (address, headers) => fetch(address, { credentials: "same-origin", cache: "no-store", headers });
    const look = async () => {
      if (document.querySelector("form[data-sent]")) return; // an answer is on its way, and its page comes
      try {
        const reply = await ask(room.dataset.turn, { "If-None-Match": `"${tag}"` });
        if (reply.status === 304 || !reply.ok) return;
        const now = await reply.text();
        if (now === tag) return;
        const page = await ask(location.pathname, {});
        if (!page.ok || page.redirected) {
          location.reload();
          return;
        }
        const fresh = new DOMParser().parseFromString(await page.text(), "text/html");
        document.title = fresh.title;
        const main = document.getElementById("main");
        const held = main.contains(document.activeElement);
        main.replaceChildren(...fresh.getElementById("main").childNodes);
        if (held) main.focus(); // whoever goes by keyboard stays where they were
        room.textContent = main.querySelector("h1").textContent; // said aloud, as it is a status
        tag = now;
      } catch {
        // The network may come back.
      }
    };
    // Not all phones at one moment.
    setTimeout(() => setInterval(look, ROOM_SECONDS * 1000), Math.random() * ROOM_SECONDS * 1000);
  };
  addEventListener("DOMContentLoaded", () => {
    const room = document.querySelector("[data-turn]");
    if (room) follow(room);
  });
})();
