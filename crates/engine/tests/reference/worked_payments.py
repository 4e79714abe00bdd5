"""Numbers worked out by hand: payments, late fees, statuses, surplus. The loan is that of checking.py."""

from checking import at, decide, expect, fee, loan, offset, pay, reverse, status


def instalments_first():
    daily, periodic = loan(), loan(interest="PERIODIC")
    paid = pay("p1", "2025-02-15", 40803)
    expect("the plan", at(daily, "2025-01-15"), row_of_1=(1200, 39603), row_of_2=(804, 39999), row_of_3=(404, 40398))
    expect("p1", at(daily, "2025-02-16", paid), principal_cents=80397, past_due_cents=0, row_of_2=(804, 39999))
    late = pay("p1", "2025-02-16", 40803)
    cured = {"past_due_cents": 0, "days_past_due": 0, "open_of_1": 0, "status": "ACTIVE", "fees_cents": 0}
    expect("p1 one day late", at(daily, "2025-02-21", late), row_of_2=(818, 39985), **cured)
    expect("p1 one day late, PERIODIC", at(periodic, "2025-02-21", late), row_of_2=(1200, 39603), **cured)
    old = ["PAST_DUE_FEE", "PAST_DUE_PENALTY", "DUE_FEE", "DUE_PENALTY", "PAST_DUE_INTEREST", "DUE_INTEREST"]
    for span in ({}, {"span": "BUCKET_FIRST"}):
        pouring = {"order": [*old, "PAST_DUE_PRINCIPAL", "DUE_PRINCIPAL"], **span}
        expect("by the old order", at(loan(pouring=pouring), "2025-02-17", late), past_due_cents=43, days_past_due=2)
        found = at(loan(interest="PERIODIC", pouring=pouring), "2025-02-17", late)
        expect("by the old order, PERIODIC", found, past_due_cents=1200)
    found = at(loan(pouring={"span": "INSTALLMENTS_FIRST"}), "2025-02-21", late)
    expect("the span alone", found, row_of_2=(818, 39985), **cured)
    found = at(loan(pouring={"span": "BUCKET_FIRST"}), "2025-02-21", late)
    expect("another span alone, in the default order", found, row_of_2=(818, 39985), **cured)
    one_of_two = pay("p1", "2025-03-16", 40803)
    expect("row by row", at(periodic, "2025-03-17", one_of_two), open_of_1=0, open_of_2=40803, days_past_due=2)
    found = at(loan(interest="PERIODIC", pouring={"span": "BUCKET_FIRST"}), "2025-03-17", one_of_two)
    expect("bucket by bucket", found, open_of_1=1200, open_of_2=39603, days_past_due=30)
    catch_up = pay("p2", "2025-03-16", 81606)
    found = at(daily, "2025-03-17", catch_up)
    expect("what two rows ask cures, the fee stays", found, status="ACTIVE", days_past_due=0, fees_cents=1500)
    expect("the fee of a paid row is past due", found, past_due_cents=1500, past_due_fees_cents=1500)


def sparing():
    early, next_one = pay("p1", "2025-02-10", 30000), pay("p2", "2025-03-10", 40803)
    found = at(loan(interest="PERIODIC"), "2025-03-31", early, next_one)
    expect("300.00, then 408.03", found, open_of_1=0, open_of_2=10803, row_of_2=(912, 39891), fees_cents=1500)
    expect("RECEIPTS spares row 2", found, late_fees=["2025-02-20"], consecutive_late_fees=0)
    case = loan(interest="PERIODIC", fees={"late_fee_pyramiding": "FEES_ONLY"})
    found = at(case, "2025-03-31", early, next_one)
    expect("FEES_ONLY charges a second fee", found, late_fees=["2025-02-20", "2025-03-20"], open_of_2=10803)
    found = at(loan(), "2025-03-31", pay("p1", "2025-02-16", 40803))
    expect("money in the grace of row 1 does not spare row 2", found, late_fees=["2025-03-20"])
    fees_first = {"order": ["PAST_DUE_PENALTY"]}
    case = loan(pouring=fees_first, interest="PERIODIC")
    ones = [pay("p1", "2025-02-25", 40803), pay("p2", "2025-03-10", 40803)]
    ones.append(pay("p3", "2025-04-10", at(case, "2025-04-10", *ones)["total 3"]))
    found = at(case, "2025-04-30", *ones)
    wanted = {"late_fees": ["2025-02-20"], "fees_cents": 0, "open_of_3": 1500}
    expect("the fee takes 15.00, and makes no row late", found, **wanted)


