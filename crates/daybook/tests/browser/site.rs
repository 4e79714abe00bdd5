//! A server for the browser tests, with one user.

use crate::browser::Browser;
use crate::common::installation::SECRET;
use daybook_testkit::server::{Daybook, Server};
use std::path::Path;
use tempfile::TempDir;

/// The user's email address.
pub const EMAIL: &str = "ann@lender.example";
/// The user's password.
pub const PASSWORD: &str = "a sentence is a good password";

/// A running server with one user.
pub struct Site {
    server: Server,
    daybook: Daybook,
    folder: TempDir,
}

impl Site {
    /// A site without data.
    pub fn empty() -> Site {
        Site::serve(&[])
    }

    /// A site with the demo data.
    pub fn with_demo() -> Site {
        Site::serve(&["--demo"])
    }

    /// Imports this many loans with a year of payments, for a portfolio of realistic size.
    pub fn import(&self, loans: u64) {
        let loans = loans.to_string();
        self.daybook.stdout_of(&["demo-data", "--loans", &loans, "--payments", "12", "--to", "portfolio"]);
        let (url, key) = (self.url(), format!("tests:{SECRET}"));
        let files = ["--product-file", "portfolio/product.json", "portfolio/loans.csv", "portfolio/payments.csv"];
        let args = ["import", "--url", url, "--key", &key].into_iter().chain(files);
        self.daybook.stdout_of(&args.collect::<Vec<_>>());
    }

    fn serve(flags: &[&str]) -> Site {
        let folder = tempfile::tempdir().expect("a folder");
        let daybook = Daybook::new(env!("CARGO_BIN_EXE_daybook"), folder.path())
            .with("DAYBOOK_BOOTSTRAP_CLIENT_ID", "tests")
            .with("DAYBOOK_BOOTSTRAP_CLIENT_SECRET", SECRET)
            .with("DAYBOOK_BOOTSTRAP_EMAIL", EMAIL)
            .with("DAYBOOK_BOOTSTRAP_PASSWORD", PASSWORD)
            .with("DAYBOOK_LOG_LEVEL", "warn");
        let usual = ["--dev", "--database", "sqlite:daybook.db", "--webhook-batch-interval", "0s"];
        let all: Vec<&str> = usual.iter().chain(flags).copied().collect();
        Site { server: daybook.serve(&all), daybook, folder }
    }

    /// The server.
    pub fn server(&self) -> &Server {
        &self.server
    }

    /// The command, in the server's folder.
    pub fn daybook(&self) -> &Daybook {
        &self.daybook
    }

    /// The server's URL.
    pub fn url(&self) -> &str {
        self.server.url()
    }

    /// Its folder.
    pub fn folder(&self) -> &Path {
        self.folder.path()
    }
}

/// Signs in with the form.
pub async fn sign_in(browser: &Browser) {
    browser.go("/console/sign-in").await;
    browser.fill("Email", EMAIL).await;
    browser.fill("Password", PASSWORD).await;
    browser.click("Sign in").await;
    browser.see("Home").await;
}
