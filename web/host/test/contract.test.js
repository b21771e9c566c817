// Each method with what it sends, and with what it refuses.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { CHAT, install } from './support.js';

const GROUP = { kind: 'group', chatId: 'g1' };
const CURSOR = { runId: ' run_9 ', createdAt: '2026-06-24T12:00:00+02:00' };

// [what is said, how it is called, command, dto (undefined: no args at all)]
const SENT = [
  ['cancel', (a) => a.cancel(' run_1 '), 'cancel_agent_run', { runId: 'run_1' }],
  ['guidance', (a) => a.submitGuidance({ runId: ' r ', text: ' go ', clientGuidanceId: ' c ' }), 'submit_agent_run_guidance', { runId: 'r', text: 'go', clientGuidanceId: 'c' }],
  ['guidance, short', (a) => a.submitGuidance({ runId: 'r', text: 'go' }), 'submit_agent_run_guidance', { runId: 'r', text: 'go' }],
  ['runs, all', (a) => a.listRuns(), 'list_agent_runs', {}],
  ['runs, empty', (a) => a.listRuns({}), 'list_agent_runs', {}],
  ['runs, filtered', (a) => a.listRuns({ chatRef: { ...CHAT, fileName: 'evening.jsonl' }, stableChatId: ' s ', statuses: ['failed', 'completed', 'failed'], before: CURSOR, limit: 200 }), 'list_agent_runs', { chatRef: CHAT, stableChatId: 's', statuses: ['failed', 'completed'], before: { createdAt: '2026-06-24T10:00:00.000Z', runId: 'run_9' }, limit: 200 }],
  ['runs, a Date', (a) => a.listRuns({ before: { runId: 'r', createdAt: new Date(0) } }), 'list_agent_runs', { before: { createdAt: '1970-01-01T00:00:00.000Z', runId: 'r' } }],
  ['events', (a) => a.readEvents({ runId: ' r ' }), 'read_agent_run_events', { runId: 'r', afterSeq: undefined, beforeSeq: undefined, limit: undefined }],
  ['events, all', (a) => a.readEvents({ runId: 'r', afterSeq: 1, beforeSeq: 9, limit: 7, invocationId: ' i ', includeTimelineProjection: true }), 'read_agent_run_events', { runId: 'r', afterSeq: 1, beforeSeq: 9, limit: 7, invocationId: 'i', includeTimelineProjection: true }],
  ['a file', (a) => a.readWorkspaceFile({ runId: 'r', path: 'output/main.md' }), 'read_agent_workspace_file', { runId: 'r', path: 'output/main.md' }],
  ['a turn', (a) => a.readModelTurn({ runId: 'r', round: 1 }), 'read_agent_model_turn', { runId: 'r', round: 1 }],
  ['a turn, all', (a) => a.readModelTurn({ runId: 'r', round: 2, invocationId: ' i ', maxChars: 1 }), 'read_agent_model_turn', { runId: 'r', round: 2, invocationId: 'i', maxChars: 1 }],
  ['states', (a) => a.pruneChatPersistentStates({ candidateStateIds: [' a ', 'b', 'a', ' '] }), 'prune_agent_chat_persistent_states', { chatRef: CHAT, stableChatId: 'stable', candidateStateIds: ['a', 'b'] }],
  ['states copied', (a) => a.copyChatPersistentStates({ sourceChatRef: CHAT, sourceStableChatId: 's', targetChatRef: GROUP, targetStableChatId: 't' }), 'copy_agent_chat_persistent_states', { sourceChatRef: CHAT, sourceStableChatId: 's', targetChatRef: GROUP, targetStableChatId: 't' }],
  ['settings', (a) => a.retention.readSettings(), 'get_tauritavern_settings', undefined],
  ['settings changed', (a) => a.retention.updateSettings({ autoPruneEnabled: true, keepRecentTerminalRuns: '50', keepFullRecentRuns: 5 }), 'update_tauritavern_settings', { agent: { retention: { auto_prune_enabled: true, keep_recent_terminal_runs: 50, keep_full_recent_runs: 5 } } }],
  ['one setting', (a) => a.retention.updateSettings({ keepFullRecentRuns: 0 }), 'update_tauritavern_settings', { agent: { retention: { keep_full_recent_runs: 0 } } }],
  ['a plan', (a) => a.retention.planPrune(), 'plan_agent_run_prune', {}],
  ['a plan, all', (a) => a.retention.planPrune({ retention: { keepRecentTerminalRuns: '10', keepFullRecentRuns: '1' }, detailLimit: '0' }), 'plan_agent_run_prune', { retention: { keepRecentTerminalRuns: 10, keepFullRecentRuns: 1 }, detailLimit: 0 }],
  ['pruning', (a) => a.retention.applyPrune({ detailLimit: 1000 }), 'apply_agent_run_prune', { detailLimit: 1000 }],
  ['profiles', (a) => a.profiles.list(), 'list_agent_profiles', undefined],
  ['a profile', (a) => a.profiles.load(' w '), 'load_agent_profile', { profileId: 'w' }],
  ['a profile by object', (a) => a.profiles.load({ profileId: 'w' }), 'load_agent_profile', { profileId: 'w' }],
  ['a profile looked into', (a) => a.profiles.diagnose({ profile_id: 'w' }), 'diagnose_agent_profile', { profileId: 'w' }],
  ['a prompt', (a) => a.profiles.resolveSystemPrompt('w'), 'resolve_agent_system_prompt', { profileId: 'w' }],
  ['the prompt', (a) => a.profiles.resolveSystemPrompt(), 'resolve_agent_system_prompt', {}],
  ['saving', (a) => a.profiles.save({ id: 'w' }), 'save_agent_profile', { profile: { id: 'w' } }],
  ['saving by object', (a) => a.profiles.save({ profile: { id: 'w' } }), 'save_agent_profile', { profile: { id: 'w' } }],
  ['deleting', (a) => a.profiles.delete('w'), 'delete_agent_profile', { profileId: 'w' }],
  ['retargeting', (a) => a.profiles.retargetPresetRefs({ from: { apiId: ' o ', name: ' a ' }, to: { api_id: 'o', name: 'b' } }), 'retarget_agent_profile_preset_refs', { from: { apiId: 'o', name: 'a' }, to: { apiId: 'o', name: 'b' } }],
  ['mending', (a) => a.profiles.repairFile({ profileId: 'w', action: 'delete' }), 'repair_agent_profile_file', { profileId: 'w', action: 'delete' }],
  ['mending otherwise', (a) => a.profiles.repairFile({ profileId: 'w', action: 'normalizeIdentity' }), 'repair_agent_profile_file', { profileId: 'w', action: 'normalizeIdentity' }],
  ['tools', (a) => a.tools.list(), 'list_agent_tool_specs', undefined],
  ['a tool switched off', (a) => a.tools.setEnabled(' extension/x:y ', false), 'set_agent_extension_tool_enabled', { toolId: 'extension/x:y', enabled: false }],
  ['preparing', (a) => a.promptAssembly.prepare({ frozenRunInputSnapshot: { a: 1 } }), 'prepare_agent_prompt_assembly', { frozenRunInputSnapshot: { a: 1 } }],
  ['preparing, all', (a) => a.promptAssembly.prepare({ profileId: 'w', generationType: 'swipe', frozenRunInputSnapshot: {}, jsonSchema: { s: 1 } }), 'prepare_agent_prompt_assembly', { profileId: 'w', generationType: 'swipe', frozenRunInputSnapshot: {}, jsonSchema: { s: 1 } }],
  ['a yes', (a) => a.approveToolCall({ runId: 'r', callId: 'c', approved: true }), 'approve_agent_tool_call', { runId: 'r', callId: 'c', approved: true }],
  ['a no, all', (a) => a.approveToolCall({ runId: 'r', callId: 'c', approved: false, reason: ' no ', remember: 'run', arguments: { a: 1 } }), 'approve_agent_tool_call', { runId: 'r', callId: 'c', approved: false, reason: 'no', remember: 'run', arguments: { a: 1 } }],
  ['a diff', (a) => a.readDiff({ runId: 'r' }), 'read_agent_run_diff', { runId: 'r' }],
  ['a diff, all', (a) => a.readDiff({ runId: 'r', fromCheckpointId: 'start', toCheckpointId: 'cp_000001', paths: ['a', ' a '] }), 'read_agent_run_diff', { runId: 'r', fromCheckpointId: 'start', toCheckpointId: 'cp_000001', paths: ['a'] }],
  ['a rollback', (a) => a.rollback({ runId: 'r', checkpointId: 'cp_000001' }), 'rollback_agent_run', { runId: 'r', checkpointId: 'cp_000001' }],
  ['a rollback, all', (a) => a.rollback({ runId: 'r', checkpointId: 'cp', scope: 'committed-message', reason: 'x' }), 'rollback_agent_run', { runId: 'r', checkpointId: 'cp', scope: 'committed-message', reason: 'x' }],
  ['a fork', (a) => a.fork({ runId: 'r', checkpointId: 'cp' }), 'fork_agent_run', { runId: 'r', checkpointId: 'cp' }],
  ['a checkpoint', (a) => a.readCheckpoint(' r '), 'read_agent_run_checkpoint', { runId: 'r' }],
  ['a task', (a) => a.readTaskDetail({ runId: 'r', taskId: 't', includeResult: true }), 'read_agent_task_detail', { runId: 'r', taskId: 't', includeResult: true }],
  ['a presentation', (a) => a.settleChatPresentation({ runId: 'r' }), 'settle_agent_chat_presentation', { runId: 'r' }],
  ['a session', (a) => a.sessions.create(), 'create_agent_session', undefined],
  ['a session read', (a) => a.sessions.read({ sessionId: 's', beforeSeq: 4, limit: 2 }), 'read_agent_session', { sessionId: 's', beforeSeq: 4, limit: 2 }],
  ['a session told', (a) => a.sessions.send({ sessionId: 's', text: ' hi ' }), 'send_agent_session_message', { sessionId: 's', text: 'hi' }],
  ['a session deleted', (a) => a.sessions.delete('s'), 'delete_agent_session', { sessionId: 's' }],
  ['a session profile', (a) => a.sessions.profile.load(), 'load_agent_session_profile', undefined],
  ['a session profile saved', (a) => a.sessions.profile.save({ id: 'w' }), 'save_agent_session_profile', { profile: { id: 'w' } }],
];

