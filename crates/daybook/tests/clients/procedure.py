"""Loads a loan with its history through the Python client, and prints the result.

Reads a task as JSON from its only argument: url, client_id, client_secret, product_id, opened_at, principal_cents and
payments, each with line_item_id, original_amount_cents and effective_at.
"""

import json
import sys
import time

from daybook_client import AuthenticatedClient, Client
from daybook_client.api.access import create_token
from daybook_client.api.accounts import create_account, get_account
from daybook_client.api.customers import create_customer
from daybook_client.api.line_items import list_line_items, record_payment
from daybook_client.api.products import get_migration_mode, set_migration_mode
from daybook_client.models import (
    AccountSummary,
    AssignCustomer,
    Error,
    NewAccount,
    NewCustomer,
    PaymentRecord,
    SetMigrationMode,
    TokenRequest,
)

task = json.loads(sys.argv[1])


def good(answer):
    """The data of a response. Raises an error with its code if the call failed."""
    if isinstance(answer, Error):
        raise RuntimeError(f"{answer.error.code}: {answer.error.message}")
    return answer


request = TokenRequest(client_id=task["client_id"], client_secret=task["client_secret"])
token = good(create_token.sync(client=Client(base_url=task["url"]), body=request))
client = AuthenticatedClient(base_url=task["url"], token=token.access_token)

product_id = task["product_id"]
good(set_migration_mode.sync(product_id, client=client, body=SetMigrationMode(migration_mode=True)))
good(create_customer.sync(client=client, body=NewCustomer(customer_id="ana", name_first="Ana", name_last="Torres")))
loan = NewAccount.from_dict({"account_id": "loan", "product_id": product_id, "effective_at": task["opened_at"]})
loan.summary = AccountSummary(initial_principal_cents=task["principal_cents"])
loan.assign_customers = [AssignCustomer(customer_id="ana")]
good(create_account.sync(client=client, body=loan))

for payment in task["payments"]:
    good(record_payment.sync("loan", client=client, body=PaymentRecord.from_dict(payment)))

good(set_migration_mode.sync(product_id, client=client, body=SetMigrationMode(migration_mode=False)))
while not good(get_migration_mode.sync(product_id, client=client)).finished_at:
    time.sleep(0.1)

account = good(get_account.sync("loan", client=client))
fees = good(list_line_items.sync("loan", client=client, line_item_type="LATE_FEE"))

# The lines of /bulk are not one JSON document: they are sent unchanged.
lines = '{"method":"POST","path":"/customers","body":{"customer_id":"ben","name_last":"Okafor"}}\n'
headers = {"Content-Type": "application/x-ndjson"}
bulk = client.get_httpx_client().post("/bulk", content=lines, headers=headers)

# A failed call returns an Error.
refused = get_account.sync("nobody", client=client)

print(
    json.dumps(
        {
            "late_fees": len(fees.results),
            "principal_cents": account.summary.principal_cents,
            "total_balance_cents": account.summary.total_balance_cents,
            "total_paid_to_date_cents": account.summary.total_paid_to_date_cents,
            "total_interest_paid_to_date_cents": account.summary.total_interest_paid_to_date_cents,
            "account_status": account.account_overview.account_status,
            "bulk_status": json.loads(bulk.text)["status"],
            "refused": refused.error.code,
        }
    )
)
