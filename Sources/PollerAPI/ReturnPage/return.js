"use strict";
// Keeps the page true: asks what is recorded, waits for what comes, and never believes the redirect.
(() => {
  const body = document.body;
  const watch = body.dataset.watch;
  if (!watch) return;
  const late = 10_000;
  let failures = 0;

  const show = (found) => {
    body.dataset.state = found.state;
    body.dataset.seq = found.seq;
    document.title = found.title;
    document.getElementById("title").textContent = found.title;
    document.getElementById("text").textContent = found.text;
  };

  // A customer is not left with a spinner: the order is with the shop, the bank may take its time.
  setTimeout(() => {
    if (body.dataset.state !== "confirming") return;
    show({ state: "waiting", seq: body.dataset.seq, title: body.dataset.lateTitle,
      text: body.dataset.lateText });
  }, late);

  const sleep = (ms) => new Promise((done) => setTimeout(done, ms));

  const follow = async () => {
    for (;;) {
      try {
        const separator = watch.includes("?") ? "&" : "?";
        const answer = await fetch(
          `${watch}${separator}after_seq=${body.dataset.seq}&wait=25s`,
          { credentials: "same-origin", cache: "no-store", redirect: "error" },
        );
        if (answer.status === 200) {
          const found = await answer.json();
          const isWorse = found.state === "confirming" && body.dataset.state === "waiting";
          if (isWorse) body.dataset.seq = found.seq; else show(found);
          failures = 0;
          if (found.done) return;
        } else if (answer.status === 304) {
          failures = 0;
        } else if (answer.status === 404) {
          // The visit has ended after half an hour: what is shown stays, nothing new comes.
          return;
        } else {
          throw new Error(String(answer.status));
        }
      } catch {
        // A deploy, a tunnel, a lift: all pages must not come back in the same second.
        failures = Math.min(failures + 1, 5);
        await sleep(Math.random() * 500 * 2 ** failures);
      }
    }
  };
  follow();
})();