def last_row():
    """The last row, and interest after maturity."""
    case = loan(12, "2027-01-15T12:00:00Z", "10 days", interest_policies={})
    paid = [pay(f"p{k}", f"2027-{k + 1:02}-15", 10662) for k in range(1, 12)]
    found = at(case, "2028-01-14", *paid)
    expect("the last row", found, total_of_12=10660)
    found = at(case, "2028-02-14", *paid, pay("p12", "2028-01-18", 10660))
    expect("the last row paid in grace", found, late_fees=[], days_past_due=0, total_of_12=10660, principal_cents=0)
    expect("interest after maturity is a row of its own", found, payoff_cents=106, status="ACTIVE", past_due_cents=0)
    found = at(case, "2028-02-16", *paid, pay("p12", "2028-01-18", 10660))
    expect("it is past due once posted", found, past_due_cents=106, days_past_due=1, interest_cents=106)
    order = {"order": ["PAST_DUE_INTEREST", "DUE_INTEREST", "PAST_DUE_FEE"]}
    for pouring in ({}, order, {**order, "span": "OLDEST_INSTALLMENT_FIRST"}):
        case = loan(12, "2027-01-15T12:00:00Z", "10 days", pouring=pouring)
        found = at(case, "2028-01-19", *paid, pay("p12", "2028-01-18", 10660))
        expect("the last row's principal comes first", found, principal_cents=0, open_of_12=0, payoff_cents=10)
        wanted = pay("p12", "2028-01-18", 10660, allocation="INTEREST")
        expect("but not with an allocation", at(case, "2028-01-19", *paid, wanted), principal_cents=10)


def level_given_back():
    """Undoing a payment restores the plan that it lowered."""
    start, day = "2027-01-15T12:00:00Z", "2027-01-20"
    for kind in ("DAILY", "PERIODIC"):
        case = loan(12, start, pouring={"surplus": "REDUCE_PRINCIPAL"}, interest=kind)
        payoff = at(case, day)["payoff_cents"]
        plan = {f"total_of_{k}": 10662 for k in range(1, 12)}
        paid = pay("p1", day, payoff - 1)
        expect("lowered", at(case, day, paid), total_of_2=0, payoff_cents=1)
        undone = at(case, day, paid, reverse("p1", day))
        expect("a payment reversed gives back the plan", undone, payoff_cents=payoff, **plan)
        pending = pay("p1", day, payoff - 1, line_item_status="PENDING")
        undone = at(case, day, pending, decide("p1", day, "INVALID"))
        expect("so does one made INVALID", undone, payoff_cents=payoff, **plan)
    case = loan(12, start, pouring={"surplus": "REDUCE_PRINCIPAL"}, interest="PERIODIC")
    both = [pay("p1", day, 30000), pay("p2", day, 30000)]
    one = at(case, day, both[0])["total 2"]
    expect("the second is undone", at(case, day, *both, reverse("p2", day)), total_of_2=one)
    # 900.00 is unpaid, 94.62 of it in row 1: 805.38 over eleven rows.
    expect("the first is undone, and the second stays", at(case, day, *both, reverse("p1", day)), total_of_2=7768)
    undone = at(case, day, *both, reverse("p1", day), reverse("p2", day))
    expect("both are undone", undone, total_of_2=10662, total_of_11=10662, principal_cents=120000)


