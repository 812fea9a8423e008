// The end of an attempt's log, followed while the attempt runs.

import {jobPath, listen} from "./api.js";
import {empty, h, show} from "./dom.js";

const TAIL_BYTES = 65_536;
const MOST_CHARACTERS = 2_000_000;

export function renderLog(panel, job) {
  if (!(job.attempt_count > 0)) {
    show(panel, empty("The job has not been started yet."));
    return;
  }
  const text = h("pre", {class: "log", tabindex: 0, role: "log", "aria-label": "Log of the compile"});
  const note = h("p", {class: "faint"});
  const follow = h("input", {type: "checkbox", checked: true, id: "follow"});
  const attempt = h("select", {id: "attempt", onchange: () => start()},
    Array.from({length: job.attempt_count}, (_, index) => h("option", {value: index + 1, selected: index + 1 === job.attempt_count},
      `attempt ${index + 1}`)));
  let stop = () => {};
  function start() {
    stop();
    text.textContent = "";
    note.textContent = "";
    let characters = 0;
    const number = attempt.value;
    stop = listen(`${jobPath(job.id)}/log?attempt=${number}&offset=-${TAIL_BYTES}&follow=1`, {
      log: (piece) => {
        if (characters === 0 && Number(piece.offset) > 0) {
          note.textContent = `The last ${TAIL_BYTES / 1024} KiB. The whole log: qbc logs ${job.id}`;
        }
        text.append(piece.text);
        characters += piece.text.length;
        while (characters > MOST_CHARACTERS && text.childNodes.length > 1) {
          characters -= text.firstChild.length;
          text.firstChild.remove();
        }
        if (follow.checked) {
          text.scrollTop = text.scrollHeight;
        }
      },
      end: () => {
        if (characters === 0) {
          note.textContent = "This attempt wrote nothing.";
        }
      },
    });
  }
  show(panel, h("div", {class: "tools"}, job.attempt_count > 1 ? h("label", {}, h("span", {class: "hidden"}, "Attempt"), attempt) : null,
    h("label", {}, follow, " keep the end in sight")), text, note);
  start();
}
