// Types of the host API. What each method does stands in docs/host-api.md.

export type Json = null | boolean | number | string | Json[] | { [key: string]: Json };

// ---------------------------------------------------------------- installing

export interface InvokeArgs {
  dto: unknown;
  /** Where the backend calls back. */
  channel?: { onmessage?: (message: unknown) => void; onclose?: () => void };
}

export interface Invoke {
  (command: string, args: InvokeArgs | undefined): Promise<any> | any;
  subscribe?: SubscribeEvents;
  subscribeLive?: SubscribeLive;
  capabilities?: { groupPersistentStates?: boolean };
}

export interface PushOptions {
  afterSeq?: number;
  limit?: number;
  onError?: (error: unknown) => void;
  onEnd?: () => void;
  /** There is no connection to be had: the journal is polled instead. */
  onUnavailable?: () => void;
}

export type SubscribeEvents = (
  runId: string,
  handler: (event: AgentRunEvent) => void,
  options: PushOptions,
) => Unsubscribe | Promise<Unsubscribe>;

export type SubscribeLive = (
  runId: string,
  handler: (update: AgentLiveUpdate) => void,
  options: PushOptions,
) => Unsubscribe | Promise<Unsubscribe>;

export interface Transport {
  invoke?: Invoke;
  subscribeEvents?: SubscribeEvents;
  subscribeLive?: SubscribeLive;
  capabilities?: { groupPersistentStates?: boolean };
}

export interface Timers {
  setTimeout: (run: () => void, ms: number) => unknown;
  clearTimeout: (id: any) => void;
}

/** What is used of a tavern's context. All of it may be missing; what is missing cannot be done. */
export interface TavernContext {
  chat?: ChatMessage[];
  mainApi?: string;
  eventSource?: {
    on?: (name: string, listener: (...args: any[]) => void) => void;
    removeListener?: (name: string, listener: (...args: any[]) => void) => void;
  };
  eventTypes?: Record<string, string>;
  generate?: (type: string, options: object, dryRun: boolean) => Promise<unknown>;
  saveReply?: (reply: { type: string; getMessage: string }) => Promise<unknown>;
  saveChat?: () => Promise<unknown>;
  getPresetManager?: () => {
    apiId?: string;
    getSelectedPreset?: () => string;
    getSelectedPresetName?: () => string;
  } | null;
  chatCompletionSettings?: Record<string, unknown>;
  getChatCompletionModel?: () => string;
  getCharacterCardFields?: () => Record<string, string>;
  name1?: string;
  name2?: string;
  deleteLastMessage?: () => Promise<unknown>;
  deleteMessage?: (index: number) => Promise<unknown>;
  updateMessageBlock?: (index: number, message: ChatMessage) => void;
  reloadCurrentChat?: () => Promise<unknown>;
  /** The request that a tavern would send (SillyTavern: of /scripts/openai.js). */
  createGenerationParameters?: (settings: object, model: string, type: string, messages: unknown[]) => unknown;
  /** What a tavern does to replies before it saves them. */
  prepareReply?: (text: string, commit: object) => string | Promise<string>;
  /** Whether the chat on disk has the message; SillyTavern is asked by itself. */
  isCommitSaved?: (commitId: string) => boolean | Promise<boolean>;
  chatId?: string;
  groupId?: string | null;
  characterId?: number | string;
  characters?: { name?: string; avatar?: string; [key: string]: unknown }[];
  chatMetadata?: { integrity?: string; [key: string]: unknown };
  getRequestHeaders?: () => Record<string, string>;
  /** A connection for a model that only the page knows; null for what is a connection already. */
  materializeModelTarget?: (connectionRef: string, model: { modelId?: string }) => unknown;
  /** Builds prompts in the place of the built-in builder. */
  assemblePrompt?: (request: AgentPromptAssemblyRequest) => unknown;
  [key: string]: unknown;
}

export interface ChatMessage {
  name?: string;
  is_user?: boolean;
  is_system?: boolean;
  mes: string;
  extra?: { tauritavern?: { agent?: AgentMessageExtra }; [key: string]: unknown };
  swipe_id?: number;
  swipes?: string[];
  swipe_info?: { extra?: Record<string, unknown> }[];
  [key: string]: unknown;
}

