"""Numbers worked out by hand: contract terms and changes. The loan is that of checking.py."""

from checking import at, expect, loan, moment, pay, reverse

NEXT = {"pouring": {"surplus": "NEXT_INSTALLMENT"}}


def change(kind, day, **fields):
    name = f"{kind} {day}"
    return {"id": name, "change_id": name, "kind": kind, "effective_at": moment(day), **fields}


def rate(day, percent, end=None, **fields):
    if end:
        fields["effective_at_exclusive_end"] = f"{end}T00:00:00Z"
    return change("interest_rate", day, interest_rate=percent, **fields)


def pause(start, end, **fields):
    return change("interest_pause", start, start=start, end=end, **fields)


def defer(day, due, to="MATURITY", **fields):
    more = {name: fields.pop(name) for name in list(fields) if name == "balance"}
    return change("payment_deferral", day, deferrals=[{"due_date": due, "deferred_to": to, **more}], **fields)


def with_account(case, **fields):
    return {**case, "account": {**case["account"], **fields}}


def contract(**fields):
    return with_account(loan(), **fields)


P1 = pay("p1", "2025-02-15", 40803)
START = "2025-01-15"


def contract_terms():
    found = at(contract(payment_amount_cents=40810), START)
    expect("payment amount", found, row_of_1=(1200, 39610), row_of_2=(804, 40006), row_of_3=(404, 40384))
    found = at(contract(payment_amount_cents=20000), START)
    expect("a small payment amount", found, total_of_1=20000, total_of_2=20000, row_of_3=(822, 82212))
    found = at(contract(balloon_cents=60000), START)
    expect("balloon", found, total_of_1=21001, total_of_2=21001, row_of_3=(802, 80200))
    found = at(contract(amortization_cycles=6), START)
    expect("amortization cycles", found, total_of_1=20706, total_of_2=20706, row_of_3=(808, 80793))
    rows = [{"due_date": f"2025-0{month}-15", "amount_cents": 40803} for month in (2, 3)]
    found = at(contract(schedule=[*rows, {"due_date": "2025-04-15"}]), START)
    expect("a given schedule", found, row_of_1=(1200, 39603), row_of_3=(404, 40398))
    rows = [{"due_date": "2025-02-15", "principal_cents": 0}, {"due_date": "2025-03-25", "principal_cents": 50000}]
    found = at(contract(schedule=[*rows, {"due_date": "2025-04-25"}]), START)
    expect("principal and interest only", found, row_of_1=(1200, 0), row_of_2=(1600, 50000), row_of_3=(700, 70000))
    # 1 month 10 days: 1,200.00 x 12 % x (1/12 + 10/360) = 16.00. The level payment is 409.37, so 806.63 is left.
    found = at(contract(first_due_date="2025-02-25"), START)
    expect("first due date", found, due_of_1="2025-02-25", due_of_2="2025-03-25", interest_of_1=1600, interest_of_2=807)


def tolerance():
    paid = pay("p1", "2025-02-15", 40798)
    case = loan(payment_due_policies={"shortfall_tolerance_cents": 10})
    found = at(case, "2025-02-21", paid)
    expect("tolerance", found, row_of_2=(804, 40004), total_of_3=40802, past_due_cents=0, late_fees=[], short_of_1=5)
    goes = {"shortfall_tolerance_cents": 10, "shortfall_goes_to": "LAST_INSTALLMENT"}
    found = at(loan(payment_due_policies=goes), "2025-02-21", paid)
    expect("tolerance to the last", found, total_of_2=40803, total_of_3=40807, past_due_cents=0, late_fees=[])
    paid = [pay(f"p{k}", f"2025-0{k + 1}-15", cents) for k, cents in ((1, 40803), (2, 40803), (3, 40750))]
    found = at(loan(payment_due_policies={"write_off_balance_cents": 100}), "2025-04-16", *paid)
    written = [("DEBIT_OFFSET", "2025-04-15T12:00:00Z", -52, "WRITE_OFF")]
    expect("written off", found, substatus="PAID_OFF", payoff_cents=0, offsets=written)


