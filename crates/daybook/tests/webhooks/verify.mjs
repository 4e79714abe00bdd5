// Verifies collected messages as receivers in Node would: node verify.mjs FILE, with LIBRARY naming the folder of the
// package `standardwebhooks`; without it, only the checks that need no package are run.
//
// A line of the file is {"headers", "body", "changed", "hmac_key", "header_keys"}: bodies in Base64, `changed` with one
// byte changed. Prints {"messages": n}, or exits with 1 and prints which message is wrong.

import { createHmac } from "node:crypto";
import { createReadStream } from "node:fs";
import { createRequire } from "node:module";
import { createInterface } from "node:readline";

const library = process.env.LIBRARY;
const Webhook = library ? createRequire(`${library}/`)("standardwebhooks").Webhook : undefined;

/** As the guide says for frameworks that hide the bytes: `data` is written once more. */
function bodyIsOurs(key, body) {
  try {
    const data = JSON.stringify(JSON.parse(body).data);
    return createHmac("sha256", key).update(data).digest("base64") === JSON.parse(body).hmac_signature;
  } catch {
    return false;
  }
}

function headerIsOurs(key, headers, body) {
  try {
    new Webhook(key).verify(body, headers);
    return true;
  } catch (error) {
    if (error.name !== "WebhookVerificationError") throw error;
    return false;
  }
}

let count = 0;
for await (const line of createInterface({ input: createReadStream(process.argv[2]) })) {
  const one = JSON.parse(line);
  const [body, changed] = [one.body, one.changed].map((text) => Buffer.from(text, "base64"));
  const keys = Webhook ? one.header_keys : [];
  const good = bodyIsOurs(one.hmac_key, body) && keys.every((key) => headerIsOurs(key, one.headers, body));
  const bad = bodyIsOurs(one.hmac_key, changed) || keys.some((key) => headerIsOurs(key, one.headers, changed));
  if (!good || bad) {
    console.error(good ? "taken though changed" : "refused", one.headers, body.toString(), changed.toString());
    process.exit(1);
  }
  count += 1;
}
console.log(JSON.stringify({ messages: count }));