export interface InstallContext {
  /** Or `safeInvoke`, or `transport.invoke`: one of them. */
  invoke?: Invoke;
  safeInvoke?: Invoke;
  transport?: Transport;
  /** null: this page is no tavern, and nobody asks for its preset. */
  tavern?: TavernContext | (() => TavernContext | null | undefined) | null;
  window?: object;
  timers?: Timers;
  now?: () => number;
  /** How long a page may take to save a message; 60,000. */
  commitTimeoutMs?: number;
  /** false: the page does nothing for runs by itself. */
  bridges?: boolean;
  onBridgeError?: (error: unknown) => void;
}

export function installAgentApi(context: InstallContext): TauriTavernAgentApi;

export interface ChatInstallContext {
  invoke?: Invoke;
  safeInvoke?: Invoke;
  transport?: Transport;
  window?: object;
  /** Which chat is open. Without it, `current.set` says so. */
  current?: () => AgentChatRef | null | undefined;
  windowInfo?: () => object;
}

export function installChatApi(context: ChatInstallContext): TauriTavernChatApi;

export class AgentApiError extends Error {
  constructor(code: string, detail: string, more?: { details?: object; cause?: unknown; status?: number; message?: string });
  readonly code: string;
  readonly details: { reason?: string; [key: string]: unknown };
  readonly status?: number;
}

export const RUN_STATUSES: readonly AgentRunStatus[];
export const TERMINAL_STATUSES: readonly AgentRunStatus[];
export const TERMINAL_EVENTS: readonly string[];

/** What a message says of the run that wrote it, versions 1 and 2. */
export function agentExtraOf(message: ChatMessage | undefined): AgentMessageExtra | undefined;

// ---------------------------------------------------------------- transports

export interface HttpTransportOptions {
  /** That of the page if left out. */
  baseUrl?: string;
  token?: string;
  fetch?: typeof fetch;
  WebSocket?: unknown;
  timers?: Timers;
  random?: () => number;
  /** Offered with the WebSocket. */
  protocols?: string[];
}

export interface HttpTransport extends Transport {
  invoke: Invoke;
  close(): void;
  /** What the server may ask of this page. */
  onRequest?: (method: string, handler: (params: any) => unknown) => void;
}

export function createHttpTransport(options?: HttpTransportOptions): HttpTransport;

export interface RecordedCall {
  command: string;
  args: InvokeArgs | undefined;
  dto: any;
}

export interface DoubleTransport extends Transport {
  invoke: Invoke;
  calls: RecordedCall[];
  sent(command: string): any[];
  on(command: string, answer: unknown): void;
  followers(): { kind: 'event' | 'live'; runId: string; handler: Function; options: PushOptions }[];
  emit(runId: string, ...events: Partial<AgentRunEvent>[]): void;
  emitLive(runId: string, ...updates: object[]): void;
  fail(runId: string, error: unknown): void;
  end(runId: string): void;
}

export function createDoubleTransport(
  handlers?: Record<string, unknown | ((dto: any, args: InvokeArgs | undefined) => unknown)>,
  options?: { push?: boolean },
): DoubleTransport;

// ---------------------------------------------------------------- runs

export type Unsubscribe = () => void;
export type TauriTavernHostUnsubscribe = Unsubscribe;

export type AgentChatRef =
  | { kind: 'character'; characterId: string; fileName: string }
  | { kind: 'group'; chatId: string };

export type AgentPresentation = 'foreground' | 'background';

export type AgentRunStatus =
  | 'created'
  | 'initializing_workspace'
  | 'assembling_context'
  | 'calling_model'
  | 'dispatching_tool'
  | 'awaiting_approval'
  | 'applying_workspace_patch'
  | 'creating_checkpoint'
  | 'awaiting_host_commit'
  | 'finishing'
  | 'completed'
  | 'partial_success'
  | 'cancelling'
  | 'cancelled'
  | 'failed';

export interface AgentRunHandle {
  runId: string;
  status: AgentRunStatus;
  workspaceId: string;
  stableChatId: string;
  generationType?: string;
  /** Of a run that was resumed: subscribe behind it. */
  afterSeq?: number;
}

export interface AgentPresetRef {
  apiId: string;
  name: string;
}

