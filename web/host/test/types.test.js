import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import * as host from '../index.js';
import { install } from './support.js';

const types = readFileSync(new URL('../index.d.ts', import.meta.url), 'utf8');
const reference = readFileSync(new URL('../../../docs/host-api.md', import.meta.url), 'utf8');
const bodyOf = (name) => types.match(new RegExp(`interface ${name} \\{([\\s\\S]*?)\\n\\}`))[1];

const { agent } = install();
const SHAPES = {
  TauriTavernAgentApi: agent,
  AgentProfilesApi: agent.profiles,
  AgentRetentionApi: agent.retention,
  AgentToolsApi: agent.tools,
  AgentPromptAssemblyApi: agent.promptAssembly,
  AgentSessionsApi: agent.sessions,
  AgentCapabilities: agent.capabilities,
};

for (const [name, value] of Object.entries(SHAPES)) {
  test(`${name} has the members that its type says, and the reference names them`, () => {
    const typed = [...bodyOf(name).matchAll(/^  (?:readonly )?(\w+)[(:?]/gm)].map(([, member]) => member);
    assert.deepEqual([...new Set(typed)].sort(), Object.keys(value).sort());
    for (const member of typed) assert.ok(reference.includes(member), `${member} is not in docs/host-api.md`);
  });
}

test('everything that is exported has a type', () => {
  for (const name of Object.keys(host)) assert.match(types, new RegExp(`export (function|class|const) ${name}\\b`));
});
