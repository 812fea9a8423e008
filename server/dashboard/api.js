// The server's read API.

export class ApiError extends Error {
  constructor(status, message) {
    super(message);
    this.status = status;
  }
}

async function fetchChecked(path, options) {
  const begun = options === undefined ? globalThis.firstAnswers?.get(path) : undefined;  // by first.js
  globalThis.firstAnswers?.delete(path);
  const response = await (begun ?? fetch(path, {credentials: "same-origin", ...options}));
  if (!response.ok) {
    let message = `the server answered ${response.status}`;
    try {
      message = (await response.json()).error.message;
    } catch {
      // not one of the API's own errors
    }
    if (response.status === 401 && options === undefined) {
      document.dispatchEvent(new Event("signedout"));
    }
    throw new ApiError(response.status, message);
  }
  return response;
}

export async function get(path) {
  return (await fetchChecked(`/api/v1${path}`)).json();
}

/** Signs in: the token goes to the server in a header, and a cookie that no script can read comes back. Gives the tenant. */
export async function signIn(token) {
  const answer = await fetchChecked("/api/v1/session", {method: "POST", headers: {Authorization: `Bearer ${token}`}});
  return (await answer.json()).tenant;
}

export async function signOut() {
  await fetchChecked("/api/v1/session", {method: "DELETE"});
}

export const jobPath = (id) => `/jobs/${encodeURIComponent(id)}`;

export function artifactUrl(job, name) {
  return `/api/v1${jobPath(job.id)}/artifacts/${encodeURIComponent(name)}`;
}

/** A JSON artifact of a job, or undefined when the job has none of that name. */
export async function artifact(job, name) {
  return (job.artifacts ?? []).some((one) => one.name === name) ? get(`${jobPath(job.id)}/artifacts/${name}`)
    : undefined;
}

/**
 * Server-sent events. `on`: {event name: function of the parsed data}. After "end" nothing is asked for
 * again; after anything else the browser asks for what follows the last event it has. Returns a function
 * that ends it.
 */
export function listen(path, on, onState) {
  const source = new EventSource(`/api/v1${path}`);
  for (const [name, act] of Object.entries(on)) {
    source.addEventListener(name, (event) => act(JSON.parse(event.data), event.lastEventId));
  }
  source.addEventListener("end", () => source.close());
  source.addEventListener("open", () => onState?.(true));
  source.addEventListener("error", () => {
    onState?.(false);
    if (source.readyState === EventSource.CLOSED) {
      // Refused, and a browser does not say why: signed out? Or the page is being left: then this never runs.
      setTimeout(() => get("/session").catch(() => {}), 500);
    }
  });
  // A page that is left for another one takes no further place at the server.
  addEventListener("pagehide", () => source.close(), {once: true});
  return () => source.close();
}
