// Greets somebody: arguments as JSON on standard input, the result as JSON on standard output.

let text = "";
for await (const chunk of process.stdin) text += chunk;

const { name } = JSON.parse(text);
const greeting = process.env.GREETING ?? "Hello";
process.stdout.write(JSON.stringify({ success: true, outputData: `${greeting}, ${name}!` }));
