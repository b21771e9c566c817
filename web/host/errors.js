// What goes wrong, in one form: an Error with a dotted `code`, `details`, and the code in its message.
// Callers of every age match either `error.code` or `error.message.includes('agent.…')`; both work on all of them.

const CODE = /^[a-z0-9_-]+(?:\.[a-z0-9_-]+)+$/;

// What the backend of a tavern puts before its message, and the code that stands for it where the message has none.
const PREFIXES = [
  ['Bad request: ', 'agent.validation_error'],
  ['Not found: ', 'agent.not_found'],
  ['Unauthorized: ', 'agent.unauthorized'],
  ['Internal server error: ', 'agent.internal_error'],
  ['Too many requests: ', 'agent.rate_limited'],
];

const BY_STATUS = new Map([
  [400, 'agent.validation_error'],
  [401, 'agent.unauthorized'],
  [403, 'agent.permission_denied'],
  [404, 'agent.not_found'],
  [409, 'agent.validation_error'],
  [422, 'agent.validation_error'],
  [429, 'agent.rate_limited'],
  [502, 'agent.transient'],
  [503, 'agent.transient'],
  [504, 'agent.transient'],
]);

export const FALLBACK_CODE = 'agent.internal_error';
export const VALIDATION_CODE = 'agent.validation_error';

export class AgentApiError extends Error {
  /**
   * @param {string} code
   * @param {string} detail what happened, without the code
   * @param {{ details?: object, cause?: unknown, status?: number, message?: string }} [more]
   */
  constructor(code, detail, { details = {}, cause, status, message } = {}) {
    super(withNames(message ?? `${code}: ${detail}`, code, details), cause === undefined ? undefined : { cause });
    this.name = 'AgentApiError';
    this.code = code;
    this.details = details;
    if (status !== undefined) this.status = status;
  }
}

/** The message names the code, and the finer reason beside it, so that both vocabularies can be searched for. */
function withNames(message, code, details) {
  let named = message.includes(code) ? message : `${code}: ${message}`;
  const reason = details?.reason;
  if (isCode(reason) && !named.includes(reason)) named += ` (${reason})`;
  return named;
}

export function isCode(value) {
  return typeof value === 'string' && CODE.test(value);
}

/** Something that the caller handed in cannot be used. */
export function invalid(detail, code = VALIDATION_CODE, details = {}) {
  return new AgentApiError(code, detail, { details });
}

/** Whatever a transport rejects with: problem documents, prefixed strings, Errors, anything else. */
export function toAgentError(thrown, fallback = FALLBACK_CODE) {
  if (thrown instanceof AgentApiError) return thrown;
  if (typeof thrown === 'string') return fromMessage(thrown, { cause: thrown, fallback });
  if (thrown === null || typeof thrown !== 'object') {
    return new AgentApiError(fallback, String(thrown ?? 'the call failed without saying why'), { cause: thrown });
  }
  if (thrown instanceof Error || typeof thrown.message === 'string') {
    return fromMessage(String(thrown.message ?? ''), {
      cause: thrown,
      code: isCode(thrown.code) ? thrown.code : undefined,
      details: detailsOf(thrown),
      status: numberOf(thrown.status),
      fallback,
    });
  }
  if (isProblem(thrown)) return fromProblem(thrown);
  if (thrown.error !== undefined) return toAgentError(thrown.error, fallback);
  return fromVariant(thrown) ?? new AgentApiError(fallback, jsonOf(thrown), { cause: thrown });
}

function isProblem(value) {
  return isCode(value.code) || typeof value.detail === 'string' || typeof value.title === 'string';
}

/** RFC 9457, with `code` and `details` beside the members that it knows. */
export function fromProblem(problem, status) {
  const at = numberOf(problem.status) ?? status;
  const text = String(problem.detail ?? problem.title ?? 'the request was refused');
  return fromMessage(text, {
    cause: problem,
    code: isCode(problem.code) ? problem.code : undefined,
    details: detailsOf(problem),
    status: at,
    fallback: BY_STATUS.get(at) ?? FALLBACK_CODE,
  });
}

function fromMessage(message, { cause, code, details = {}, status, fallback = FALLBACK_CODE }) {
  const text = message.trim() === '' ? 'the call failed without saying why' : message;
  const prefix = PREFIXES.find(([start]) => text.startsWith(start));
  const bare = prefix ? text.slice(prefix[0].length) : text;
  const told = bare.split(':', 1)[0].trim();
  const known = code ?? (isCode(told) ? told : undefined) ?? prefix?.[1] ?? fallback;
  return new AgentApiError(known, bare, { details, cause, status, message: text });
}

/** `{ BadRequest: 'agent.x: …' }`: an enum of the backend that was serialised as it is. */
function fromVariant(value) {
  const entries = Object.entries(value);
  if (entries.length !== 1 || typeof entries[0][1] !== 'string') return undefined;
  const [name, text] = entries[0];
  const words = name.replace(/([a-z])([A-Z])/g, '$1 $2').toLowerCase();
  const prefix = PREFIXES.find(([start]) => start.toLowerCase().startsWith(words));
  return fromMessage(prefix ? prefix[0] + text : text, { cause: value });
}

function detailsOf(value) {
  return value.details !== null && typeof value.details === 'object' ? value.details : {};
}

function numberOf(value) {
  return typeof value === 'number' && Number.isFinite(value) ? value : undefined;
}

function jsonOf(value) {
  try {
    return JSON.stringify(value);
  } catch {
    return String(value);
  }
}
