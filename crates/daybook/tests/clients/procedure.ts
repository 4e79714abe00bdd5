// Loads a loan with its history through the TypeScript client, and prints the result.
//
// Reads a task as JSON from its only argument: url, client_id, client_secret, product_id, opened_at, principal_cents and
// payments, each with line_item_id, original_amount_cents and effective_at.

import createClient from "openapi-fetch";
import type { components, paths } from "./schema.js";

declare const process: { argv: string[] };

type Task = {
    url: string;
    client_id: string;
    client_secret: string;
    product_id: string;
    opened_at: string;
    principal_cents: number;
    payments: components["schemas"]["PaymentRecord"][];
};

const task: Task = JSON.parse(process.argv[2] ?? "{}");

const api = createClient<paths>({ baseUrl: task.url });

/** The data of a response. Throws an error with its code if the call failed. */
function good<T>(answer: { data?: T; error?: { error: { code: string; message: string } } }): T {
    if (answer.data === undefined) {
        throw new Error(`${answer.error?.error.code}: ${answer.error?.error.message}`);
    }
    return answer.data;
}

const { client_id, client_secret } = task;
const token = good(await api.POST("/auth/token", { body: { client_id, client_secret } }));
api.use({
    onRequest({ request }) {
        request.headers.set("Authorization", `Bearer ${token.access_token}`);
        return request;
    },
});

const product = { params: { path: { product_id: task.product_id } } };
good(await api.PUT("/products/{product_id}/migration_mode", { ...product, body: { migration_mode: true } }));
good(await api.POST("/customers", { body: { customer_id: "ana", name_first: "Ana", name_last: "Torres" } }));
good(
    await api.POST("/accounts", {
        body: {
            account_id: "loan",
            product_id: task.product_id,
            effective_at: task.opened_at,
            summary: { initial_principal_cents: task.principal_cents },
            assign_customers: [{ customer_id: "ana" }],
        },
    }),
);

const account = { params: { path: { account_id: "loan" } } };
for (const payment of task.payments) {
    good(await api.POST("/accounts/{account_id}/line_items/payments/payment_record", { ...account, body: payment }));
}

good(await api.PUT("/products/{product_id}/migration_mode", { ...product, body: { migration_mode: false } }));
for (;;) {
    const progress = good(await api.GET("/products/{product_id}/migration_mode", product));
    if (progress.finished_at) break;
    await new Promise((resolve) => setTimeout(resolve, 100));
}

const { summary, account_overview } = good(await api.GET("/accounts/{account_id}", account));
const fees = good(
    await api.GET("/accounts/{account_id}/line_items", {
        params: { ...account.params, query: { line_item_type: "LATE_FEE" } },
    }),
);

// The lines of /bulk are sent unchanged.
const lines = await api.POST("/bulk", {
    body: '{"method":"POST","path":"/customers","body":{"customer_id":"ben","name_last":"Okafor"}}\n',
    bodySerializer: (text) => text,
    headers: { "Content-Type": "application/x-ndjson" },
    parseAs: "text",
});

// Errors are typed, too.
const refused = await api.GET("/accounts/{account_id}", { params: { path: { account_id: "nobody" } } });

console.log(
    JSON.stringify({
        late_fees: fees.results.length,
        principal_cents: summary.principal_cents,
        total_balance_cents: summary.total_balance_cents,
        total_paid_to_date_cents: summary.total_paid_to_date_cents,
        total_interest_paid_to_date_cents: summary.total_interest_paid_to_date_cents,
        account_status: account_overview.account_status,
        bulk_status: JSON.parse(String(lines.data)).status,
        refused: refused.error?.error.code,
    }),
);

export {};
