// Going on with a run that stopped: where it stands is read first, so that nobody resumes what has moved meanwhile.

import { invalid } from './errors.js';
import { integerWithin, isObject, objectInput, optionalText, present, requiredText, runIdOf } from './input.js';

/**
 * @param {{ backend: object, attach: Function, lastReply: (runId: string) => string | undefined }} parts
 *   `lastReply` is what the chat shows of the run.
 */
export function createResume({ backend, attach, lastReply }) {
  async function readCheckpoint(runId) {
    return backend.send('read_agent_run_checkpoint', { runId: runIdOf(runId) });
  }

  async function resume(input) {
    objectInput(input, 'resume', 'runId is required');
    const runId = requiredText(input.runId, 'runId');
    const rounds = input.additionalRounds ?? undefined;
    if (rounds !== undefined && !integerWithin(rounds, 1, 10_000)) {
      throw invalid('additionalRounds must be an integer of at least 1', 'agent.resume_rounds_invalid');
    }
    const guidance = optionalText(input.revisionGuidance);
    if (typeof input.revisionGuidance === 'string' && guidance === undefined) {
      throw invalid('revisionGuidance cannot be empty');
    }
    const checkpoint = input.checkpoint ?? (await readCheckpoint(runId));
    check(checkpoint, runId, guidance);
    const { run } = checkpoint;
    const dto = {
      runId,
      expectedTerminalSeq: checkpoint.terminalSeq ?? undefined,
      chatRef: run?.chatRef,
      stableChatId: run?.stableChatId,
      additionalRounds: rounds,
      hostPresentation: checkpoint.presentation ?? run?.presentation,
      revision: guidance === undefined ? undefined : present({ guidance, previousOutput: lastReply(runId) }),
    };
    const handle = await backend.send('resume_agent_run', present(dto));
    const afterSeq = handle?.afterSeq ?? checkpoint.terminalSeq;
    attach(handle, { ...run, afterSeq });
    return isObject(handle) && handle.afterSeq === undefined && Number.isInteger(afterSeq)
      ? { ...handle, afterSeq }
      : handle;
  }

  return { readCheckpoint, resume };
}

function check(checkpoint, runId, guidance) {
  const mismatch = 'agent.resume_checkpoint_mismatch';
  if (!isObject(checkpoint)) throw invalid('checkpoint must be what readCheckpoint answers', mismatch);
  if (checkpoint.run?.runId !== undefined && checkpoint.run.runId !== runId) {
    throw invalid(`the checkpoint is that of '${checkpoint.run.runId}'`, mismatch);
  }
  const isOver = checkpoint.nextStep === 'finished' && guidance === undefined;
  if (checkpoint.nextStep === 'unavailable' || isOver) {
    const why = checkpoint.blockedReason ?? (isOver ? 'the run is complete' : 'the run cannot be gone on with');
    throw invalid(String(why), 'agent.resume_unavailable', present({ blockedReason: checkpoint.blockedReason }));
  }
}
