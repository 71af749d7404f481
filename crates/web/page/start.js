// Start of the page: the module, the worker, the views.

function show(view) {
  settings.view = ["flow", "queue", "capture"].includes(view) ? view : "flow";
  for (const name of ["flow", "queue", "capture"]) {
    $(`#view-${name}`).hidden = name !== settings.view;
    $(`[data-view="${name}"]`).setAttribute("aria-pressed", String(name === settings.view));
  }
  $("#about").hidden = settings.view !== "flow";
  writeFragment();
  if (settings.view === "flow" && client) {
    measureWidth();
    redraw();
  }
  if (settings.view === "queue" && worker && !rows) runQueue();
  if (settings.view === "capture") drawConnection();
}

function fillSelects() {
  for (const name of ["a", "b", "qa", "qb"])
    $(`select[name=${name}]`).innerHTML = Object.entries(SENDERS).map(([key, each]) => `<option value="${key}">${escaped(each.name)}</option>`).join("");
  for (const name of ["ra", "rb", "qra", "qrb"])
    $(`select[name=${name}]`).innerHTML = Object.entries(REMEDIES).map(([key, [text]]) => `<option value="${key}">${escaped(text)}</option>`).join("");
}

/** Hides what a scenario of a file decides. */
function showGiven() {
  $("#controls").hidden = $("#queue-controls").hidden = Boolean(given);
  $("#given").hidden = $("#queue-given").hidden = !given;
  $("#sides").classList.toggle("single", Boolean(given));
  $(".quick [data-drop=syn]").closest(".quick").hidden = Boolean(given);
  if (!given) return;
  const text = `Scenario ${given.scenario.name}${given.name ? ` (${given.name})` : ""}, seed ${given.seed ?? 1}.`;
  $("#given p").textContent = $("#queue-given").textContent = text;
  const names = given.scenario.workload.map((each) => each.name);
  $("select[name=workload]").innerHTML = names.map((name) => `<option>${escaped(name)}</option>`).join("");
  if (!names.includes(settings.workload)) settings.workload = names[0];
}

function startWorker(compiled) {
  const source = new Blob([$("#worker").textContent], { type: "text/javascript" });
  worker = new Worker(URL.createObjectURL(source));
  worker.addEventListener("message", ({ data }) => {
    if (data.kind === "rows") takeRows(data);
    else if (data.kind === "analysed") takeAnalysis(data);
    else if (data.kind === "connection") takeConnection(data.found);
    else if (data.kind === "problem") {
      problem(data);
      for (const name of ["#capture-progress", "#queue-progress"]) $(name).textContent = "";
    }
  });
  worker.postMessage({ module: compiled });
}

async function start() {
  document.documentElement.classList.toggle("embedded", isEmbedded);
  await readFragment();
  if (given && Number.isSafeInteger(given.flow)) settings.flow = String(given.flow);
  fillSelects();
  showGiven();
  showSettings();
  const compiled = await compiledModule();
  client = await clientOf(compiled);
  startWorker(compiled);
  listenToLadders();
  listenToCaptures();
  for (const button of document.querySelectorAll("[data-view]")) button.addEventListener("click", () => show(button.dataset.view));
  for (const button of document.querySelectorAll("[data-drop]")) button.addEventListener("click", () => dropOnBoth(button.dataset.drop));
  for (const form of document.querySelectorAll("form")) form.addEventListener("submit", (event) => event.preventDefault());
  $("#queue-run").addEventListener("click", runQueue);
  $('[data-save="queue-toml"]').addEventListener("click", () => save("bottleneck.toml", client.ask({ do: "toml", scenario: queueScenario() }).text, "text/plain"));
  for (const input of inputs())
    input.addEventListener("input", () => {
      if (!takeSetting(input)) return;
      writeFragment();
      lastMoment = null;
      if (input.closest("#view-flow")) redraw();
      else if (input.closest("form")) runQueue();
    });
  window.addEventListener("hashchange", async () => {
    await readFragment();
    showGiven();
    showSettings();
    show(settings.view);
  });
  window.addEventListener("pagehide", () => addressTimer && writeFragment());
  let resized = 0;
  window.addEventListener("resize", () => {
    cancelAnimationFrame(resized);
    resized = requestAnimationFrame(() => (settings.view === "flow" ? (measureWidth(), draw()) : settings.view === "queue" ? rows?.last && drawQueue() : drawConnection()));
  });
  // A page without settings begins with a loss that has no segments after it.
  if (!given && !location.hash) dropOnBoth("last");
  show(settings.view);
  document.documentElement.dataset.readyMs = performance.now().toFixed(0);
  if (!given && settings.view === "flow") warmUp();
}

start().catch((found) => {
  problem(found);
  throw found;
});
