//! The URLs of a campaign: how each answers now, what it got and answered, and its subscriptions.

use super::chance::Chance;
use async_trait::async_trait;
use daybook_clock::{Clock, Manual};
use daybook_service::webhooks::guard::Resolve;
use daybook_testkit::receiver::{Behaviour, PreparedResponse, Receiver};

use std::collections::{BTreeSet, HashMap};
use std::io;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// No process listens here: connections are refused.
const CLOSED_PORT: SocketAddr = SocketAddr::new(std::net::IpAddr::V4(std::net::Ipv4Addr::LOCALHOST), 1);
/// How long a slow receiver takes.
const SLOWLY: Duration = Duration::from_millis(3);

/// The addresses of the campaign's host names. An absent name has no address.
#[derive(Debug, Default)]
pub struct Names(Mutex<HashMap<String, SocketAddr>>);

impl Names {
    fn lead(&self, host: &str, address: Option<SocketAddr>) {
        let mut names = self.0.lock().unwrap();
        match address {
            Some(address) => names.insert(host.to_owned(), address),
            None => names.remove(host),
        };
    }
}

#[async_trait]
impl Resolve for Names {
    async fn addresses(&self, host: &str, _port: u16) -> io::Result<Vec<SocketAddr>> {
        let found = self.0.lock().unwrap().get(host).copied();
        found.map(|address| vec![address]).ok_or_else(|| io::Error::other("there is no such name"))
    }
}

/// How a URL answers messages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mood {
    Answers(u16),
    /// 429, with the seconds of `Retry-After`.
    Throttles(Option<u64>),
    /// Accepts four of seven messages; the others get 500, 503 and 404.
    Mixed,
    /// Accepts two of three messages, and each answer takes a different time: answers arrive at every moment of a
    /// recording.
    Uneven,
    /// Accepts everything, after a short delay.
    Slow,
    Redirects,
    /// Never answers.
    Silent,
    /// Closes the connection instead of answering.
    Closes,
    /// A 1XX status, and the end of the connection.
    OnlyInformational,
    Garbage,
    Refuses,
    NoName,
}

/// The possible moods. Those that accept messages occur more often.
const MOODS: [Mood; 32] = [
    Mood::Answers(200),
    Mood::Answers(200),
    Mood::Answers(200),
    Mood::Answers(202),
    Mood::Slow,
    Mood::Slow,
    Mood::Mixed,
    Mood::Mixed,
    Mood::Mixed,
    Mood::Mixed,
    Mood::Uneven,
    Mood::Uneven,
    Mood::Uneven,
    Mood::Uneven,
    Mood::Answers(204),
    Mood::Answers(404),
    Mood::Answers(410),
    Mood::Answers(401),
    Mood::Throttles(None),
    Mood::Throttles(Some(2)),
    Mood::Throttles(Some(90)),
    Mood::Throttles(Some(900)),
    Mood::Answers(500),
    Mood::Answers(500),
    Mood::Answers(503),
    Mood::Redirects,
    Mood::Silent,
    Mood::Closes,
    Mood::OnlyInformational,
    Mood::Garbage,
    Mood::Refuses,
    Mood::NoName,
];

impl Mood {
    pub fn drawn(chance: &mut Chance) -> Mood {
        chance.one_of(&MOODS)
    }

    /// Whether sending pauses for a while after it.
    fn holds(self) -> bool {
        matches!(self, Mood::Throttles(_) | Mood::Refuses | Mood::NoName)
    }
}

/// The role of a URL.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// Accepts everything at once, and people do not act on it: it gets each message, those of an account in order.
    Steady,
    /// Accepts everything, has limits, and people do not act on it: the limits hold.
    Limited { per_second: u64, in_flight: usize },
    /// Anything happens to it.
    Free,
}

/// The answers of a receiver, by the number of the request.
#[derive(Debug)]
struct Book {
    clock: Arc<Manual>,
    /// Number, status, and the clock in microseconds.
    answered: Mutex<Vec<(usize, u16, i64)>>,
    under_way: AtomicUsize,
    most_under_way: AtomicUsize,
}

impl Book {
    fn answers(self: &Arc<Book>, answer: impl Fn(usize) -> PreparedResponse + Send + Sync + 'static) -> Behaviour {
        let book = self.clone();
        Behaviour::answers(move |number, _| book.note(number, answer(number)))
    }