export interface AgentSkillScopeRefs {
  preset?: AgentPresetRef;
  characterId?: string;
}

export interface AgentStartOptions {
  presentation?: AgentPresentation;
  stream?: boolean;
  startWithEmptyPersist?: boolean;
  [key: string]: unknown;
}

export interface AgentStartRunFromLegacyGenerateInput {
  chatRef?: AgentChatRef;
  stableChatId?: string;
  generationType?: string;
  generateOptions?: Record<string, unknown>;
  profileId?: string | null;
  generationIntent?: unknown;
  persistBaseStateId?: string | null;
  skillScopeRefs?: AgentSkillScopeRefs | null;
  presentation?: AgentPresentation;
  options?: AgentStartOptions;
}

export interface AgentStartRunWithPromptSnapshotInput {
  chatRef?: AgentChatRef;
  stableChatId?: string;
  generationType?: string;
  profileId?: string | null;
  promptSnapshot: AgentPromptSnapshot;
  frozenRunInputSnapshot?: AgentFrozenRunInputSnapshot;
  generationIntent?: unknown;
  persistBaseStateId?: string | null;
  skillScopeRefs?: AgentSkillScopeRefs | null;
  presentation?: AgentPresentation;
  options?: AgentStartOptions;
}

export interface AgentContextPolicy {
  /** -1 all, 0 none, N the newest. */
  initialChatHistoryMessages: number;
  includeActivatedWorldInfo: boolean;
}

export interface AgentWorldInfoActivation {
  timestampMs: number;
  trigger: string;
  entries: {
    world: string;
    uid: string | number;
    displayName: string;
    constant: boolean;
    content: string;
    position?: string;
  }[];
}

/** Any of its three forms: a payload, a payload with a policy, or messages with parameters. */
export type AgentPromptSnapshot =
  | {
      chatCompletionPayload: unknown;
      contextPolicy?: AgentContextPolicy;
      worldInfoActivation?: AgentWorldInfoActivation;
    }
  | {
      contextPolicy: AgentContextPolicy;
      messages: unknown[];
      generationParameters: Record<string, unknown>;
      worldInfoActivation?: AgentWorldInfoActivation;
    };

export interface AgentFrozenRunInputSnapshot {
  schemaVersion: 1;
  kind: 'tauritavern.agentFrozenRunInputSnapshot';
  generationType: string;
  /** `messages`: the newest first. */
  promptInputs: { type: string; messages: unknown[]; [key: string]: unknown };
  worldInfoActivation: { entries: unknown[]; [key: string]: unknown };
  macroContext: { names: { user?: string; char?: string }; [key: string]: unknown };
  [key: string]: unknown;
}

export interface AgentRunEvent {
  seq: number;
  id: string;
  runId: string;
  timestamp: string;
  level: 'debug' | 'info' | 'warn' | 'error';
  type: string;
  payload: any;
}

export interface AgentReadEventsInput {
  runId: string;
  afterSeq?: number;
  beforeSeq?: number;
  limit?: number;
  invocationId?: string;
  includeTimelineProjection?: boolean;
}

export interface AgentReadEventsResult {
  events: AgentRunEvent[];
  timelineProjection?: AgentTimelineProjection;
}

export interface AgentTimelineProjection {
  foregroundInvocationIds: string[];
  invocations: {
    invocationId: string;
    parentInvocationId?: string;
    profileId: string;
    kind: 'root' | 'subagent' | 'handoff';
    status: 'created' | 'running' | 'completed' | 'failed' | 'cancelled' | 'transferred';
    exitPolicy: 'run_finish_allowed' | 'task_return_required';
    createdAt: string;
    updatedAt: string;
  }[];
  delegationEdges: {
    taskId: string;
    sourceInvocationId: string;
    targetInvocationId: string;
    targetProfileId: string;
    workspaceKey: string;
    continuation: 'return_to_parent' | 'transfer_control';
    status: 'queued' | 'running' | 'completed' | 'failed' | 'cancelled';
    resultRef?: string;
    error?: string;
    createdAt: string;
    updatedAt: string;
  }[];
}

export interface AgentSubscribeOptions {
  afterSeq?: number;
  limit?: number;
  intervalMs?: number;
  onError?: (error: unknown) => void;
}