def rates():
    found = at(loan(), "2025-03-02", P1, rate("2025-03-01", 9))
    expect("9 % from 1 March", found, row_of_2=(703, 39999), row_of_3=(303, 40398), interest_rate_percent="9")
    found = at(loan(), "2025-03-02", P1, rate("2025-03-01", 9, level_payment="KEEP"))
    expect("9 %, KEEP", found, row_of_2=(703, 40100), row_of_3=(302, 40297))
    for kind in ("DAILY", "PERIODIC"):
        found = at(loan(interest=kind), "2025-03-10", P1, pause("2025-02-16", "2025-03-02"))
        expect(f"pause {kind}", found, row_of_2=(402, 40401), row_of_3=(400, 39996))
    scra = {"tags": {"scra": True}}
    for kind in ("DAILY", "PERIODIC"):
        found = at(loan(interest=kind), "2025-03-10", P1, rate("2025-02-15", None, **scra))
        expect(f"scra {kind}", found, row_of_2=(402, 39999), row_of_3=(202, 40398), is_active_scra=True)
        found = at(loan(interest=kind), "2025-03-10", P1, rate("2025-03-01", 6, **scra))
        expect(f"scra from 1 March {kind}", found, row_of_2=(603, 39999))
    early = pay("p2", "2025-03-10", 40401)
    found = at(loan(), "2025-03-21", P1, rate("2025-02-15", None, **scra), early)
    expect("what was asked and paid early stays paid", found, open_of_2=0, past_due_cents=0, late_fees=[])
    found = at(loan(), "2025-02-20", P1, rate("2025-02-15", 9))
    expect("9 % from a due date", found, row_of_1=(1200, 39603), row_of_2=(603, 40048), row_of_3=(303, 40349))
    both = rate("2025-02-15", 9, level_payment="KEEP"), rate("2025-03-01", 6, "2025-03-08", level_payment="KEEP")
    found = at(loan(), "2025-03-10", P1, *both)
    expect("two windows", found, row_of_2=(553, 40250), row_of_3=(301, 40147), interest_rate_percent="9")
    found = at(loan(**NEXT), "2025-03-02", pay("p1", "2025-02-15", 50803), rate("2025-03-01", 9))
    expect("prepaid in part", found, row_of_2=(616, 40086), open_of_2=30702, row_of_3=(302, 40311))
    early = pay("p2", "2025-02-20", 40803)
    found = at(loan(), "2025-03-02", P1, early, rate("2025-03-01", 9))
    expect("row 2 paid in full early", found, row_of_2=(144, 40659), row_of_3=(574, 39738))
    found = at(loan(interest="PERIODIC"), "2025-03-02", pay("p1", "2025-02-20", 82000), rate("2025-03-01", 0))
    expect("0 % after the period's interest was paid", found, row_of_3=(0, 40400), interest_cents=0)
    one_row = {"effective_at": moment(START), "summary": {"initial_principal_cents": 100000}}
    case = {**loan(1, fee=0), "account": one_row}
    found = at(case, "2025-03-15", pause("2025-02-10", "2025-03-01"))
    expect("a pause over the maturity", found, row_of_1=(839, 100000), payoff_cents=101339)


def reduced():
    """Who pays on time repays the same principal with a cap as without it."""
    for kind in ("DAILY", "PERIODIC"):
        for day_count in ("THIRTY_360", "ACTUAL_365"):
            case = loan(12, interest_policies={"interest_calc_method": kind, "day_count": day_count})
            cap = rate("2025-04-03", None, "2025-08-20", tags={"scra": True})
            plain, capped = (on_time(case, inputs) for inputs in ([], [cap]))
            same = {f"principal_of_{k}": plain[f"row {k}"][1] for k in range(1, 13)}
            expect(f"REDUCE {kind} {day_count}", capped, substatus="PAID_OFF", **same)


def on_time(case, inputs):
    dues = [f"2025-{month:02}-15" for month in range(2, 13)] + ["2026-01-15"]
    for k, due in enumerate(dues, 1):
        inputs = [*inputs, pay(f"p{k}", due, at(case, due, *inputs)[f"open {k}"])]
    return at(case, "2026-02-01", *inputs)


def known_late():
    """A change that is posted late counts from then; what its delay cost is given back."""
    late = {"posted_late": True, "effective_at_inclusive_start": moment("2025-02-15")}
    scra = rate("2025-03-01", None, tags={"scra": True}, **late)
    # From 15 February to 1 March 14 of 28 days: 803.97 x (12 % - 6 %) / 12 x 14 / 28 = 2.01.
    found = at(loan(), "2025-03-02", P1, scra)
    given = [("DEBIT_OFFSET", "2025-03-01T12:00:00Z", -201, "RETROACTIVE_RATE")]
    expect("a cap known late", found, row_of_2=(603, 39999), open_of_2=40602 - 201, offsets=given)
    nine = rate("2025-03-01", 9, level_payment="KEEP")
    ended = change("change_cancel", "2025-03-08", change=nine["id"], posted_late=True)
    found = at(loan(), "2025-03-09", P1, nine, ended)
    # 14 days at 12 %, 7 at 9 %, 7 at 12 %.
    expect("a rate that is ended", found, row_of_2=(754, 40049), interest_rate_percent="12")


