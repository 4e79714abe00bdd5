//! `daybook bench console`: how long every page of the console takes with a large portfolio, compared with a page that
//! shows none of it.
//!
//! The pages are those of the console's route table; lists are also requested with each of their filters.

use super::Scratch;
use super::http::BenchConnection;
use super::portfolio::{Bench, LEVEL_CENTS, PRODUCT, form_of, months_ago, said};
use crate::cli::BenchConsoleArgs;
use crate::commands::Failure;
use daybook_clock::Stopwatch;
use daybook_console::{ConsoleSettings, routes};
use daybook_engine::calendar::{Interval, MonthEnd, TimeOfDay};
use daybook_engine::zone::Zone;
use daybook_service::changes::ChangeRequest;
use daybook_service::people::NewPerson;
use daybook_service::policy::DEFAULT_ZONE;
use daybook_service::view::time::Local;
use serde_json::json;
use std::net::SocketAddr;
use tokio::net::TcpListener;
use tokio::task::JoinSet;

/// The number of loans loaded at the same time.
const AT_ONCE: usize = 512;
/// The target for the slowest page.
const AIM_MS: f64 = 100.0;
const FIRST_NAMES: [&str; 8] = ["Ann", "Ben", "Carla", "Dimitri", "Erin", "Femi", "Grace", "Hiro"];
const LAST_NAMES: [&str; 9] = ["Abara", "Baker", "Castillo", "Dubois", "Evans", "Fischer", "Garcia", "Huang", "Ito"];

/// The time of a page.
#[derive(Debug)]
struct MeasuredPage {
    path: String,
    /// The state in which it was requested, unless everything is released and counted.
    note: &'static str,
    /// The status. If it is not 200, the page shows something else than intended.
    status: u16,
    bytes: usize,
    /// The number of responses that were still waiting for a count.
    unfinished: usize,
    /// Sorted.
    millis: Vec<f64>,
}

impl MeasuredPage {
    fn name(&self) -> String {
        format!("{}{}", self.path, self.note)
    }

    fn median(&self) -> f64 {
        self.millis.get(self.millis.len() / 2).copied().unwrap_or(0.0)
    }

    fn longest(&self) -> f64 {
        self.millis.last().copied().unwrap_or(0.0)
    }
}

/// Runs the benchmark and prints the results.
pub async fn run(args: &BenchConsoleArgs) -> Result<(), Failure> {
    let scratch = Scratch::new(args.target.database.as_deref())?;
    let bench = Bench::start(&scratch.address).await?;
    bench.product(true).await?;
    load(&bench, args).await?;
    let session = sign_in(&bench).await?;
    let server = serve(daybook_console::router(bench.service.clone(), ConsoleSettings::default())).await?;
    let visit = Visit { server, session: &session };
    let mut pages = Vec::new();
    for path in [format!("/console/products/{PRODUCT}"), format!("/console/products/{PRODUCT}/migration?to=off")] {
        pages.push(MeasuredPage { note: " (held)", ..visit.measure(&path, args.times).await? });
    }
    bench.release(PRODUCT).await?;
    eprintln!("loaded and released {} accounts", args.accounts);
    // As a server does at its start; a user requests the page at once.
    bench.service.count_portfolios_ahead().await.map_err(said)?;
    pages.push(MeasuredPage { note: " (at once)", ..visit.measure("/console", 1).await? });
    let watch = Stopwatch::start();
    while bench.service.portfolio(&bench.who).await.map_err(said)?.is_none() {}
    eprintln!("counted {:.0} ms after that", watch.elapsed().as_secs_f64() * 1_000.0);
    let frame = visit.measure("/console/sign-in", args.times).await?;
    for path in paths() {
        pages.push(visit.measure(&path, args.times).await?);
    }
    report(args, &frame, &pages);
    Ok(())
}

/// Loads loans with named borrowers. One tenth missed their last two payments, one tenth are closed, and a few are
/// charged off.
async fn load(bench: &Bench, args: &BenchConsoleArgs) -> Result<(), Failure> {
    let mut tasks: JoinSet<Result<(), Failure>> = JoinSet::new();
    for number in 0..args.accounts {
        if tasks.len() >= AT_ONCE {
            finished(tasks.join_next().await)?;
        }
        let (bench, payments) = (bench.clone(), args.payments);
        tasks.spawn(async move { load_one(&bench, number, payments).await });
    }
    while !tasks.is_empty() {
        finished(tasks.join_next().await)?;
    }
    Ok(())
}