    fn answers_slowly(self: &Arc<Book>) -> Behaviour {
        let book = self.clone();
        Behaviour::slowly(move |number, _| {
            let now = book.under_way.fetch_add(1, Ordering::SeqCst) + 1;
            book.most_under_way.fetch_max(now, Ordering::SeqCst);
            std::thread::sleep(SLOWLY);
            book.under_way.fetch_sub(1, Ordering::SeqCst);
            book.note(number, PreparedResponse::status(200))
        })
    }

    fn answers_unevenly(self: &Arc<Book>) -> Behaviour {
        let book = self.clone();
        Behaviour::slowly(move |number, _| {
            std::thread::sleep(Duration::from_micros((number as u64 * 7_919) % 30_000));
            book.note(number, PreparedResponse::status([200, 500, 200][number % 3]))
        })
    }

    /// Called before the answer is sent, so that the book contains everything the sender knows.
    fn note(&self, number: usize, answer: PreparedResponse) -> PreparedResponse {
        self.answered.lock().unwrap().push((number, answer.status, self.clock.now().micros()));
        answer
    }
}

/// A filter that was in force until the next one.
#[derive(Clone, Debug)]
struct Wanted {
    /// The log's last position when the previous filter may have stopped to apply, and its last position when this one
    /// certainly applied.
    from: (i64, i64),
    /// `None`: all events.
    events: Option<Vec<&'static str>>,
}

/// Whether a URL must get a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Claim {
    Must,
    /// It was excluded for a while, or the order of events is not certain.
    May,
    MustNot,
}

/// A URL of a campaign.
#[derive(Debug)]
pub struct Url {
    pub host: String,
    /// The index of its organization.
    pub org: usize,
    pub role: Role,
    /// The UUID of its current subscription.
    pub uuid: String,
    receiver: Receiver,
    names: Arc<Names>,
    book: Arc<Book>,
    /// Whether it ever sent `Retry-After` or had a limit: due messages may then wait.
    may_be_held: AtomicBool,
    /// The log's last position before it was first subscribed.
    first: i64,
    /// The filters of its current subscription, from its creation on.
    filters: Vec<Wanted>,
}

impl Url {
    /// A URL that is not subscribed yet.
    pub fn new(host: String, org: usize, role: Role, names: &Arc<Names>, clock: &Arc<Manual>) -> Url {
        let book = Book {
            clock: clock.clone(),
            answered: Mutex::default(),
            under_way: AtomicUsize::new(0),
            most_under_way: AtomicUsize::new(0),
        };
        let (receiver, book) = (Receiver::start(Behaviour::Silent), Arc::new(book));
        let (uuid, names, filters) = (String::new(), names.clone(), Vec::new());
        let may_be_held = AtomicBool::new(role != Role::Free);
        let url = Url { host, org, role, uuid, receiver, names, book, may_be_held, first: i64::MAX, filters };
        url.behave(if role == Role::Steady { Mood::Answers(200) } else { Mood::Slow });
        url
    }

    pub fn url(&self) -> String {
        format!("http://{}/hooks", self.host)
    }

    /// Changes how it answers.
    pub fn behave(&self, mood: Mood) {
        self.may_be_held.fetch_or(mood.holds(), Ordering::SeqCst);
        let always = |answer: PreparedResponse| self.book.answers(move |_| answer.clone());
        let behaviour = match mood {
            Mood::Answers(status) => always(PreparedResponse::status(status)),
            Mood::Throttles(None) => always(PreparedResponse::status(429)),
            Mood::Throttles(Some(seconds)) => {
                always(PreparedResponse::status(429).with("retry-after", &seconds.to_string()))
            }
            Mood::Mixed => {
                self.book.answers(|number| PreparedResponse::status([200, 500, 200, 503, 200, 404, 200][number % 7]))
            }
            Mood::Uneven => self.book.answers_unevenly(),
            Mood::Slow => self.book.answers_slowly(),
            Mood::Redirects => always(PreparedResponse::status(307).with("location", "/elsewhere")),
            Mood::Silent => Behaviour::Silent,
            // A connection that was kept open ends too.
            Mood::Closes | Mood::Refuses | Mood::NoName => Behaviour::ResetAfterReading,
            Mood::OnlyInformational => Behaviour::Raw(b"HTTP/1.1 102 Processing\r\n\r\n".to_vec()),
            Mood::Garbage => Behaviour::garbage(),
        };
        self.receiver.behave(behaviour);
        let address = match mood {
            Mood::NoName => None,
            Mood::Refuses => Some(CLOSED_PORT),
            _ => Some(self.receiver.address()),
        };
        self.names.lead(&self.host, address);
    }

