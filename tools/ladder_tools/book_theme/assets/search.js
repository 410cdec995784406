// The search's index is a script, because a page opened from a folder may not fetch JSON. It is
// loaded when the search gets the focus. It also brings the text of the search's worker, because
// such a page may start a worker only from a text that it has.
const searchIndex = new URL("../search/search_index.js", document.currentScript.src);
let foundWorker;
// A page's entry comes before those of its sections and has their text, which the file need not hold
// twice.
function withTextOfPages(index) {
  const pages = new Map();
  for (const entry of index.docs) {
    const [page, section] = entry.location.split("#");
    if (section === undefined) pages.set(page, entry);
    else pages.get(page).text += ` ${entry.text}`;
  }
  return index;
}
const workerText = new Promise((resolve) => { foundWorker = resolve; });
var __search = {
  index: new Promise((resolve) => {
    window.__book_index = (index, worker) => { foundWorker(worker); resolve(withTextOfPages(index)); };
    addEventListener("focusin", function load(event) {
      if (event.target.name !== "query") return;
      removeEventListener("focusin", load);
      const script = document.createElement("script");
      script.src = searchIndex;
      document.head.append(script);
    });
  }),
};
if (location.protocol === "file:") {
  const FromAddress = window.Worker;
  window.Worker = class extends EventTarget {
    constructor() {
      super();
      this.started = workerText.then((text) => {
        const worker = new FromAddress(URL.createObjectURL(new Blob([text], {type: "text/javascript"})));
        worker.onmessage = (event) => this.dispatchEvent(new MessageEvent("message", {data: event.data}));
        return worker;
      });
    }
    postMessage(data) { this.started.then((worker) => worker.postMessage(data)); }
  };
}