/** `snapshot`, `append`, `replace`, `remove`, `reasoningAppend`, … : of a turn that is being written. */
export interface AgentLiveUpdate {
  type: string;
  round?: number;
  text?: string;
  [key: string]: unknown;
}

export interface AgentSubmitGuidanceInput {
  runId: string;
  text: string;
  clientGuidanceId?: string;
}

export interface AgentGuidanceReceipt {
  runId: string;
  guidanceId: string;
  clientGuidanceId?: string;
  status: 'queued';
  preview: string;
  chars: number;
  words: number;
  pendingCount: number;
}

export interface AgentRunCursor {
  createdAt: string;
  runId: string;
}

export interface AgentListRunsInput {
  chatRef?: AgentChatRef;
  stableChatId?: string;
  statuses?: AgentRunStatus[];
  before?: { createdAt: string | Date; runId: string } | null;
  /** 1 to 200; 50. */
  limit?: number;
}

export interface AgentRunSummary {
  runId: string;
  workspaceId: string;
  stableChatId: string;
  chatRef: AgentChatRef | null;
  generationType: string;
  profileId?: string;
  skillScopeRefs?: AgentSkillScopeRefs;
  persistBaseStateId?: string;
  inputMessageCount?: number;
  presentation: AgentPresentation;
  status: AgentRunStatus;
  createdAt: string;
  updatedAt: string;
  commitCount: number;
  committedMessage?: { commitId: string; messageId: string; messageIndex?: number; committedAt: string };
  terminalAt?: string;
}

export interface AgentListRunsResult {
  runs: AgentRunSummary[];
  nextCursor?: AgentRunCursor;
}

export interface AgentReadWorkspaceFileInput {
  runId: string;
  path: string;
}

export interface AgentWorkspaceFile {
  path: string;
  text: string;
  bytes: number;
  chars: number;
  words: number;
  sha256: string;
}

export interface AgentReadModelTurnInput {
  runId: string;
  round: number;
  invocationId?: string;
  maxChars?: number;
}

export interface AgentTurnText {
  text: string;
  totalChars: number;
  totalWords: number;
  truncated: boolean;
}

export interface AgentModelTurn {
  runId: string;
  round: number;
  modelResponsePath: string;
  provider: { source?: string; format?: string; model?: string; responseId?: string; usage?: unknown };
  assistant: AgentTurnText;
  narration: null | (AgentTurnText & { source: 'assistantText' });
  reasoning: (AgentTurnText & { source: string })[];
  toolCalls: { callId: string; name: string; modelName?: string }[];
}

// ---------------------------------------------------------------- people and runs

export interface AgentApproveToolCallInput {
  runId: string;
  callId: string;
  approved: boolean;
  reason?: string;
  /** `once` if left out. */
  remember?: 'once' | 'run' | 'always';
  /** In the place of those that were shown, whole. */
  arguments?: Record<string, unknown>;
  /** The answer is to this question and no other. */
  approvalId?: string;
}

export interface AgentReadDiffInput {
  runId: string;
  /** A checkpoint, or `start`. */
  fromCheckpointId?: string;
  /** A checkpoint, or `now`. */
  toCheckpointId?: string;
  paths?: string[];
}

export interface AgentRunDiff {
  runId: string;
  fromCheckpointId: string;
  toCheckpointId: string;
  files: {
    path: string;
    status: 'added' | 'modified' | 'deleted' | 'renamed' | 'unchanged';
    unifiedDiff?: string;
    oldPath?: string;
    note?: string;
    [key: string]: unknown;
  }[];
  totals?: Record<string, number>;
}

export interface AgentRollbackInput {
  runId: string;
  /** A checkpoint, or `start`. */
  checkpointId: string;
  scope?: 'workspace' | 'committed-message';
  reason?: string;
}

export interface AgentWithdrawnCommit {
  commitId: string;
  messageId?: string;
  strategy: 'deleteMessage' | 'deleteSwipe' | 'replaceMessage';
  replaceWith?: string[];
  [key: string]: unknown;
}

