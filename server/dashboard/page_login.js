// Asks for a token, when the server wants to know who looks.

import {signIn} from "./api.js";
import {card, h, show} from "./dom.js";

export function render(place, onSignedIn) {
  const problem = h("p", {role: "alert", class: "problem", id: "token-problem"});
  // Without a name: should this form ever be sent without the script, no token gets into the address.
  const field = h("input", {type: "password", id: "token", required: true, autocomplete: "current-password", spellcheck: "false",
    "aria-describedby": "token-help token-problem"});
  const button = h("button", {type: "submit"}, "Sign in");

  async function submit(event) {
    event.preventDefault();
    const token = field.value.trim();
    if (!/^[!-~]+$/.test(token)) {
      show(problem, "That is not a token: one has no spaces and plain letters only.");
      return;
    }
    button.disabled = true;
    show(problem);
    try {
      onSignedIn(await signIn(token));
    } catch (error) {
      button.disabled = false;
      show(problem, error.status === 401 ? "The server does not know this token, or it has expired or was revoked."
        : `That did not work: ${error.message}`);
      field.select();
    }
  }

  show(place, h("h1", {}, "Sign in"), card(null, h("form", {class: "form login", onsubmit: submit},
    h("label", {class: "field", for: "token"}, "Token", field),
    h("p", {class: "faint", id: "token-help"}, "Begins with qbt_. Who runs the server makes one with: qbc-server token create"),
    problem, button)));
  field.focus();
}
