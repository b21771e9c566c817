// `window.__TAURITAVERN__`: made where it is missing, and whatever is there is kept.

import { AgentApiError } from './errors.js';
import { isObject } from './input.js';

export const ROOT_NAME = '__TAURITAVERN__';

export function windowNow() {
  return globalThis.window ?? globalThis;
}

/** @returns the root, with an `api` that takes new members */
export function hostRoot(win) {
  const root = isObject(win[ROOT_NAME]) ? win[ROOT_NAME] : {};
  if (win[ROOT_NAME] !== root) win[ROOT_NAME] = root;
  if (!isObject(root.api) || !Object.isExtensible(root.api)) root.api = { ...root.api };
  return root;
}

/** `invoke`, or `safeInvoke`, or that of the transport. */
export function invokeOf(context, name) {
  const given = context?.invoke ?? context?.safeInvoke ?? context?.transport?.invoke;
  if (typeof given === 'function') return given;
  throw new AgentApiError('agent.host_unavailable', `${name} needs invoke, a function (command, args) => Promise`);
}