export interface AgentRollbackReceipt {
  runId: string;
  status: AgentRunStatus;
  rollbackId: string;
  checkpointId: string;
  beforeCheckpointId: string;
  afterCheckpointId: string;
  scope: 'workspace' | 'committed-message';
  rounds: number;
  withdrawnCommits: AgentWithdrawnCommit[];
  [key: string]: unknown;
}

export interface AgentForkInput {
  runId: string;
  /** A checkpoint, `start` or `now`; where the run is now if left out. */
  checkpointId?: string;
  /** Said with the first request. */
  text?: string;
  profileId?: string;
}

export interface AgentRunCheckpoint {
  run: AgentRunSummary;
  terminalSeq: number | null;
  presentation: AgentPresentation;
  nextStep: 'model' | 'tools' | 'handoff' | 'finalize' | 'finished' | 'unavailable';
  round: number;
  maxRounds: number;
  blockedReason?: string | null;
}

export interface AgentResumeInput {
  runId: string;
  additionalRounds?: number;
  /** What `readCheckpoint` answered; read if left out. */
  checkpoint?: AgentRunCheckpoint;
  /** What to change about the reply of a run that is complete. */
  revisionGuidance?: string;
}

export interface AgentReadTaskDetailInput {
  runId: string;
  taskId: string;
  includeResult?: boolean;
}

export interface AgentPrunePersistentStatesInput {
  chatRef?: AgentChatRef;
  stableChatId?: string;
  candidateStateIds: string[];
}

export interface AgentCopyPersistentStatesInput {
  sourceChatRef: AgentChatRef;
  sourceStableChatId?: string;
  targetChatRef: AgentChatRef;
  targetStableChatId?: string;
}

// ---------------------------------------------------------------- profiles

export type AgentProfileDefinition = { id: string; displayName?: string; [key: string]: unknown };
export type AgentProfileIdInput = string | { profileId: string };

export interface AgentProfileSummary {
  id: string;
  displayName: string;
  description?: string;
  directRunnable: boolean;
}

export interface AgentProfileIssue {
  profileId: string;
  fileName: string;
  kind: 'invalidJson' | 'invalidFileIdentity' | 'invalidProfile';
  recommendedAction?: 'delete' | 'normalizeIdentity';
  message: string;
}

export interface AgentProfileDiagnosis {
  profileId: string;
  previewAvailable: boolean;
  promptAssemblyAvailable: boolean;
  directRunAvailable: boolean;
  subAgentAvailable: boolean;
  diagnostics: {
    code: string;
    severity: 'error';
    path: string;
    message: string;
    resource?: { kind: 'preset' | 'llmConnection' | 'model'; apiId?: string; name?: string; id?: string; modelId?: string };
    blocks?: ('preview' | 'promptAssembly' | 'directRun' | 'subAgent')[];
    repairActions?: ('selectPreset' | 'selectModel' | 'setModelRequiresConfiguration' | 'openJsonEditor')[];
  }[];
}

export interface AgentProfilesApi {
  list(): Promise<{ profiles: AgentProfileSummary[]; issues?: AgentProfileIssue[] }>;
  load(input: AgentProfileIdInput): Promise<{ profile: AgentProfileDefinition | null }>;
  diagnose(input: AgentProfileIdInput): Promise<AgentProfileDiagnosis>;
  resolveSystemPrompt(input?: AgentProfileIdInput): Promise<{ agentSystemPrompt: string }>;
  retargetPresetRefs(input: { from: AgentPresetRef; to: AgentPresetRef }): Promise<{ updated: number; profileIds: string[] }>;
  save(input: AgentProfileDefinition | { profile: AgentProfileDefinition }): Promise<void>;
  delete(input: AgentProfileIdInput): Promise<void>;
  repairFile(input: { profileId: string; action: 'delete' | 'normalizeIdentity' }): Promise<void>;
}

// ---------------------------------------------------------------- retention

export interface AgentRetentionSettings {
  autoPruneEnabled: boolean;
  keepRecentTerminalRuns: number;
  keepFullRecentRuns: number;
}

/** Forms hand in texts: numbers may be given so. */
export interface AgentRetentionPatch {
  autoPruneEnabled?: boolean;
  keepRecentTerminalRuns?: number | string;
  keepFullRecentRuns?: number | string;
}

