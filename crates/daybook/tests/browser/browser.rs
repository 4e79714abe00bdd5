//! A real browser: Chromium, controlled through ChromeDriver by the texts on the page, as a user would.

use fantoccini::elements::Element;
use fantoccini::error::CmdError;
use fantoccini::wd::WebDriverCompatibleCommand;
use fantoccini::{Client, ClientBuilder, Locator};
use hyper_util::client::legacy::connect::HttpConnector;
use serde_json::{Map, Value, json};
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;
use url::Url;

/// The number of checks for an expected element, and the pause between them.
const LOOKS: u32 = 300;
const BETWEEN_LOOKS: Duration = Duration::from_millis(50);

/// The height of the window.
const HEIGHT: u32 = 900;

/// A browser with one window.
pub struct Browser {
    client: Client,
    driver: Driver,
    site: String,
    /// The current width of its window.
    width: AtomicU32,
}

/// The ChromeDriver process. It and the browser are killed at the end of the test.
struct Driver {
    child: Child,
    /// A command-line argument that only this browser has.
    profile: String,
}

impl Drop for Driver {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
        let _ = Command::new("pkill").arg("--full").arg("--").arg(&self.profile).status();
    }
}

/// A way to view a page.
#[derive(Clone, Copy, Debug)]
pub struct Look {
    /// The width of the window.
    pub width: u32,
    /// Whether the system theme is dark.
    pub dark: bool,
}

impl Look {
    /// All combinations.
    pub const ALL: [Look; 4] = [
        Look { width: 1280, dark: false },
        Look { width: 390, dark: false },
        Look { width: 390, dark: true },
        Look { width: 1280, dark: true },
    ];

    /// The name, for screenshots.
    pub fn name(self) -> String {
        format!("{}-{}", if self.width > 800 { "wide" } else { "narrow" }, if self.dark { "dark" } else { "light" })
    }
}

impl Browser {
    /// Starts a browser for a site. `folder` is for its profile.
    pub async fn start(site: &str, folder: &Path) -> Browser {
        let mut child = Command::new("chromedriver")
            .arg("--port=0")
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .expect("chromedriver is there: `./check tests` installs it");
        let stdout = BufReader::new(child.stdout.take().expect("a pipe"));
        let profile = format!("--user-data-dir={}", folder.join("browser").display());
        let driver = Driver { child, profile: profile.clone() };
        let port = stdout.lines().map_while(Result::ok).find_map(|line| {
            let (_, rest) = line.split_once("started successfully on port ")?;
            rest.trim_end_matches('.').parse::<u16>().ok()
        });
        let port = port.expect("chromedriver says its port");
        let mut capabilities = Map::new();
        let flags = [
            "--headless=new",
            "--no-sandbox",
            "--disable-gpu",
            "--disable-quic",
            "--no-first-run",
            "--disable-background-networking",
            "--disable-component-update",
            "--disable-sync",
            "--disable-dev-shm-usage",
            "--force-device-scale-factor=1",
            "--lang=en-US",
            "--window-size=1400,1100",
            &profile,
        ];
        capabilities.insert("goog:chromeOptions".to_owned(), json!({ "args": flags }));
        capabilities.insert("goog:loggingPrefs".to_owned(), json!({ "browser": "ALL" }));
        let mut builder = ClientBuilder::new(HttpConnector::new());
        let client = builder.capabilities(capabilities).connect(&format!("http://127.0.0.1:{port}")).await;
        let browser =
            Browser { client: client.expect("a browser"), driver, site: site.to_owned(), width: AtomicU32::new(0) };
        browser.look(Look::ALL[0]).await;
        browser
    }

    /// Closes the browser.
    pub async fn close(self) {
        let _ = self.client.close().await;
        drop(self.driver);
    }

    /// Sets the width of the window and the system theme. Without transitions, so that a change of the theme is complete at
    /// once.
    pub async fn look(&self, look: Look) {
        let scheme = if look.dark { "dark" } else { "light" };
        let features = json!({ "features": [
            { "name": "prefers-color-scheme", "value": scheme },
            { "name": "prefers-reduced-motion", "value": "reduce" },
        ] });
        self.devtools("Emulation.setEmulatedMedia", features).await;
        self.width.store(look.width, Ordering::Relaxed);
        self.window(look.width, HEIGHT).await;
    }

