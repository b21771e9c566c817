// Channels on which the backend calls back: one for each tool that an extension has registered. A channel has a name on the
// wire, and is opened anew when the connection was lost.

/** @param {object} socket */
export function createChannels(socket) {
  const open = new Map();
  let nextName = 1;
  socket.onNotification('channel.message', ({ channel, message }) => open.get(channel)?.onmessage?.(message));

  return {
    /** @param {(name: string) => Promise<unknown>} register told the name that the backend is to use */
    open(channel, register) {
      const page = globalThis.crypto?.randomUUID?.() ?? String(Math.random()).slice(2);
      const name = `page-${page}-${nextName++}`;
      open.set(name, channel);
      return new Promise((resolve, reject) => {
        const release = socket.use({
          async opened() {
            try {
              await socket.call('channel.open', { channel: name });
              resolve(await register(name));
            } catch (error) {
              reject(error);
            }
          },
          hopeless() {
            reject(new Error('extension.tool_unavailable: there is no connection to be called back on'));
          },
        });
        channel.onclose = () => {
          open.delete(name);
          release();
        };
      });
    },
  };
}