export interface AgentPruneInput {
  retention?: AgentRetentionPatch;
  /** 0 to 1,000; 200. */
  detailLimit?: number | string;
}

export interface AgentPruneCandidate {
  runId: string;
  workspaceId: string;
  stableChatId: string;
  chatRef: AgentChatRef | null;
  status: AgentRunStatus;
  createdAt: string;
  updatedAt: string;
  action: 'slim_heavy_artifacts' | 'delete_run';
  reason: 'outside_full_retention_window' | 'outside_history_retention_window';
  fileCount: number;
  byteCount: number;
}

export interface AgentPrunePlan {
  retention: AgentRetentionSettings;
  detailLimit: number;
  terminalRunCount: number;
  nonTerminalRunCount: number;
  blockedRunCount: number;
  fullRetainedRunCount: number;
  coreRetainedRunCount: number;
  slimCandidateCount: number;
  deleteCandidateCount: number;
  totalSlimFileCount: number;
  totalSlimByteCount: number;
  totalDeleteFileCount: number;
  totalDeleteByteCount: number;
  totalCandidateFileCount: number;
  totalCandidateByteCount: number;
  candidateDetailsTruncated: boolean;
  candidates: AgentPruneCandidate[];
  blockedDetailsTruncated: boolean;
  blockedRuns: (Partial<AgentPruneCandidate> & {
    blockReason: 'active_run' | 'missing_terminal_event' | 'invalid_journal' | 'invalid_storage';
    message?: string;
  })[];
}

export interface AgentPruneResult {
  retention: AgentRetentionSettings;
  detailLimit: number;
  slimmedRunCount: number;
  deletedRunCount: number;
  failedRunCount: number;
  removedFileCount: number;
  removedByteCount: number;
  failedDetailsTruncated: boolean;
  failedRuns: (AgentPruneCandidate & { message: string })[];
  afterPlan: AgentPrunePlan;
}

export interface AgentRetentionApi {
  readSettings(): Promise<AgentRetentionSettings>;
  updateSettings(patch: AgentRetentionPatch): Promise<AgentRetentionSettings | undefined>;
  planPrune(input?: AgentPruneInput): Promise<AgentPrunePlan>;
  applyPrune(input?: AgentPruneInput): Promise<AgentPruneResult>;
}

// ---------------------------------------------------------------- tools

export interface AgentToolSpec {
  name: string;
  modelName?: string;
  id?: string;
  nativeName?: string;
  title?: string;
  description: string;
  inputSchema: object;
  outputSchema?: object;
  annotations?: object;
  source: string;
  registrationId?: string;
  permission?: string;
}

export interface AgentToolDefinition {
  extensionId: string;
  name: string;
  title?: string;
  description: string;
  inputSchema: object;
  contexts?: ('chat' | 'session')[];
  enabled?: boolean;
}

export interface AgentToolCallContext {
  runId: string;
  invocationId: string;
  callId: string;
  target: { kind: 'chat' | 'session'; sessionId?: string };
  signal: AbortSignal;
}

export interface AgentToolsApi {
  list(): Promise<{ tools: AgentToolSpec[]; diagnostics?: unknown[] }>;
  register(
    definition: AgentToolDefinition,
    execute: (args: any, context: AgentToolCallContext) => unknown,
  ): Promise<{ registrationId?: string; toolId?: string; unregister(): void; [key: string]: unknown }>;
  setEnabled(toolId: string, enabled: boolean): Promise<unknown>;
}

// ---------------------------------------------------------------- prompts

export interface AgentPromptAssemblyRequest {
  schemaVersion?: 1;
  kind?: 'tauritavern.agentPromptAssemblyRequest';
  generationType?: string;
  frozenRunInputSnapshot: AgentFrozenRunInputSnapshot;
  /** A chat-completion preset. */
  settings?: Record<string, unknown>;
  contextPolicy?: AgentContextPolicy;
  model?: { modelId?: string };
  [key: string]: unknown;
}

