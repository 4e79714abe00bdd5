//! Fairness, limits, and callers who give up.

use super::*;
use tokio::task::{JoinHandle, yield_now};

const FEW: SlotLimits = SlotLimits { in_progress_each: 2, in_progress: 3, waiting: 4 };

fn counts(slots: &Slots) -> (usize, usize) {
    let state = lock(&slots.state);
    (state.in_progress, state.waiting)
}

/// A read that waits.
async fn waits(slots: &Arc<Slots>, org: OrgId) -> JoinHandle<Result<CallSlot, Problem>> {
    let (_, before) = counts(slots);
    let taking = tokio::spawn({
        let slots = slots.clone();
        async move { slots.take(org).await }
    });
    while counts(slots).1 == before {
        assert!(!taking.is_finished(), "a read of organization {org} does not wait");
        yield_now().await;
    }
    taking
}

/// The slot of a read that waited.
async fn got(waiting: JoinHandle<Result<CallSlot, Problem>>) -> CallSlot {
    waiting.await.expect("it ran").expect("it got a slot")
}

async fn refused(waiting: JoinHandle<Result<CallSlot, Problem>>) -> Problem {
    waiting.await.expect("it ran").expect_err("it got no slot")
}

fn takes(slots: &Arc<Slots>, org: OrgId) -> CallSlot {
    match slots.take_or_wait(org) {
        Ok(Admission::Slot(slot)) => slot,
        other => panic!("organization {org} got {other:?}"),
    }
}

#[tokio::test]
async fn an_organization_gets_its_share_and_leaves_the_rest_to_others() {
    let slots = Slots::new(FEW);
    let first = takes(&slots, 1);
    let _second = takes(&slots, 1);
    let third = waits(&slots, 1).await;
    let _other = takes(&slots, 2);
    assert_eq!(counts(&slots), (3, 1));
    drop(first);
    let _third = got(third).await;
    assert_eq!(counts(&slots), (3, 0));
}

#[tokio::test]
async fn a_free_slot_goes_to_the_organization_with_the_fewest_then_to_the_longest_wait() {
    let slots = Slots::new(FEW);
    let (first, second, other) = (takes(&slots, 1), takes(&slots, 1), takes(&slots, 2));
    let of_first = waits(&slots, 1).await;
    let of_second = waits(&slots, 2).await;
    let of_third = waits(&slots, 3).await;
    let of_fourth = waits(&slots, 4).await;
    drop(second);
    let third = got(of_third).await;
    assert!([&of_first, &of_second, &of_fourth].iter().all(|waiting| !waiting.is_finished()), "3 had none");
    drop(third);
    let fourth = got(of_fourth).await;
    drop(fourth);
    let again = got(of_first).await;
    assert!(!of_second.is_finished(), "1 and 2 had one each, and 1 has waited longer");
    drop((first, again));
    got(of_second).await;
    drop(other);
    let state = lock(&slots.state);
    assert_eq!((state.in_progress, state.waiting, state.organizations.len()), (0, 0, 0), "idle ones are forgotten");
}

#[tokio::test]
async fn a_caller_who_gives_up_leaves_its_place() {
    let slots = Slots::new(FEW);
    let (first, _second) = (takes(&slots, 1), takes(&slots, 1));
    let gives_up = waits(&slots, 1).await;
    let stays = waits(&slots, 1).await;
    gives_up.abort();
    assert!(gives_up.await.is_err());
    assert_eq!(counts(&slots), (2, 1));
    drop(first);
    let granted = got(stays).await;
    // It gives up after the slot was granted, and before it runs again.
    let gives_up = waits(&slots, 1).await;
    drop(granted);
    assert_eq!(counts(&slots), (2, 0), "the slot is granted");
    gives_up.abort();
    assert!(gives_up.await.is_err());
    assert_eq!(counts(&slots), (1, 0));
}

#[tokio::test(start_paused = true)]
async fn a_read_waits_for_a_limited_time() {
    let slots = Slots::new(FEW);
    let _held = (takes(&slots, 1), takes(&slots, 1));
    let waiting = waits(&slots, 1).await;
    tokio::time::sleep(PATIENCE - Duration::from_millis(1)).await;
    assert!(!waiting.is_finished());
    tokio::time::sleep(Duration::from_millis(2)).await;
    assert!(waiting.is_finished(), "it waits longer");
    let problem = refused(waiting).await;
    assert_eq!((problem.code, problem.wait_seconds), ("unavailable", RETRY_SECONDS));
    assert_eq!(
        problem.message,
        "too many calls of this kind are in progress; this call waited 30 s and was not started; retry in 5 s"
    );
    assert_eq!(counts(&slots), (2, 0));
}

#[tokio::test]
async fn the_waiting_list_is_limited_and_one_organization_cannot_fill_it() {
    let slots = Slots::new(FEW);
    let held = (takes(&slots, 1), takes(&slots, 1), takes(&slots, 2));
    let mut of_first = Vec::new();
    for _ in 0..FEW.waiting {
        of_first.push(waits(&slots, 1).await);
    }
    let problem = slots.take(1).await.expect_err("the list is full");
    assert_eq!(
        problem.message,
        "too many calls of this kind are in progress, and too many calls are already waiting; retry in 5 s"
    );
    let mut others = Vec::new();
    for org in [2, 3] {
        let slots = slots.clone();
        others.push(tokio::spawn(async move { slots.take(org).await }));
        let last = of_first.pop().expect("it has more than the others");
        assert_eq!(refused(last).await.message, problem.message, "the largest organization loses its last");
    }
    assert_eq!(counts(&slots), (3, FEW.waiting));
    assert!(slots.take(2).await.is_err(), "the largest organization would have no more than this one");
    drop(held);
    for waiting in others.into_iter().chain(of_first) {
        got(waiting).await;
    }
}

#[tokio::test]
async fn a_call_has_one_slot_until_it_ends() {
    let slots = CallSlots::default();
    let in_progress = |kind| slots.counts(kind).in_progress;
    within_a_slot(async {
        for _ in 0..3 {
            slots.begin(1, CallKind::List).await.expect("a slot is free");
        }
        slots.begin(1, CallKind::Object).await.expect("it has a slot");
        assert_eq!((in_progress(CallKind::List), in_progress(CallKind::Object)), (1, 0));
    })
    .await;
    assert_eq!(in_progress(CallKind::List), 0);
    slots.begin(1, CallKind::List).await.expect("no slot is needed");
    assert_eq!(in_progress(CallKind::List), 0, "work outside a call that reads takes none");
}

#[tokio::test]
async fn a_read_of_one_object_does_not_wait_for_lists() {
    let slots = CallSlots::default();
    let _lists = slots.take_all(1, CallKind::List).await.expect("they are free");
    within_a_slot(async {
        slots.begin(1, CallKind::Object).await.expect("a slot is free");
        assert_eq!(slots.counts(CallKind::Object), CallCounts { in_progress: 1, waiting: 0 });
    })
    .await;
    for (route, kind) in [
        ("/customers", CallKind::List),
        ("/customers/{customer_id}", CallKind::Object),
        ("/accounts/{account_id}/line_items", CallKind::List),
        ("", CallKind::List),
    ] {
        assert_eq!(CallKind::of_route(route), kind, "{route}");
    }
}