    /// Answers 500 to the next message, 200 to the one after it, 500 to the third, with a delay, and then 200.
    pub fn fail_amid_a_recording(&self, wait: Duration) {
        self.behave(Mood::Answers(200));
        let (book, first) = (self.book.clone(), self.requests());
        self.receiver.behave(Behaviour::slowly(move |number, _| {
            let place = number.saturating_sub(first);
            if place == 2 {
                std::thread::sleep(wait);
            }
            book.note(number, PreparedResponse::status(if [0, 2].contains(&place) { 500 } else { 200 }))
        }));
    }

    /// Notes that it has a limit.
    pub fn limited(&self) {
        self.may_be_held.store(true, Ordering::SeqCst);
    }

    /// Whether due messages may wait.
    pub fn may_be_held(&self) -> bool {
        self.may_be_held.load(Ordering::SeqCst)
    }

    /// Notes that it was subscribed again, while the log advanced from one position to another.
    pub fn subscribed(&mut self, uuid: String, from: (i64, i64), events: Option<Vec<&'static str>>) {
        self.uuid = uuid;
        self.first = self.first.min(from.0);
        self.filters = vec![Wanted { from, events }];
    }

    /// Notes that its filter changed, while the log advanced from one position to another.
    pub fn filtered(&mut self, from: (i64, i64), events: Option<Vec<&'static str>>) {
        self.filters.push(Wanted { from, events });
    }

    /// The events it currently gets; `None` for all.
    pub fn events(&self) -> Option<Vec<&'static str>> {
        self.filters.last().and_then(|wanted| wanted.events.clone())
    }

    /// Whether it must get a message of the log. Every filter counts that was in force when the message was announced,
    /// or later.
    pub fn claim(&self, position: i64, event: &str, subject: &str) -> Claim {
        if position <= self.first || (event == "subscription_paused" && subject == self.uuid) {
            return Claim::MustNot;
        }
        let made = self.filters[0].from;
        if event == "test_event" {
            // A test event goes to active URLs only.
            return if self.role == Role::Free || position <= made.1 { Claim::May } else { Claim::Must };
        }
        let until = |index: usize| self.filters.get(index + 1).map_or(i64::MAX, |next| next.from.1);
        let in_force = self.filters.iter().enumerate().filter(|(index, _)| until(*index) >= position);
        let wants = in_force.map(|(_, wanted)| wanted.events.as_ref().is_none_or(|events| events.contains(&event)));
        let wants: BTreeSet<bool> = wants.collect();
        match (wants.contains(&true), wants.contains(&false)) {
            // What it got before it was removed and subscribed again is no longer known.
            _ if position <= made.1 => Claim::May,
            (true, false) => Claim::Must,
            (true, true) => Claim::May,
            (false, _) => Claim::MustNot,
        }
    }

    /// The ids of all messages it got, in order, accepted or not.
    pub fn got(&self) -> Vec<String> {
        let id = |request: &daybook_testkit::receiver::Request| request.header("webhook-id").map(str::to_owned);
        self.receiver.requests().iter().map(|request| id(request).expect("a message has an id")).collect()
    }

    /// The ids of the messages it accepted.
    pub fn took(&self) -> BTreeSet<String> {
        let got = self.got();
        let answered = self.book.answered.lock().unwrap();
        let taken = answered.iter().filter(|(_, status, _)| [200, 202].contains(status));
        taken.map(|(number, _, _)| got[*number].clone()).collect()
    }

    /// The number of requests it got.
    pub fn requests(&self) -> usize {
        self.receiver.counts().requests
    }

    /// The largest number of messages it ever had at the same time.
    pub fn most_at_once(&self) -> usize {
        self.book.most_under_way.load(Ordering::SeqCst)
    }

    /// The largest number of messages it ever answered in one second of the clock.
    pub fn most_a_second(&self) -> usize {
        let mut at: Vec<i64> = self.book.answered.lock().unwrap().iter().map(|(_, _, at)| *at).collect();
        at.sort_unstable();
        let within = |first: &i64| at.iter().filter(|other| (*first..first + 1_000_000).contains(other)).count();
        at.iter().map(within).max().unwrap_or(0)
    }
}
