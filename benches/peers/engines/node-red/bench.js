// The node types of the graphs. A node type of one's own costs less than a function node, whose code runs in a
// sandbox (ten times less in the chain), so these are the quickest nodes that Node-RED offers.

module.exports = (RED) => {
  const register = (type, setUp) =>
    RED.nodes.registerType(type, function (config) {
      RED.nodes.createNode(this, config);
      this.on("input", setUp(config));
    });

  register("bench-add", () => (msg, send, done) => {
    msg.payload += 1;
    send(msg);
    done();
  });

  // Waits for `count` messages and passes on their sum; it is then as new, for the next round.
  register("bench-sum", ({ count, modulus }) => {
    let missing = count;
    let sum = 0;
    return (msg, send, done) => {
      sum += msg.payload;
      missing -= 1;
      if (missing === 0) {
        msg.payload = sum % modulus;
        missing = count;
        sum = 0;
        send(msg);
      }
      done();
    };
  });

  register("bench-until", ({ limit }) => (msg, send, done) => {
    send(msg.payload < limit ? [msg, null] : [null, msg]);
    done();
  });

  register("bench-end", () => (msg, _send, done) => {
    done();
    RED.events.emit("bench-end", msg.payload);
  });
};
