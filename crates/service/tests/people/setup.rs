//! People to sign in, and a clock to advance.

use crate::support::Trial;
use daybook_engine::time::Time;
use daybook_service::access::Role;
use daybook_service::people::{NewPerson, Session, Visit};
use daybook_service::problem::{Problem, ProblemKind};

pub const NOW: &str = "2026-04-01T12:00:00Z";
pub const PASSWORD: &str = "correct horse";
pub const SECOND: i64 = 1_000_000;

pub fn person(name: &str) -> NewPerson {
    NewPerson { name: name.into(), email: format!("{name}@lender.example"), password: PASSWORD.into() }
}

/// Advances the clock.
pub fn wait(trial: &Trial, micros: i64) -> Time {
    let now = trial.clock_now().plus_micros(micros);
    trial.clock.set(now);
    now
}

/// Creates a person with a new link.
pub async fn join(trial: &Trial, name: &str, role: Role) -> Session {
    let token = trial.service.invite(&trial.who, role).await.expect("a link");
    trial.service.accept(&token, person(name), None).await.expect("they come in")
}

pub async fn visit(trial: &Trial, session: &Session) -> Option<Visit> {
    trial.service.visit(&session.token).await.expect("the database answers")
}

pub async fn here(trial: &Trial, session: &Session) -> Visit {
    visit(trial, session).await.expect("they are signed in")
}

pub async fn sign_in(trial: &Trial, name: &str, password: &str) -> Result<Session, Problem> {
    trial.service.sign_in(&format!("{name}@lender.example"), password, None).await
}

#[track_caller]
pub fn code<T>(answer: Result<T, Problem>) -> &'static str {
    match answer {
        Ok(_) => panic!("it was not refused"),
        Err(problem) => problem.code,
    }
}

/// After how many seconds to retry.
#[track_caller]
pub fn seconds<T>(answer: Result<T, Problem>) -> i64 {
    let problem = answer.err().expect("it is refused");
    assert_eq!((problem.code, problem.kind), ("rate_limited", ProblemKind::TooMany));
    let words: Vec<&str> = problem.message.split(' ').collect();
    words[words.len() - 2].parse().unwrap_or_else(|_| panic!("no seconds: {problem}"))
}