export interface AgentPromptAssemblyApi {
  prepare(input: {
    profileId?: string | null;
    generationType?: string;
    frozenRunInputSnapshot: AgentFrozenRunInputSnapshot;
    jsonSchema?: unknown;
  }): Promise<{
    mode: 'currentPromptSnapshot' | 'frontendPromptAssembly';
    request?: AgentPromptAssemblyRequest;
    assembly?: unknown;
  }>;
  buildSnapshot(input: {
    mode?: 'currentPromptSnapshot' | 'frontendPromptAssembly';
    request?: AgentPromptAssemblyRequest;
    assembly?: unknown;
    chatCompletionPayload?: unknown;
    contextPolicy?: AgentContextPolicy;
    worldInfoActivation?: AgentWorldInfoActivation;
    frozenRunInputSnapshot?: AgentFrozenRunInputSnapshot;
    generationIntent?: unknown;
  }): Promise<{
    promptSnapshot: AgentPromptSnapshot;
    frozenRunInputSnapshot: AgentFrozenRunInputSnapshot;
    generationIntent: unknown;
    assembly: unknown;
  }>;
}

// ---------------------------------------------------------------- sessions

export interface AgentSessionsApi {
  profile: {
    load(): Promise<{ profile: AgentProfileDefinition | null }>;
    save(input: AgentProfileDefinition | { profile: AgentProfileDefinition }): Promise<void>;
  };
  create(input?: { profileId?: string }): Promise<{ session: { id: string; createdAt: string } }>;
  list(): Promise<{ sessions: { id: string; createdAt: string }[] }>;
  read(input: string | { sessionId: string; beforeSeq?: number; limit?: number }): Promise<{
    session: { id: string; createdAt: string };
    messages: { seq: number; runId: string | null; createdAt: string; message: unknown }[];
    lastSeq: number;
    nextBeforeSeq: number | null;
    activeRun: unknown;
  }>;
  send(input: { sessionId: string; text: string }): Promise<{ sessionId: string; runId: string; status: AgentRunStatus }>;
  delete(input: string | { sessionId: string }): Promise<void>;
}

// ---------------------------------------------------------------- messages

export interface AgentMessageCommit {
  seq: number;
  commitId: string;
  checkpointId: string;
  path: string;
  mode: 'replace' | 'append';
  reason?: string;
  bytes: number;
  chars?: number;
  words?: number;
  sha256: string;
}

export interface AgentMessageExtra {
  version: 1 | 2;
  runId: string;
  workspaceId: string;
  stableChatId: string;
  profileId: string | null;
  persistBaseStateId?: string | null;
  persistStateStatus?: 'not_committed' | 'committed';
  persistStateId?: string;
  persistChangeCount?: number;
  checkpointId: string;
  commitId: string;
  commitSeq: number;
  commits: AgentMessageCommit[];
  rollback?: { strategy: 'deleteMessage' } | { strategy: 'deleteSwipe'; swipeId: number };
  artifacts: { path: string; target: 'message_body'; bytes: number; chars?: number; words?: number; sha256: string }[];
}

// ---------------------------------------------------------------- the API

export interface AgentCapabilities {
  readonly approve: boolean;
  readonly copyPersistentStates: boolean;
  readonly diff: boolean;
  readonly editArguments: boolean;
  readonly extensionTools: boolean;
  readonly fork: boolean;
  readonly groupPersistentStates: boolean;
  readonly guidance: boolean;
  readonly listRuns: boolean;
  readonly liveProjection: boolean;
  readonly mcp: boolean;
  readonly modelTurns: boolean;
  readonly profiles: boolean;
  readonly promptAssembly: boolean;
  readonly push: boolean;
  readonly resume: boolean;
  readonly retention: boolean;
  readonly rollback: boolean;
  readonly sessions: boolean;
  readonly stream: boolean;
  readonly tools: boolean;
}