async fn load_one(bench: &Bench, number: u64, months: u64) -> Result<(), Failure> {
    let zone = Zone::named(DEFAULT_ZONE).ok_or_else(|| Failure::Failed("the default zone is unknown".to_owned()))?;
    let opened = months_ago(months)?;
    let pick = |names: &[&'static str], number: u64| names[number as usize % names.len()];
    let (customer, account) = (format!("borrower-{number:07}"), format!("loan-{number:07}"));
    let person = json!({
        "customer_id": customer, "name_first": pick(&FIRST_NAMES, number), "name_last": pick(&LAST_NAMES, number / 8),
        "email": format!("{customer}@example.com"),
    });
    bench.service.create_customer(&bench.who, None, form_of(&person)?).await.map_err(said)?;
    let loan = json!({
        "product_id": PRODUCT, "account_id": account, "effective_at": Local::new(opened, &zone).to_string(),
        "summary": { "initial_principal_cents": 100_000 }, "assign_customers": [{ "customer_id": customer }],
        "external_fields": [{ "key": "old_system", "value": format!("LN{number:08}") }],
    });
    bench.service.create_account(&bench.who, None, form_of(&loan)?).await.map_err(said)?;
    if let Some(why) = [(10, 5, "CUSTOMER_REQUEST"), (1_000, 999, "CHARGE_OFF")]
        .iter()
        .find_map(|(every, at, why)| (number % every == *at).then_some(why))
    {
        let status = json!({ "account_status": "CLOSED", "account_substatus": why });
        bench
            .service
            .change_account(&bench.who, None, &account, ChangeRequest::Status(form_of(&status)?))
            .await
            .map_err(said)?;
    }
    let paid = if number.is_multiple_of(10) { months.saturating_sub(2) } else { months };
    for month in 1..=paid {
        let day = zone.day_at(opened).plus(Interval::months(1), month as i32, MonthEnd::Clamp);
        let at = zone.at(day, TimeOfDay::new(9, 0, 0).unwrap_or(TimeOfDay::END_OF_DAY));
        let payment = json!({
            "line_item_id": format!("p{month}"), "original_amount_cents": LEVEL_CENTS,
            "effective_at": Local::new(at, &zone).to_string(),
        });
        bench
            .service
            .change_account(&bench.who, None, &account, ChangeRequest::Payment(form_of(&payment)?))
            .await
            .map_err(said)?;
    }
    Ok(())
}

fn finished(result: Option<Result<Result<(), Failure>, tokio::task::JoinError>>) -> Result<(), Failure> {
    result.map_or(Ok(()), |result| result.map_err(|error| Failure::Failed(error.to_string()))?)
}

async fn sign_in(bench: &Bench) -> Result<String, Failure> {
    let link = bench.service.invite(&bench.who, daybook_service::access::Role::Admin).await.map_err(said)?;
    let person = NewPerson {
        name: "Ann Abara".to_owned(),
        email: "ann@example.com".to_owned(),
        password: "a sentence is a good password".to_owned(),
    };
    Ok(bench.service.accept(&link, person, None).await.map_err(said)?.token)
}

async fn serve(router: axum::Router) -> Result<SocketAddr, Failure> {
    let listener = TcpListener::bind("127.0.0.1:0").await.map_err(Failure::Output)?;
    let address = listener.local_addr().map_err(Failure::Output)?;
    tokio::spawn(async move { axum::serve(listener, router).await });
    Ok(address)
}

/// Every page that depends on the portfolio.
fn paths() -> Vec<String> {
    let pages = routes().into_iter().filter(|route| route.method == "GET" && route.needs.is_some());
    let mut paths: Vec<String> = pages
        .map(|route| {
            let path = route.path.replace("{product_id}", PRODUCT).replace("{id}", "loan-0000010");
            let path = path.replace("/from-account/{account_id}", "/from-account/loan-0000010");
            let path =
                path.replace("/do/{what}/confirm", "/do/payment/confirm?line_item_id=x&original_amount_cents=12");
            let path = path.replace("/do/{what}", "/do/payment").replace("/migration", "/migration?to=on");
            let path = path.replace("/roll/confirm", "/roll/confirm?effective_at=2030-01-01T00:00");
            path.replace("{customer_id}", "borrower-0000010")
        })
        // Pages about a message, a case or an event do not depend on the number of accounts.
        .filter(|path| !path.contains('{') && !path.ends_with("/progress") && !path.ends_with("/from-account"))
        .collect();
    let asked = [
        "/console/accounts?q=garcia",
        "/console/accounts?q=LN00000077",
        "/console/accounts?q=loan-00000",
        "/console/accounts?status=ACTIVE",
        "/console/accounts?product=bench-36",
        "/console/accounts?due=30-59",
        "/console/accounts?q=nobody+at+all",
        "/console/accounts?q=a",
        "/console/accounts?q=garcia+loan",
        "/console/accounts?status=CLOSED",
        "/console/accounts?status=CLOSED&substatus=CHARGE_OFF",
        "/console/accounts?status=CLOSED&substatus=CUSTOMER_REQUEST",
        "/console/accounts?status=SUSPENDED",
        "/console/accounts?status=SUSPENDED&product=bench-36",
        "/console/accounts?product=none",
        "/console/accounts?due=90%2B",
        "/console/accounts?due=current",
        "/console/accounts?due=30-59&q=garcia&product=bench-36",
        "/console/accounts?status=CLOSED&q=grace&product=bench-36",
        "/console/accounts?due=current&status=SUSPENDED&q=a",
        "/console/customers?q=a",
        "/console/find?q=a",
        "/console/customers?q=garcia",
        "/console/find?q=grace+ito",
        "/console/accounts/loan-0000010?tab=timeline",
        "/console/accounts/loan-0000010?tab=schedule",
        "/console/accounts/loan-0000010?tab=items",
    ];
    paths.extend(asked.map(str::to_owned));
    paths
}

/// A signed-in user.
struct Visit<'a> {
    server: SocketAddr,
    session: &'a str,
}