    async fn window(&self, width: u32, height: u32) {
        let metrics = json!({ "width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 800 });
        self.devtools("Emulation.setDeviceMetricsOverride", metrics).await;
    }

    /// Opens a path of the site, or a full URL.
    pub async fn go(&self, path: &str) {
        let url = if path.starts_with("http") { path.to_owned() } else { format!("{}{path}", self.site) };
        self.client.goto(&url).await.unwrap_or_else(|error| panic!("{url}: {error}"));
    }

    /// The current path.
    pub async fn path(&self) -> String {
        let url = self.client.current_url().await.expect("an address");
        url.path().to_owned()
    }

    /// The visible text of the page.
    pub async fn text(&self) -> String {
        let text = self.run("return document.body ? document.body.innerText : ''").await;
        text.as_str().unwrap_or_default().to_owned()
    }

    /// Waits until the page shows a text.
    pub async fn see(&self, words: &str) {
        let mut text = String::new();
        for _ in 0..LOOKS {
            text = self.text().await;
            if text.to_lowercase().contains(&words.to_lowercase()) {
                return;
            }
            tokio::time::sleep(BETWEEN_LOOKS).await;
        }
        panic!("{words:?} is not on {}:\n{text}", self.path().await);
    }

    /// Reloads until the page shows a text.
    pub async fn reload_until(&self, words: &str) {
        let mut text = String::new();
        for _ in 0..LOOKS {
            text = self.text().await;
            if text.to_lowercase().contains(&words.to_lowercase()) {
                return;
            }
            tokio::time::sleep(BETWEEN_LOOKS * 4).await;
            self.client.refresh().await.expect("the page reloads");
        }
        panic!("{words:?} never came to {}:\n{text}", self.path().await);
    }

    /// Clicks the link or button that has this text or begins with it, in the main part of the page first.
    pub async fn click(&self, text: &str) {
        let what = "//*[self::a or self::button or self::summary]";
        let exactly = format!("{what}[normalize-space(.)={0} or @aria-label={0}]", literal(text));
        let beginning = format!("{what}[starts-with(normalize-space(.), {})]", literal(text));
        let paths = [format!("//main{exactly}"), format!("//main{beginning}"), exactly];
        let Some(element) = self.one(&paths).await else {
            panic!("there is no {text:?} to click on {}:\n{}", self.path().await, self.text().await)
        };
        self.press(&element).await;
    }

    async fn press(&self, element: &Element) {
        let argument = serde_json::to_value(element).expect("an element");
        let script = "arguments[0].scrollIntoView({block: 'center'})";
        self.client.execute(script, vec![argument]).await.expect("it can be scrolled to");
        if let Err(error) = element.click().await {
            panic!("it cannot be clicked: {error}");
        }
    }

    /// Types into the field with this label.
    pub async fn fill(&self, label: &str, value: &str) {
        let field = self.field(label).await;
        let argument = serde_json::to_value(&field).expect("an element");
        let kind = field.attr("type").await.ok().flatten().unwrap_or_default();
        if ["datetime-local", "date", "range"].contains(&kind.as_str()) {
            // Sets the value like a picker does; the effect of typing depends on the browser's language.
            let script = "arguments[0].value = arguments[1]; \
                          for (const name of ['input', 'change']) arguments[0].dispatchEvent(new Event(name, {bubbles: true}))";
            self.client.execute(script, vec![argument, json!(value)]).await.expect("a date can be picked");
            return;
        }
        field.clear().await.expect("it can be emptied");
        field.send_keys(value).await.expect("it can be typed into");
    }

    /// The value of the field with this label.
    pub async fn value(&self, label: &str) -> String {
        self.field(label).await.prop("value").await.ok().flatten().unwrap_or_default()
    }

    async fn field(&self, label: &str) -> Element {
        let label = literal(label);
        let xpath = format!(
            "//*[self::input or self::select or self::textarea][@id=//label[starts-with(normalize-space(.), {label})]/@for \
             or ancestor::label[starts-with(normalize-space(.), {label})] or @aria-label={label}]"
        );
        let field = self.one(&[format!("//main{xpath}"), xpath]).await;
        field.unwrap_or_else(|| panic!("there is no field {label}"))
    }

    /// The first visible element, by the first XPath that finds one.
    async fn one(&self, paths: &[String]) -> Option<Element> {
        for _ in 0..LOOKS / 3 {
            for xpath in paths {
                for element in self.client.find_all(Locator::XPath(xpath)).await.unwrap_or_default() {
                    if element.is_displayed().await.unwrap_or(false) {
                        return Some(element);
                    }
                }
            }
            tokio::time::sleep(BETWEEN_LOOKS).await;
        }
        None
    }

    /// Expands all collapsed parts of the page.
    pub async fn unfold(&self) {
        self.run("document.querySelectorAll('main details').forEach((details) => { details.open = true; })").await;
    }

    /// Runs a script.
    pub async fn run(&self, script: &str) -> Value {
        // The page may be navigating away.
        self.client.execute(script, Vec::new()).await.unwrap_or(Value::Null)
    }

    /// Runs an asynchronous script.
    pub async fn run_async(&self, script: &str) -> Result<Value, CmdError> {
        self.client.execute_async(script, Vec::new()).await
    }

    /// Takes a screenshot of the whole page.
    pub async fn picture(&self, name: &str) {
        let folder = pictures();
        std::fs::create_dir_all(&folder).expect("a folder for pictures");
        let height = self.run("return document.documentElement.scrollHeight").await.as_u64().unwrap_or(900);
        let width = self.width.load(Ordering::Relaxed);
        // The window is briefly as high as the page: other methods change where later clicks land.
        self.window(width, height.clamp(900, 6_000) as u32).await;
        let wanted = json!({ "format": "webp", "quality": 70 });
        let taken = self.devtools("Page.captureScreenshot", wanted).await;
        self.window(width, HEIGHT).await;
        let data = taken["data"].as_str().expect("a picture");
        let bytes = base64::Engine::decode(&base64::engine::general_purpose::STANDARD, data).expect("Base64");
        std::fs::write(folder.join(format!("{name}.webp")), bytes).expect("a picture can be kept");
    }

    /// The errors in the browser's console.
    pub async fn complaints(&self) -> Vec<String> {
        let log = self.client.issue_cmd(Say { path: "se/log", body: json!({ "type": "browser" }) }).await;
        let lines = log.ok().and_then(|log| log.as_array().cloned()).unwrap_or_default();
        let severe = lines.iter().filter(|line| line["level"] == "SEVERE");
        severe.map(|line| line["message"].as_str().unwrap_or_default().to_owned()).collect()
    }

    async fn devtools(&self, command: &str, parameters: Value) -> Value {
        let body = json!({ "cmd": command, "params": parameters });
        let answer = self.client.issue_cmd(Say { path: "goog/cdp/execute", body }).await;
        answer.unwrap_or_else(|error| panic!("{command}: {error}"))
    }
}

/// The folder of screenshots.
pub fn pictures() -> PathBuf {
    let target = Path::new(env!("CARGO_TARGET_TMPDIR")).parent().expect("the folder of builds").to_owned();
    target.join("pictures")
}

/// A text as an XPath literal.
fn literal(text: &str) -> String {
    if text.contains('"') { format!("'{text}'") } else { format!("\"{text}\"") }
}

/// A command specific to ChromeDriver.
#[derive(Debug)]
struct Say {
    path: &'static str,
    body: Value,
}

impl WebDriverCompatibleCommand for Say {
    fn endpoint(&self, base: &Url, session: Option<&str>) -> Result<Url, url::ParseError> {
        base.join(&format!("session/{}/{}", session.unwrap_or_default(), self.path))
    }

    fn method_and_body(&self, _: &Url) -> (http::Method, Option<String>) {
        (http::Method::POST, Some(self.body.to_string()))
    }
}