def quotes():
    """A payment of the payoff quote closes the account."""
    start, day = "2027-01-15T12:00:00Z", "2027-01-20"
    for method in ("LEVEL", "EQUAL_PRINCIPAL", "FLAT"):
        for surplus in ("LAST_INSTALLMENT", "NEXT_INSTALLMENT", "REDUCE_PRINCIPAL"):
            for kind in ("DAILY", "PERIODIC"):
                case = loan(3, start, plan={"method": method}, pouring={"surplus": surplus}, interest=kind)
                quote = at(case, day)["payoff_cents"]
                if method == "FLAT":
                    expect("a flat payoff", at(case, day), payoff_cents=121200)
                found = at(case, day, pay("p1", day, quote))
                closed = {"status": "CLOSED", "substatus": "PAID_OFF", "surplus_cents": 0, "payoff_cents": 0}
                expect(f"the quote is paid: {method} {surplus} {kind}", found, **closed)
                found = at(case, "2027-06-01", pay("p1", day, quote + 1))
                closed = {"status": "CLOSED", "substatus": "SURPLUS_BALANCE", "surplus_cents": 1, "payoff_cents": 0}
                expect(f"a cent more is paid: {method} {surplus} {kind}", found, **closed)


def authorised():
    """Authorised payments. One period's interest is 12.00, that of the next is on 803.97 or 1,200.00."""
    start = "2027-01-15T12:00:00Z"
    payment = pay("p1", "2027-02-10", 40803, line_item_status="AUTHORIZED")
    decision = decide("p1", "2027-02-20", "VALID")
    case = loan(3, start, "0 days", interest="PERIODIC", backdating_policy="REPLAY")
    found = at(case, "2027-02-21", payment, decision)
    expect("REPLAY: from its own time", found, principal_cents=80397, status="ACTIVE", late_fees=[], past_due_cents=0)
    expect("REPLAY: not before the decision", at(case, "2027-02-19", payment, decision), principal_cents=120000)
    case = loan(3, start, "0 days", interest="PERIODIC")
    found = at(case, "2027-02-21", payment, decision)
    expect("AS_POSTED: from the decision", found, principal_cents=80397, late_fees=["2027-02-15"], fees_cents=1500)
    found = at(case, "2027-02-21", payment, decide("p1", "2027-03-01", "VALID"))
    expect("a decision to come", found, principal_cents=120000)
    found = at(case, "2027-02-21", payment, decide("p1", "2027-01-30", "VALID"))
    expect("a decision before", found, principal_cents=80397, late_fees=[])


def closing_instant():
    """The closing instant belongs to the period that ends."""
    start, close = "2027-01-15T12:00:00Z", "2027-02-15T23:59:59Z"
    case = loan(3, start, interest="PERIODIC")
    before = pay("p1", "2027-02-15T23:59:58.999999Z", 40803)
    exactly, late = pay("p1", close, 40803), pay("p1", close, 40803, posted_late=True)
    for payment in (before, exactly, late):
        expect("the next period", at(case, "2027-02-16", payment), payoff_cents=80397 + 804, row_of_2=(804, 39999))
    expect("at the instant itself", at(case, close, late), payoff_cents=80397, row_of_2=(804, 39999))


def bounces():
    """Three late, cured, bounced."""
    case = loan(12, "2027-01-15T12:00:00Z", "0 days", payment_due_policies={"delinquent_on_n_consecutive_late_fees": 3})
    cure = pay("p1", "2027-04-20", 31986)
    late = at(case, "2027-04-19")
    expect("three late", late, status="SUSPENDED", consecutive_late_fees=3)
    found = at(case, "2027-04-25", cure)
    expect("cured", found, status="ACTIVE", consecutive_late_fees=0, days_past_due=0)
    found = at(case, "2027-04-30", cure, reverse("p1", "2027-04-26"))
    again = {"status": "SUSPENDED", "substatus": "DELINQUENT", "consecutive_late_fees": 3, "past_due_cents": 36486}
    expect("bounced", found, fees_cents=4500, days_past_due=74, **again)
    for pair in ("SCRA", "EXEMPTIONS"):
        named = status("2027-01-20", "ACTIVE", pair)
        bounce = status("2027-04-21", "SUSPENDED", "DELINQUENT")
        found = at(case, "2027-04-22", named, bounce, pay("p2", "2027-04-22T11:00:00Z", 31986))
        expect("the pair that was left", found, status="ACTIVE", substatus=pair)