for (const [name, call, command, dto] of SENT) {
  test(`sends ${command}: ${name}`, async () => {
    const { agent, double } = install({ [command]: {} });
    await call(agent);
    assert.deepEqual(double.calls.map(({ command: sent, args }) => [sent, args]), [[command, dto === undefined ? undefined : { dto }]]);
  });
}

// [how it is called, what the message says]
const REFUSED = [
  [(a) => a.cancel(), 'runId is required'],
  [(a) => a.cancel('  '), 'runId is required'],
  [(a) => a.submitGuidance(), 'Agent submitGuidance input must be an object'],
  [(a) => a.submitGuidance([]), 'Agent submitGuidance input must be an object'],
  [(a) => a.submitGuidance({ text: '' }), 'runId is required'],
  [(a) => a.submitGuidance({ runId: 'r', text: '  ' }), 'guidance text is required'],
  [(a) => a.listRuns(null), 'Agent listRuns input must be an object'],
  [(a) => a.listRuns('x'), 'Agent listRuns input must be an object'],
  [(a) => a.listRuns({ chatRef: 'x', statuses: 1 }), 'chatRef must be an object'],
  [(a) => a.listRuns({ chatRef: [] }), 'chatRef must be an object'],
  [(a) => a.listRuns({ statuses: 'failed' }), 'statuses must be an array'],
  [(a) => a.listRuns({ statuses: ['failed', ' '] }), 'statuses contains an empty status'],
  [(a) => a.listRuns({ statuses: ['done'] }), 'unknown agent run status'],
  [(a) => a.listRuns({ before: {} }), 'before.runId is required'],
  [(a) => a.listRuns({ before: { createdAt: 'x' } }), 'before.runId is required'],
  [(a) => a.listRuns({ before: { runId: 'r' } }), 'before.createdAt must be a valid timestamp'],
  [(a) => a.listRuns({ before: { runId: 'r', createdAt: 'yesterday' } }), 'before.createdAt must be a valid timestamp'],
  [(a) => a.listRuns({ before: { runId: 'r', createdAt: new Date(NaN) } }), 'before.createdAt must be a valid timestamp'],
  ...[0, 201, 1.5, NaN, '10'].map((limit) => [(a) => a.listRuns({ limit }), 'limit must be an integer between 1 and 200']),
  [(a) => a.readEvents(), 'runId is required'],
  [(a) => a.readEvents({ runId: ' ' }), 'runId is required'],
  [(a) => a.readEvents({ runId: 'r', invocationId: ' ' }), 'invocationId cannot be empty'],
  [(a) => a.readWorkspaceFile({ path: 'x' }), 'runId is required'],
  [(a) => a.readWorkspaceFile({ runId: 'r' }), 'path is required'],
  ...['/etc/x', '\\x', 'C:\\x', 'a/../b', '..'].map((path) => [(a) => a.readWorkspaceFile({ runId: 'r', path }), 'workspace.path_denied']),
  ...[0, 1.5, '1', undefined].map((round) => [(a) => a.readModelTurn({ runId: 'r', round }), 'agent.model_turn_round_invalid']),
  [(a) => a.readModelTurn({ runId: 'r', round: 1, invocationId: ' ' }), 'agent.model_turn_invocation_id_invalid'],
  [(a) => a.readModelTurn({ runId: 'r', round: 1, maxChars: 0 }), 'agent.model_turn_max_chars_invalid'],
  [(a) => a.pruneChatPersistentStates({ chatRef: GROUP, candidateStateIds: ['a'] }), 'agent.group_persistent_state_prune_unsupported'],
  [(a) => a.pruneChatPersistentStates({ candidateStateIds: 'a' }), 'candidateStateIds must be an array'],
  [(a) => a.pruneChatPersistentStates({ candidateStateIds: [' '] }), 'agent.persistent_state_prune_candidates_required'],
  [(a) => a.retention.updateSettings({ keepRecentTerminalRuns: 10_001 }), 'agent.retention_keep_recent_terminal_runs_invalid'],
  [(a) => a.retention.updateSettings({ keepFullRecentRuns: 'many' }), 'agent.retention_keep_full_recent_runs_invalid'],
  [(a) => a.retention.updateSettings({ keepFullRecentRuns: 2, keepRecentTerminalRuns: 1 }), 'agent.retention_keep_full_recent_runs_invalid'],
  [(a) => a.retention.planPrune({ detailLimit: 1001 }), 'agent.run_prune_detail_limit_invalid'],
  [(a) => a.profiles.load(), 'profileId is required'],
  [(a) => a.profiles.load({}), 'profileId is required'],
  [(a) => a.profiles.delete(' '), 'profileId is required'],
  [(a) => a.profiles.diagnose(), 'profileId is required'],
  [(a) => a.profiles.save(), 'profile must be an object'],
  [(a) => a.profiles.save([]), 'profile must be an object'],
  [(a) => a.profiles.save({ profile: 'x' }), 'profile must be an object'],
  [(a) => a.profiles.retargetPresetRefs(), 'from requires apiId and name'],
  [(a) => a.profiles.retargetPresetRefs({ from: { apiId: 'o' } }), 'from requires apiId and name'],
  [(a) => a.profiles.retargetPresetRefs({ from: { apiId: 'o', name: 'x' } }), 'to requires apiId and name'],
  [(a) => a.profiles.repairFile({ action: 'delete' }), 'profileId is required'],
  [(a) => a.profiles.repairFile({ profileId: 'w', action: 'burn' }), 'repair action must be delete or normalizeIdentity'],
  [(a) => a.promptAssembly.prepare({}), 'agent.frozen_run_input_snapshot_required'],
  [(a) => a.promptAssembly.prepare(), 'agent.frozen_run_input_snapshot_required'],
  [(a) => a.promptAssembly.prepare({ frozenRunInputSnapshot: 'x' }), 'agent.frozen_run_input_snapshot_invalid'],
  [(a) => a.approveToolCall(), 'runId is required'],
  [(a) => a.approveToolCall({ runId: 'r' }), 'callId is required'],
  [(a) => a.approveToolCall({ runId: 'r', callId: 'c' }), 'approved must be a boolean'],
  [(a) => a.approveToolCall({ runId: 'r', callId: 'c', approved: true, remember: 'never' }), 'remember must be one of'],
  [(a) => a.approveToolCall({ runId: 'r', callId: 'c', approved: true, arguments: [] }), 'arguments must be an object'],
  [(a) => a.readDiff({}), 'runId is required'],
  [(a) => a.rollback({ runId: 'r' }), 'checkpointId is required'],
  [(a) => a.rollback({ runId: 'r', checkpointId: 'c', scope: 'all' }), 'scope must be one of'],
  [(a) => a.sessions.send({ sessionId: 's', text: ' ' }), 'agent.session_message_required'],
  [(a) => a.tools.setEnabled('x', 1), 'enabled must be a boolean'],
  [(a) => a.tools.register({ extensionId: 'e', name: 'n', description: 'd', inputSchema: {} }), 'execute is required'],
];