def deferrals():
    found = at(loan(), "2025-02-11", defer("2025-02-10", "2025-02-15"))
    expect("deferred", found, row_of_1=(0, 0), row_of_2=(1200, 39603), row_of_3=(2004, 80397), deferred_of_3=40803)
    found = at(loan(), "2025-02-21", defer("2025-02-10", "2025-02-15"))
    expect("no fee for it", found, row_of_3=(2004, 80397), late_fees=[], past_due_cents=0, retired_of_1=True)
    found = at(loan(), "2025-02-26", defer("2025-02-25", "2025-02-15", "2025-03-15"))
    expect("a missed row", found, row_of_2=(2400, 79206), fees_cents=1500, status="ACTIVE", past_due_cents=0)
    deferred = defer("2025-02-20", "2025-02-15")
    inputs = pay("p1", "2025-02-10", 20000), deferred, reverse("p1", "2025-02-25")
    found = at(loan(), "2025-02-26", *inputs)
    # 10.06 of interest was paid by 10 February; 1,010.06 earned 1.63 until the 15th, which was deferred.
    expect("a bounce", found, retired_of_1=True, row_of_1=(0, 0), past_due_cents=0, principal_cents=120000)
    expect("the interest goes to row 2", found, total_of_2=40803, interest_cents=1006 + 163)
    found = at(loan(), "2025-02-20", defer("2025-02-10", "2025-02-15", interest_on_deferred="NONE"))
    expect("without interest", found, row_of_2=(804, 39999), row_of_3=(1604, 80001))


def dates():
    found = at(loan(), "2025-02-21", P1, change("skip", "2025-02-20"))
    expect("skip", found, due_of_2="2025-04-15", row_of_2=(1608, 39195), due_of_3="2025-05-15", row_of_3=(412, 41202))
    found = at(loan(), "2025-02-21", P1, change("skip", "2025-02-20", extend_term=False))
    expect("skip without extension", found, due_of_2="2025-04-15", row_of_2=(1608, 80397))
    moved = change("due_date", "2025-02-20", next_due_date="2025-03-25")
    found = at(loan(), "2025-02-21", P1, moved)
    due = {"due_of_2": "2025-03-25", "due_of_3": "2025-04-25"}
    expect("due date", found, row_of_2=(1072, 39731), row_of_3=(407, 40666), **due)
    actual = loan(interest_policies={"interest_calc_method": "DAILY", "day_count": "ACTUAL_365"})
    found = at(actual, "2025-02-21", pay("p1", "2025-02-15", 40792), moved)
    expect("due date, real days", found, total_of_1=40792, row_of_2=(1005, 39787))
    found = at(loan(), "2025-02-21", P1, change("extension", "2025-02-20", count=2))
    expect("extension", found, total_of_2=20604, total_of_4=20604, total_of_5=20605)
    found = at(loan(), "2025-02-21", P1, change("due_date", "2025-02-20", next_due_date="2025-03-31"))
    expect("to the 31st", found, row_of_2=(1233, 39570), due_of_3="2025-04-30", row_of_3=(408, 40827))
    found = at(loan(), "2025-02-21", P1, change("due_date", "2025-02-20", next_due_date="2025-03-15"))
    expect("to itself", found, row_of_2=(804, 39999), row_of_3=(404, 40398))


def workouts():
    found = at(loan(), "2025-02-26", change("re_amortization", "2025-02-25"))
    expect("re-amortised", found, row_of_2=(2400, 59111), row_of_3=(609, 60889), status="ACTIVE", row_of_1=(0, 0))
    found = at(loan(), "2025-02-26", change("re_amortization", "2025-02-25", interest="SPREAD"))
    expect("spread", found, row_of_2=(1800, 59701), row_of_3=(1203, 60299), past_due_cents=0)
    found = at(loan(), "2025-03-15", P1, change("re_amortization", "2025-03-15"))
    expect("due on that very date", found, row_of_2=(0, 0), row_of_3=(1608, 80397))
    found = at(loan(), "2025-03-16", P1, change("re_amortization", "2025-03-15"))
    expect("a day later", found, row_of_2=(0, 0), row_of_3=(1608, 80397), past_due_cents=0)
    again = {"first_due_date": "2025-04-15", "installments": 3}
    re_age = lambda **fields: change("re_age", "2025-03-20", **again, **fields)
    found = at(loan(), "2025-03-20", re_age())
    cured = {"status": "ACTIVE", "days_past_due": 0, "consecutive_late_fees": 0, "past_due_cents": 0}
    expect("re-aged", found, row_of_3=(3600, 38019), row_of_4=(820, 40799), row_of_5=(412, 41182), **cured)
    found = at(loan(), "2025-03-20", re_age(interest="SPREAD"))
    expect("spread", found, total_of_3=41603, total_of_4=41603, total_of_5=41602)
    found = at(loan(), "2025-03-20", re_age(interest="WAIVE"))
    waived = [("DEBIT_OFFSET", "2025-03-20T12:00:00Z", -2594, "INTEREST_WAIVED")]
    expect("waived", found, row_of_4=(1006, 39797), row_of_5=(802, 40001), row_of_6=(402, 40202), offsets=waived)
    found = at(loan(), "2025-03-20", re_age(interest="CAPITALIZE"))
    expect("capitalised", found, principal_cents=122594, row_of_4=(1028, 40657), total_of_5=41685)
    replays = loan(backdating_policy="REPLAY")
    found = at(replays, "2025-03-21", re_age(), pay("p1", "2025-02-15", 40803))
    expect("folded again", found, total_of_3=27610, total_of_4=27610, total_of_5=27602, late_fees=[])