impl Visit<'_> {
    async fn measure(&self, path: &str, times: u64) -> Result<MeasuredPage, Failure> {
        let mut connection = BenchConnection::open(self.server).await.map_err(Failure::Output)?;
        let request = format!(
            "GET {path} HTTP/1.1\r\nhost: bench\r\ncookie: daybook_session={}\r\naccept: text/html\r\n\r\n",
            self.session
        );
        let mut page =
            MeasuredPage { path: path.to_owned(), note: "", status: 0, bytes: 0, unfinished: 0, millis: Vec::new() };
        for _ in 0..times {
            let watch = Stopwatch::start();
            let status = connection.exchange(request.as_bytes()).await.map_err(Failure::Output)?;
            page.millis.push(watch.elapsed().as_secs_f64() * 1_000.0);
            page.bytes = connection.answer().len();
            page.unfinished += usize::from(says(connection.answer(), b"Daybook is counting"));
            page.status = status;
        }
        page.millis.sort_by(f64::total_cmp);
        Ok(page)
    }
}

fn says(answer: &[u8], words: &[u8]) -> bool {
    answer.windows(words.len()).any(|window| window == words)
}

fn report(args: &BenchConsoleArgs, frame: &MeasuredPage, pages: &[MeasuredPage]) {
    let slow = pages.iter().filter(|page| page.longest() >= AIM_MS).count();
    if args.target.json {
        let line = |page: &MeasuredPage| {
            json!({
                "path": page.name(), "status": page.status, "p50_ms": page.median(), "longest_ms": page.longest(),
                "bytes": page.bytes, "unfinished": page.unfinished,
            })
        };
        let all: Vec<_> = pages.iter().map(line).collect();
        let slowest = pages.iter().map(MeasuredPage::longest).fold(0.0, f64::max);
        let figures = json!({
            "accounts": args.accounts, "frame": line(frame), "pages": all, "over_100_ms": slow, "slowest_ms": slowest,
        });
        println!("{figures}");
        return;
    }
    println!(
        "{:<72} {:>6} {:>9} {:>9} {:>7} {:>9} {:>8}",
        "page", "status", "p50 ms", "longest", "ratio", "bytes", "counting"
    );
    for page in std::iter::once(frame).chain(pages) {
        println!(
            "{:<72} {:>6} {:>9.2} {:>9.2} {:>7.1} {:>9} {:>8}",
            page.name(),
            page.status,
            page.median(),
            page.longest(),
            page.median() / frame.median(),
            page.bytes,
            page.unfinished
        );
    }
    println!(
        "{} accounts, each page {} times; {slow} of {} took 100 ms or longer",
        args.accounts,
        args.times,
        pages.len()
    );
}
