// Reading what callers hand in: texts are trimmed, absent keys stay absent, what cannot be used is said in one sentence.

import { invalid, VALIDATION_CODE } from './errors.js';

export function isObject(value) {
  return value !== null && typeof value === 'object' && !Array.isArray(value);
}

/** @returns the object, or throws `Agent <method> input must be an object`. */
export function objectInput(input, method, also = '') {
  if (!isObject(input)) throw invalid(`Agent ${method} input must be an object${also && `: ${also}`}`);
  return input;
}

/** Only texts are texts. */
export function trimmed(value) {
  return typeof value === 'string' ? value.trim() : '';
}

export function requiredText(value, name, code = VALIDATION_CODE) {
  const text = trimmed(value);
  if (text === '') throw invalid(`${name} is required`, code);
  return text;
}

/** Trimmed; absent where there is nothing. */
export function optionalText(value) {
  const text = trimmed(value);
  return text === '' ? undefined : text;
}

export function integerWithin(value, least, most) {
  return Number.isInteger(value) && value >= least && value <= most;
}

/** `{ a: 1, b: undefined }` → `{ a: 1 }`. */
export function present(fields) {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined));
}

/** Trimmed, each once, without blanks, in the order given. */
export function uniqueTexts(values) {
  return [...new Set(values.map(trimmed))].filter((text) => text !== '');
}

/** A run id by itself, or in an object. */
export function runIdOf(input) {
  return requiredText(isObject(input) ? input.runId : input, 'runId');
}

/** Over arrays and scalars the right side wins; objects are merged. */
export function deepMerge(left, right) {
  if (right === undefined) return left;
  if (!isObject(left) || !isObject(right)) return right;
  const merged = { ...left };
  for (const [key, value] of Object.entries(right)) {
    if (key === '__proto__') continue;
    merged[key] = Object.hasOwn(left, key) ? deepMerge(left[key], value) : value;
  }
  return merged;
}