def rounding():
    real = {"interest_calc_method": "DAILY", "day_count": "ACTUAL_365"}
    wanted = {"PERIOD_END": (1121, 678, 377), "CARRY": (1121, 679, 376), "DAILY": (1116, 672, 372)}
    for where, interest in wanted.items():
        case = loan(interest_policies={**real, "interest_rounding_at": where})
        case["product"]["post_promotional_policies"]["post_promo_default_interest_rate_percent"] = 11
        found = at(case, START)
        rows = {f"interest_of_{k}": cents for k, cents in enumerate(interest, 1)}
        expect(f"rounded {where}", found, total_of_1=40725, **rows)


def precomputed():
    case = loan(plan={"method": "PRECOMPUTED", "precomputed_split": "SUM_OF_DIGITS"})
    found = at(case, "2025-01-20")
    rows = {"row_of_1": (1800, 39400), "row_of_2": (1200, 40000), "row_of_3": (600, 40600)}
    expect("the rule of 78", found, payoff_cents=121800, **rows)
    found = at(loan(plan={"method": "PRECOMPUTED"}), "2025-01-20")
    expect("actuarial", found, payoff_cents=121200, row_of_1=(1200, 39603), row_of_3=(404, 40398))
    kept = {"method": "PRECOMPUTED", "precomputed_refund": "NONE"}
    found = at(loan(plan=kept), "2025-01-20")
    expect("all interest is owed", found, payoff_cents=120000 + 1200 + 804 + 404)
    found = at(loan(plan=kept), "2025-01-21", pay("p1", "2025-01-20", 122408))
    expect("and paid", found, substatus="PAID_OFF", payoff_cents=0, surplus_cents=0)
    found = at(loan(plan={"method": "PRECOMPUTED", "precomputed_split": "EQUAL"}), "2025-01-20")
    expect("equal", found, payoff_cents=121200, row_of_3=(1200, 40000))


def openings():
    full = loan()
    past = {"due_date": "2025-02-15", "principal_cents": 39603, "interest_cents": 1200, "total_cents": 40803}
    fees = [{"line_item_id": "late", "amount_cents": 1500, "fee_class": "PENALTY"}]
    given = {
        "as_of": moment("2025-03-01"), "principal_cents": 120000, "next_due_date": "2025-03-15",
        "remaining_installments": 2, "payment_amount_cents": 40803, "past_due": [past], "fees": fees,
        "accrued_interest_cents": 600, "consecutive_late_fees": 1, "account_status": "SUSPENDED",
        "account_substatus": "DELINQUENT",
    }  # fmt: skip
    case = {**full, "account": {"effective_at": moment(START), "opening": given, "summary": {}}}
    boarded, history = at(case, "2025-03-01"), at(full, "2025-03-01")
    for found in (boarded, history):
        expect("opening", found, payoff_cents=123300, days_past_due=14, consecutive_late_fees=1, status="SUSPENDED")
    later = [pay("p1", "2025-03-10", 81606), pay("p2", "2025-04-15", 43000)]
    boarded, history = at(case, "2025-04-20", *later), at(full, "2025-04-20", *later)
    for k in (2, 3):
        expect(f"row {k} after the opening", boarded, **{f"row_of_{k}": history[f"row {k}"]})
    same = ("status", "principal_cents", "interest_cents", "fees_cents", "payoff_cents", "past_due_cents")
    expect("and what follows", boarded, **{name: history[name] for name in same})


CHECKS = [contract_terms, tolerance, rates, reduced, known_late, deferrals, dates, workouts, rounding, precomputed, openings]