for (const [call, fragment] of REFUSED) {
  test(`refuses: ${fragment} — ${String(call).slice(7, 90)}`, async () => {
    const { agent, double } = install();
    const promise = call(agent);
    assert.ok(promise instanceof Promise);
    await assert.rejects(promise, (error) => {
      assert.ok(error.message.includes(fragment), error.message);
      assert.ok(error.message.includes(error.code));
      return true;
    });
    assert.deepEqual(double.calls, []);
  });
}

test('a file has bytes, chars and words, whichever the backend gave', async () => {
  const files = [
    [{ path: 'p', text: '你好 tea' }, { bytes: 10, chars: 6, words: 3 }],
    [{ path: 'p', text: 'x', chars: 7, words: 8, sha256: 's' }, { bytes: 1, chars: 7, words: 8 }],
    [{ path: 'p', text: 'x', bytes: 9 }, { bytes: 9, chars: 1, words: 1 }],
  ];
  for (const [given, expected] of files) {
    const { agent } = install({ read_agent_workspace_file: given });
    assert.deepEqual(await agent.readWorkspaceFile({ runId: 'r', path: 'p' }), { ...given, ...expected });
  }
});

test('settings are read in camelCase, with defaults', async () => {
  const stored = { agent: { retention: { auto_prune_enabled: true, keep_recent_terminal_runs: 7 } } };
  const { agent, double } = install({ get_tauritavern_settings: stored, update_tauritavern_settings: stored });
  const expected = { autoPruneEnabled: true, keepRecentTerminalRuns: 7, keepFullRecentRuns: 20 };
  assert.deepEqual(await agent.retention.readSettings(), expected);
  assert.deepEqual(await agent.retention.updateSettings({ autoPruneEnabled: true }), expected);
  double.on('get_tauritavern_settings', {});
  assert.deepEqual(await agent.retention.readSettings(), { autoPruneEnabled: false, keepRecentTerminalRuns: 100, keepFullRecentRuns: 20 });
});

