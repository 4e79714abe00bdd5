use super::*;
use std::collections::BTreeMap;

fn load_with(
    flags: &[(&'static str, &str)],
    variables: &[(&str, &str)],
    file: Option<&str>,
) -> Result<LoadedSettings, Problems> {
    let variables: BTreeMap<&str, &str> = variables.iter().copied().collect();
    let variable = |name: &str| variables.get(name).map(|text| (*text).to_owned());
    let folder = tempfile::tempdir().expect("a folder for the file");
    let path = folder.path().join("daybook.toml");
    fs::write(&path, file.unwrap_or_default()).expect("the file can be written");
    let flags = flags.iter().map(|(name, text)| (*name, vec![(*text).to_owned()])).collect();
    load(&SettingSources { config: file.map(|_| path.as_path()), flags, variable: &variable })
}

fn only_problem(result: Result<LoadedSettings, Problems>) -> String {
    match result {
        Ok(_) => panic!("the configuration was accepted"),
        Err(Problems(problems)) => {
            assert_eq!(problems.len(), 1, "{problems:?}");
            problems[0].0.clone()
        }
    }
}

#[test]
fn defaults_are_those_of_the_interface() {
    let LoadedSettings { settings, rows } = load_with(&[], &[], None).expect("defaults are good");
    assert_eq!(settings.listen.to_string(), "127.0.0.1:8080");
    assert_eq!(settings.database, "sqlite:daybook.db");
    assert!(!settings.dev && !settings.demo);
    assert_eq!(settings.environment, Environment::Test);
    assert_eq!(settings.webhook_batch_interval, Duration::from_secs(60));
    assert_eq!(settings.webhook_retry_first, Duration::from_secs(60));
    assert_eq!(settings.webhook_timeout, Duration::from_secs(15));
    assert_eq!(settings.webhook_pause_after, 10);
    assert_eq!(settings.dead_letter_retention, Duration::from_secs(5 * 86_400));
    assert_eq!(settings.message_retention, Duration::from_secs(30 * 86_400));
    assert_eq!(settings.attempt_retention, Duration::from_secs(7 * 86_400));
    assert_eq!(settings.rate_limit, None);
    assert_eq!((settings.max_connections, settings.max_connections_per_address), (4_096, 1_024));
    let timeouts = [settings.header_timeout, settings.idle_timeout, settings.body_timeout];
    assert_eq!(timeouts, [15, 75, 60].map(Duration::from_secs));
    assert_eq!(settings.allow_networks, []);
    assert_eq!(settings.secrets_key_file, Path::new("daybook.key"));
    assert_eq!(settings.log_format, LogFormat::Text);
    assert_eq!(rows.len(), DEFINITIONS.len());
    assert!(rows.iter().all(|row| row.source == Source::Default));
}

#[test]
fn flags_beat_environment_beats_file_beats_default() {
    let file = Some("webhook-timeout = \"4s\"\nrate_limit = 4\nlog-level = \"warn\"\n");
    let variables = [("DAYBOOK_WEBHOOK_TIMEOUT", "3s"), ("DAYBOOK_RATE_LIMIT", "3"), ("DAYBOOK_DEMO", "")];
    let loaded = load_with(&[("webhook-timeout", "2s")], &variables, file).expect("good settings");
    assert_eq!(loaded.settings.webhook_timeout, Duration::from_secs(2));
    assert_eq!(loaded.settings.rate_limit, Some(3));
    assert_eq!(loaded.settings.log_level, "warn");
    assert!(!loaded.settings.demo, "an empty variable is not set");
    let source = |name: &str| loaded.rows.iter().find(|row| row.setting == name).map(|row| row.source.to_string());
    assert_eq!(source("webhook-timeout").as_deref(), Some("flag"));
    assert_eq!(source("rate-limit").as_deref(), Some("environment DAYBOOK_RATE_LIMIT"));
    assert!(
        source("log-level").is_some_and(|source| source.starts_with("file ") && source.ends_with("daybook.toml:3"))
    );
    assert_eq!(source("listen").as_deref(), Some("default"));
}

#[test]
fn a_bad_value_names_setting_value_source_and_rule() {
    let problem = only_problem(load_with(&[("webhook-timeout", "soon")], &[], None));
    assert!(problem.starts_with("webhook-timeout = \"soon\" (flag --webhook-timeout): must be "), "{problem}");
    let problem = only_problem(load_with(&[], &[("DAYBOOK_ENVIRONMENT", "live")], None));
    assert_eq!(problem, "environment = \"live\" (environment DAYBOOK_ENVIRONMENT): must be TEST or LIVE");
    let problem = only_problem(load_with(&[], &[], Some("\n\ndev = \"yes\"\n")));
    assert!(problem.contains("daybook.toml:3): must be true or false"), "{problem}");
}

#[test]
fn all_problems_are_told_at_once() {
    let result = load_with(&[("listen", "here")], &[("DAYBOOK_DATABASE", "mysql://u:hush@h/n")], None);
    let Err(Problems(problems)) = result else { panic!("the configuration was accepted") };
    assert_eq!(problems.len(), 2);
    assert!(problems.iter().all(|problem| !problem.0.contains("hush")), "{problems:?}");
}

#[test]
fn a_file_is_read_strictly() {
    let problem = only_problem(load_with(&[], &[], Some("dev = true\nlisten_on = \"x\"\n")));
    assert!(problem.contains("daybook.toml:2: there is no setting listen_on; the settings are: listen, "), "{problem}");
    let problem = only_problem(load_with(&[], &[], Some("rate-limit = 1\nrate_limit = 2\n")));
    assert!(problem.contains("sets rate-limit twice"), "{problem}");
    let problem = only_problem(load_with(&[], &[], Some("listen = [\"a\"]\n")));
    assert!(problem.contains("listen must be a text, number or boolean, not array"), "{problem}");
    let problem = only_problem(load_with(&[], &[], Some("dev = \n")));
    assert!(problem.contains("daybook.toml:1: is not valid TOML"), "{problem}");
}

#[test]
fn networks_are_listed_in_each_source() {
    let networks = |loaded: Result<LoadedSettings, Problems>| {
        let networks = loaded.expect("good settings").settings.allow_networks;
        networks.iter().map(ToString::to_string).collect::<Vec<_>>()
    };
    let file = Some("allow-network = [\"10.0.0.0/8\", \"fd00::/8\"]");
    assert_eq!(networks(load_with(&[], &[], file)), ["10.0.0.0/8", "fd00::/8"]);
    let variables = [("DAYBOOK_ALLOW_NETWORK", "10.0.0.0/8, 192.168.0.0/16")];
    assert_eq!(networks(load_with(&[], &variables, file)), ["10.0.0.0/8", "192.168.0.0/16"]);
    assert_eq!(networks(load_with(&[("allow-network", "127.0.0.0/8")], &variables, file)), ["127.0.0.0/8"]);
}

#[test]
fn proxies_are_listed_in_each_source() {
    let proxies = |loaded: Result<LoadedSettings, Problems>| {
        let proxies = loaded.expect("good settings").settings.trust_proxies;
        proxies.iter().map(ToString::to_string).collect::<Vec<_>>()
    };
    let file = Some("trust-proxy = [\"10.0.0.0/24\", \"10.0.1.0/24\"]");
    assert_eq!(proxies(load_with(&[], &[], file)), ["10.0.0.0/24", "10.0.1.0/24"]);
    let variables = [("DAYBOOK_TRUST_PROXY", "10.0.0.0/24,fd00::/8")];
    assert_eq!(proxies(load_with(&[], &variables, file)), ["10.0.0.0/24", "fd00::/8"]);
}

#[test]
fn the_key_lies_beside_the_sqlite_file() {
    let key_file = |database: &str| {
        let loaded = load_with(&[("database", database)], &[], None).expect("good settings");
        loaded.settings.secrets_key_file
    };
    assert_eq!(key_file("sqlite:/var/lib/daybook/book.db"), Path::new("/var/lib/daybook/daybook.key"));
    assert_eq!(key_file("sqlite:book.db"), Path::new("daybook.key"));
    assert_eq!(key_file("postgres://db/daybook"), Path::new("daybook.key"));
}

#[test]
fn secrets_are_not_shown() {
    let variables = [
        ("DAYBOOK_DATABASE", "postgres://daybook:hush@db/daybook"),
        ("DAYBOOK_SECRETS_KEY", "hush"),
        ("DAYBOOK_BOOTSTRAP_CLIENT_SECRET", "hush-hush-hush-hush-hush-hush-hush"),
        ("DAYBOOK_BOOTSTRAP_EMAIL", "ana@lender.example"),
        ("DAYBOOK_BOOTSTRAP_PASSWORD", "hush-hush-hush"),
    ];
    let loaded = load_with(&[], &variables, None).expect("good settings");
    assert!(!format!("{:?}", loaded.rows).contains("hush"));
    assert_eq!(
        loaded.settings.bootstrap_password.map(|secret| secret.expose().to_owned()).as_deref(),
        Some("hush-hush-hush")
    );
    let short = only_problem(load_with(&[], &[("DAYBOOK_BOOTSTRAP_CLIENT_SECRET", "hush")], None));
    assert!(short.contains("32 characters") && !short.contains("hush"), "{short}");
}

#[test]
fn a_certificate_has_a_key() {
    let problem = only_problem(load_with(&[("tls-cert", "cert.pem")], &[], None));
    assert_eq!(problem, "tls-cert and tls-key must be set together or not at all");
    let both =
        load_with(&[("tls-cert", "cert.pem"), ("tls-key", "key.pem")], &[], None).expect("good settings").settings;
    assert_eq!(both.tls_key.as_deref(), Some(Path::new("key.pem")));
}

#[test]
fn the_first_user_has_an_address_and_a_password() {
    let problem = only_problem(load_with(&[], &[("DAYBOOK_BOOTSTRAP_EMAIL", "ana@lender.example")], None));
    assert!(problem.contains("bootstrap-password"), "{problem}");
}
