// A receiver of Daybook's webhooks that uses only Node's own modules.
//
//     DAYBOOK_HMAC_KEY=... PORT=8000 node receiver.mjs
//
// DAYBOOK_HMAC_KEY is the key that GET /organization/hmac_key returns; during a rotation, both keys, separated by a
// space. PORT 0 picks a free port. Prints one line for each message.

import { createHmac, timingSafeEqual } from "node:crypto";
import { createServer } from "node:http";

const KEYS = (process.env.DAYBOOK_HMAC_KEY ?? "").split(/\s+/).filter(Boolean);
if (KEYS.length === 0) throw new Error("DAYBOOK_HMAC_KEY is not set");
const MOST_BYTES = 8 * 1024 * 1024;
const TOLERANCE_S = 5 * 60;
// In production, use a table with a unique column.
const seen = new Set();

const signature = (key, ...parts) => {
  const hmac = createHmac("sha256", key);
  for (const part of parts) hmac.update(part);
  return hmac.digest("base64");
};

const areEqual = (one, other) => {
  const [a, b] = [Buffer.from(one), Buffer.from(other)];
  return a.length === b.length && timingSafeEqual(a, b);
};

/** The bytes of `data` and the signature, exactly as in the body. */
function cut(body) {
  const [before, after] = [',"data":', ',"hmac_signature":"'];
  const from = body.indexOf(before) + before.length;
  const to = body.lastIndexOf(after);
  return { data: body.subarray(from, to), given: body.subarray(to + after.length, -2).toString() };
}

function bodyIsOurs(body) {
  const { data, given } = cut(body);
  // The key is the text itself.
  return KEYS.some((key) => areEqual(signature(key, data), given));
}

function headerIsOurs(headers, body) {
  const sentAt = headers["webhook-timestamp"] ?? "";
  if (!/^\d+$/.test(sentAt) || Math.abs(Date.now() / 1000 - Number(sentAt)) > TOLERANCE_S) return false;
  const given = (headers["webhook-signature"] ?? "").split(" ").filter((one) => one.startsWith("v1,"));
  // The key is the bytes that the text decodes to.
  const expected = KEYS.map((key) =>
    signature(Buffer.from(key, "base64"), `${headers["webhook-id"]}.${sentAt}.`, body));
  return expected.some((ours) => given.some((theirs) => areEqual(`v1,${ours}`, theirs)));
}

function take(headers, body) {
  // Not 401: that would pause the subscription.
  if (!headerIsOurs(headers, body) || !bodyIsOurs(body)) return [400, "refused"];
  const { event, data } = JSON.parse(body);
  const word = seen.has(data.event_id) ? "duplicate" : "verified";
  // Store the message here, and process it after the response.
  seen.add(data.event_id);
  return [200, `${word} ${event} ${data.event_id}`];
}

const server = createServer((request, response) => {
  const chunks = [];
  let length = 0;
  request.on("data", (chunk) => {
    length += chunk.length;
    if (length > MOST_BYTES) request.destroy();
    else chunks.push(chunk);
  });
  request.on("end", () => {
    const [status, line] = take(request.headers, Buffer.concat(chunks));
    console.log(line);
    response.writeHead(status, { "content-length": 0 }).end();
  });
});

server.listen(Number(process.env.PORT ?? 8000), "127.0.0.1", () => {
  console.log(`listening on ${server.address().port}`);
});