def surplus():
    """600.00 of surplus, and 408.03 past due again."""
    case = loan(3, "2027-01-15T12:00:00Z", interest="PERIODIC")
    paid = [pay(f"p{k}", f"2027-0{k + 1}-15", 40803) for k in (1, 2)]
    last = at(case, "2027-04-15", *paid)["payoff_cents"]
    paid.append(pay("p3", "2027-04-15", last + 60000))
    found = at(case, "2027-04-20", *paid)
    expect("surplus", found, substatus="SURPLUS_BALANCE", surplus_cents=60000)
    found = at(case, "2027-04-20", *paid, reverse("p1", "2027-04-20"))
    expect("it is used", found, surplus_cents=19197, past_due_cents=0, substatus="SURPLUS_BALANCE", used=[-40803])
    found = at(case, "2027-04-20", *paid, fee("2027-04-19", 60000))
    expect("all of it for a fee", found, surplus_cents=0, fees_cents=0, substatus="PAID_OFF", used=[-60000])
    found = at(case, "2027-04-20", *paid, offset("credit_offset", "2027-04-19", 70000, "PRINCIPAL"))
    expect("all of it for a credit offset", found, surplus_cents=0, principal_cents=10000, used=[-60000])
    found = at(case, "2027-04-20", *paid, reverse("p1", "2027-04-18"), reverse("p3", "2027-04-19"))
    owed = {"surplus_cents": 0, "status": "SUSPENDED", "used": [-40803, 40803]}
    expect("its use is reversed with it", found, principal_cents=39603 + 40398, interest_cents=1200 + 404, **owed)
    more = pay("p4", "2027-04-19", 100)
    found = at(case, "2027-04-20", *paid[:2], pay("p3", "2027-04-15", last), more)
    expect("PAID_OFF that receives money", found, substatus="SURPLUS_BALANCE", surplus_cents=100)


def statuses():
    case, start = loan(), "2025-01-20"
    for reason in ("BANKRUPTCY", "DECEASED", "HARDSHIP", "FRAUD"):
        found = at(case, "2025-04-30", status(start, "SUSPENDED", reason))
        expect(f"no late fee in {reason}", found, late_fees=[], substatus=reason, consecutive_late_fees=0)
    for reason in ("HARDSHIP", "SCRA"):
        expect(f"no late fee in {reason}", at(case, "2025-03-31", status(start, "ACTIVE", reason)), late_fees=[])
    expect("INACTIVITY", at(case, "2025-02-28", status(start, "SUSPENDED", "INACTIVITY")), late_fees=["2025-02-20"])
    charged = loan(status_effects={"SUSPENDED/BANKRUPTCY": {"late_fees": "CHARGE"}})
    found = at(charged, "2025-02-28", status(start, "SUSPENDED", "BANKRUPTCY"))
    expect("the product says otherwise", found, late_fees=["2025-02-20"], status="SUSPENDED", consecutive_late_fees=0)
    none = loan(status_effects={"ACTIVE": {"interest": "STOP"}})
    expect("no interest from the beginning", at(none, "2025-01-15"), row_of_1=(0, 40803), row_of_3=(0, 38394))
    # Of the 28 dates of the second period, 14 earn.
    stop, go_on = status("2025-03-01", "SUSPENDED", "FRAUD"), status("2025-03-15", "ACTIVE")
    paid = pay("p1", "2025-02-15", 40803)
    for kind in ("DAILY", "PERIODIC"):
        case = loan(interest=kind)
        found = at(case, "2025-03-02", paid, stop)
        expect("interest stops", found, row_of_2=(402, 40401), per_diem_cents=0, payoff_cents=80397 + 402)
        found = at(case, "2025-03-16", paid, stop, go_on, pay("p2", "2025-03-15", 40803))
        expect("and goes on", found, row_of_2=(402, 40401), row_of_3=(400, 39996))
        off = pay("payoff", "2025-03-02", 80799)
        found = at(case, "2025-03-16", paid, stop, off, go_on)
        expect("what was paid off earns nothing more", found, substatus="PAID_OFF", payoff_cents=0, surplus_cents=0)
        early = status("2025-03-08", "ACTIVE")
        found = at(case, "2025-03-09", paid, stop, early)
        expect("a week without interest", found, row_of_2=(603, 40200))


CHECKS = [
    instalments_first, sparing, last_row, level_given_back, quotes, authorised, closing_instant, bounces, surplus,
    statuses,
]  # fmt: skip
