/** What the caller asked for makes no sense; the message says why and what to do. */
export class Bad extends Error {}