export interface TauriTavernAgentApi {
  startRunFromLegacyGenerate(input?: AgentStartRunFromLegacyGenerateInput): Promise<AgentRunHandle>;
  startRunWithPromptSnapshot(input: AgentStartRunWithPromptSnapshotInput): Promise<AgentRunHandle>;
  subscribe(runId: string, handler: (event: AgentRunEvent) => void, options?: AgentSubscribeOptions): Unsubscribe;
  subscribeLiveProjection(
    runId: string,
    handler: (update: AgentLiveUpdate) => void,
    options?: { onError?: (error: unknown) => void },
  ): Unsubscribe;
  cancel(runId: string): Promise<AgentRunHandle>;
  submitGuidance(input: AgentSubmitGuidanceInput): Promise<AgentGuidanceReceipt>;
  listRuns(input?: AgentListRunsInput): Promise<AgentListRunsResult>;
  readEvents(input: AgentReadEventsInput): Promise<AgentReadEventsResult>;
  readWorkspaceFile(input: AgentReadWorkspaceFileInput): Promise<AgentWorkspaceFile>;
  readModelTurn(input: AgentReadModelTurnInput): Promise<AgentModelTurn>;
  readTaskDetail(input: AgentReadTaskDetailInput): Promise<unknown>;
  settleChatPresentation(input: string | { runId: string }): Promise<unknown>;
  approveToolCall(input: AgentApproveToolCallInput): Promise<unknown>;
  readDiff(input: AgentReadDiffInput): Promise<AgentRunDiff>;
  rollback(input: AgentRollbackInput): Promise<AgentRollbackReceipt>;
  fork(input: AgentForkInput): Promise<AgentRunHandle>;
  readCheckpoint(runId: string | { runId: string }): Promise<AgentRunCheckpoint>;
  resume(input: AgentResumeInput): Promise<AgentRunHandle>;
  pruneChatPersistentStates(input: AgentPrunePersistentStatesInput): Promise<{ workspaceId: string; removedStateIds: string[] }>;
  copyChatPersistentStates(input: AgentCopyPersistentStatesInput): Promise<unknown>;
  profiles: AgentProfilesApi;
  retention: AgentRetentionApi;
  tools: AgentToolsApi;
  promptAssembly: AgentPromptAssemblyApi;
  sessions: AgentSessionsApi;
  /** What the page does for runs by itself. */
  readonly bridge: {
    offerAgain(): Promise<void>;
    detach(runId: string): void;
    detachAll(): void;
    attachedRuns(): string[];
  };
  readonly capabilities: Readonly<AgentCapabilities>;
}

export interface TauriTavernChatStore {
  getJson(input: { namespace: string; key: string }): Promise<unknown>;
  setJson(input: { namespace: string; key: string; value: unknown }): Promise<void>;
  updateJson(input: { namespace: string; key: string; value: unknown }): Promise<unknown>;
  renameKey(input: { namespace: string; key: string; newKey: string }): Promise<void>;
  deleteJson(input: { namespace: string; key: string }): Promise<void>;
  listKeys(input: { namespace: string; prefix?: string }): Promise<string[]>;
}

export type ChatRole = 'user' | 'assistant' | 'system';

export interface TauriTavernChatHandle {
  ref: AgentChatRef;
  summary(input?: { includeMetadata?: boolean }): Promise<unknown>;
  stableId(): Promise<string>;
  searchMessages(
    input:
      | string
      | {
          query: string;
          limit?: number;
          filters?: { role?: ChatRole; startIndex?: number; endIndex?: number; scanLimit?: number };
        },
  ): Promise<unknown>;
  metadata: { get(): Promise<unknown>; setExtension(input: { namespace: string; value: unknown }): Promise<void> };
  store: TauriTavernChatStore;
  locate: {
    findLastMessage(query?: {
      role?: ChatRole;
      hasTopLevelKeys?: string[];
      hasExtraKeys?: string[];
      scanLimit?: number;
    }): Promise<{ index: number; message: ChatMessage } | null>;
  };
  history: {
    tail(input?: { limit?: number }): Promise<unknown>;
    before(cursor: unknown, input?: { limit?: number }): Promise<unknown>;
    beforePages(cursor: unknown, input?: { limit?: number; pages?: number }): Promise<unknown[]>;
  };
}

export interface TauriTavernChatApi {
  open(ref: AgentChatRef): TauriTavernChatHandle;
  current: {
    ref(): AgentChatRef | null;
    handle(): TauriTavernChatHandle | null;
    windowInfo(): unknown;
    set(ref: AgentChatRef | null): void;
  };
}

declare global {
  interface Window {
    __TAURITAVERN__?: {
      ready?: Promise<unknown>;
      api?: { agent?: TauriTavernAgentApi; chat?: TauriTavernChatApi; [name: string]: unknown };
      [name: string]: unknown;
    };
  }
}
