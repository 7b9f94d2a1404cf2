"use strict";
// Keeps the page true: asks what is recorded, waits for what comes, and never believes the redirect.
(() => {
  const body = document.body;
  const watch = body.dataset.watch;
  const late = 10_000;
  let failures = 0;

  // The answer to a form has the form's address; the page is where it always was.
  const page = body.dataset.page;
  if (page && location.pathname !== page.split("?")[0]) history.replaceState(null, "", page);

  // How often it was loaded is of use to the server alone.
  const address = new URL(location.href);
  const wasLoaded = address.searchParams.has("n");
  address.searchParams.delete("n");
  if (wasLoaded) history.replaceState(null, "", address);

  // The server draws what there is to do; a load beyond the third shows it at once.
  const load = () => {
    address.searchParams.set("n", "3");
    location.replace(address);
  };

  const copy = async (button) => {
    try {
      await navigator.clipboard.writeText(button.dataset.copy);
    } catch {
      // Without TLS, or without leave: what is selected can be copied all the same.
      getSelection().selectAllChildren(button.previousElementSibling);
      if (!document.execCommand("copy")) return;
    }
    const label = button.textContent;
    button.textContent = button.dataset.copied;
    setTimeout(() => { button.textContent = label; }, 2_000);
  };
  for (const button of document.querySelectorAll("button[data-copy]")) {
    button.hidden = false;
    button.addEventListener("click", () => copy(button));
  }
  // A second press would send the form again, too soon for the server. Until the response arrives, a reload of this page
  // would cancel the request, and the customer would never see the result. The server responds in half of this time.
  const form = document.getElementById("form");
  let isSubmitted = false;
  const submitted = (is) => {
    isSubmitted = is;
    form.querySelector("button").disabled = is;
  };
  form?.addEventListener("submit", () => {
    submitted(true);
    setTimeout(() => submitted(false), 30_000);
  });
  // The page that was left is shown again by the button "back".
  addEventListener("pageshow", (event) => { if (event.persisted) load(); });
  if (!watch) return;

  const show = (found) => {
    body.dataset.state = found.state;
    body.dataset.seq = found.seq;
    document.title = found.title;
    document.getElementById("title").textContent = found.title;
    document.getElementById("text").textContent = found.text;
  };

  // A customer is not left with a spinner: the order is with the shop, the bank may take its time.
  setTimeout(() => {
    if (isSubmitted || body.dataset.state !== "confirming") return;
    if (body.dataset.late === "load") return load();
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
          while (isSubmitted) await sleep(500);
          const isWorse =
            found.state === "confirming" && ["waiting", "action"].includes(body.dataset.state);
          if (found.view !== body.dataset.view) return load();
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
