// Values as people read them.

/** 64-bit integers come as text. */
export const number = (value) => Number(value ?? 0);

export function bytes(value) {
  let size = number(value);
  const units = ["B", "KiB", "MiB", "GiB", "TiB"];
  let unit = 0;
  while (size >= 1024 && unit + 1 < units.length) {
    size /= 1024;
    unit += 1;
  }
  return `${unit === 0 ? size : size.toFixed(size < 10 ? 2 : 1)} ${units[unit]}`;
}

export function count(value) {
  return number(value).toLocaleString("en");
}

/** Seconds as "340 ms", "4.2 s", "3 min 10 s", "2 h 5 min". */
export function seconds(value) {
  if (value === undefined || value === null || Number.isNaN(value)) {
    return "";
  }
  if (value < 1) {
    return `${Math.round(value * 1000)} ms`;
  }
  if (value < 60) {
    return `${value.toFixed(1)} s`;
  }
  const whole = Math.round(value);
  if (whole < 3600) {
    return `${Math.floor(whole / 60)} min ${whole % 60} s`;
  }
  return `${Math.floor(whole / 3600)} h ${Math.floor(whole % 3600 / 60)} min`;
}

/** "1.5s", as protobuf writes durations, in seconds. */
export function duration(text) {
  return text === undefined ? undefined : Number.parseFloat(text);
}

// Made once: each takes longer than what it then writes.
const TIME = new Intl.DateTimeFormat(undefined, {dateStyle: "medium", timeStyle: "medium"});

export function time(text) {
  return text === undefined ? "" : TIME.format(new Date(text));
}

export function ago(text) {
  const passed = (Date.now() - Date.parse(text)) / 1000;
  if (passed < 5) {
    return "just now";
  }
  if (passed < 90) {
    return `${Math.round(passed)} s ago`;
  }
  if (passed < 5400) {
    return `${Math.round(passed / 60)} min ago`;
  }
  return passed < 129600 ? `${Math.round(passed / 3600)} h ago` : `${Math.round(passed / 86400)} days ago`;
}

export function percent(share, digits = 1) {
  return typeof share === "number" ? `${(share * 100).toFixed(digits)} %` : "";
}

export function decibels(value) {
  return typeof value === "number" ? `${value.toFixed(2)} dB` : "";
}

export function between(from, to) {
  return from === undefined ? undefined : ((to === undefined ? Date.now() : Date.parse(to)) - Date.parse(from)) / 1000;
}