test('groups can be pruned where the transport says so', async () => {
  const { agent, double } = install({ prune_agent_chat_persistent_states: {} }, { transport: { capabilities: { groupPersistentStates: true } } });
  await agent.pruneChatPersistentStates({ chatRef: GROUP, stableChatId: 'g1', candidateStateIds: ['a'] });
  assert.equal(double.calls.length, 1);
  assert.equal(agent.capabilities.groupPersistentStates, true);
});

test('changes of profiles are told to the page, after they happened', async () => {
  const heard = [];
  const window = { dispatchEvent: (event) => heard.push([event.type, event.detail]) };
  const changes = {
    save_agent_profile: (a) => a.profiles.save({ id: 'w' }),
    delete_agent_profile: (a) => a.profiles.delete('w'),
    retarget_agent_profile_preset_refs: (a) => a.profiles.retargetPresetRefs({ from: { apiId: 'o', name: 'a' }, to: { apiId: 'o', name: 'b' } }),
    repair_agent_profile_file: (a) => a.profiles.repairFile({ profileId: 'w', action: 'delete' }),
  };
  for (const [command, change] of Object.entries(changes)) {
    heard.length = 0;
    const { agent, double } = install({ [command]: new Error('agent.no: no') }, { window });
    await assert.rejects(change(agent));
    assert.deepEqual(heard, [], command);
    double.on(command, { updated: 1 });
    const answer = await change(agent);
    assert.deepEqual(heard, [['tauritavern-agent-profiles-changed', null]], command);
    assert.deepEqual(answer, command.startsWith('retarget') ? { updated: 1 } : undefined);
  }
});
