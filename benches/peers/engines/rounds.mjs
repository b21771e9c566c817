// How a peer written in JavaScript is timed: as rounds.py does it, which says why.

const WARM_UP_NS = 0.5e9;
const BUDGET_NS = 10e9;
const MOST_ROUNDS = 200;

const now = () => Number(process.hrtime.bigint());

export async function measure({ peer, version, graph, nodes, run }) {
  const row = { peer, version, graph, nodes };
  try {
    const { times, result } = await rounds(run);
    row.result = result;
    row.rounds = times.length;
    row.best_ns_per_node = Math.round(times[0] / nodes);
    row.median_ns_per_node = Math.round(times[times.length >> 1] / nodes);
  } catch (error) {
    // One graph that fails must not cost the others their rows.
    row.error = String(error.message ?? error);
  }
  process.stdout.write(`${JSON.stringify(row)}\n`);
}

async function rounds(run) {
  const cold = now();
  let result = await run();
  const first = now() - cold;
  if (first > BUDGET_NS) return { times: [first], result };
  while (now() - cold < WARM_UP_NS) await run();
  const times = [];
  const start = now();
  while (times.length < MOST_ROUNDS && now() - start < BUDGET_NS) {
    const begin = now();
    result = await run();
    times.push(now() - begin);
  }
  return { times: times.sort((a, b) => a - b), result };
}
