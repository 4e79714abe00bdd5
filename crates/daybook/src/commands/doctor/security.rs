//! What the page *Security* of the operator's manual asks for before the first real loan, as far as it can be checked.
//! Everything here is a warning: a server starts all the same.

use super::finding::Finding;
use crate::commands::first_start_secrets;
use crate::commands::listeners::{has_links_by_host, is_readable};
use crate::config::Settings;
use crate::config::values::Environment;
use daybook_store::Store;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

/// Checks the settings and files. Only LIVE loans need an encrypted connection and a server without development
/// settings. Links that follow the host of a request are a way into any console.
pub(super) async fn examine(settings: &Settings, store: Option<&dyn Store>) -> Vec<Finding> {
    let mut findings = Vec::new();
    if is_live(settings, store).await {
        if is_readable(settings, settings.listen) {
            let listen = settings.listen;
            let sentence = format!(
                "{listen} serves a LIVE organization to other machines without TLS: set tls-cert and tls-key, or \
                 trust-proxy"
            );
            findings.push(Finding::warn("encryption", sentence));
        }
        for (name, is_set) in [("dev", settings.dev), ("demo", settings.demo)] {
            if is_set {
                let sentence =
                    format!("{name} = true is for development, but there is a LIVE organization: remove this setting");
                findings.push(Finding::warn("development", sentence));
            }
        }
    }
    if has_links_by_host(settings, settings.listen) {
        let sentence = "other machines reach the server, and invite links begin with the host that a request names: set \
                        public-url";
        findings.push(Finding::warn("public-url", sentence));
    }
    if let Some(path) = &settings.tls_key {
        findings.extend(key_of_certificate(path));
    }
    if let Some(file) = first_start_secrets::left(settings) {
        let file = file.display();
        let sentence =
            format!("the secrets of the first start are still in {file}: store them elsewhere and delete the file");
        findings.push(Finding::warn("first start", sentence));
    }
    findings
}

/// Whether there are real loans. The setting counts only until the first organization exists.
async fn is_live(settings: &Settings, store: Option<&dyn Store>) -> bool {
    let organizations = match store {
        Some(store) => store.organizations().await.unwrap_or_default(),
        None => Vec::new(),
    };
    if organizations.is_empty() {
        return settings.environment == Environment::Live;
    }
    organizations.iter().any(|organization| organization.environment == "LIVE")
}

/// Whether others can access the certificate's key. A missing file is found when the certificate is read.
fn key_of_certificate(path: &Path) -> Option<Finding> {
    let file = std::fs::metadata(path).ok()?;
    // The key of a group of servers belongs to root and is readable by that group.
    let allowed = if file.uid() == 0 { 0o740 } else { 0o700 };
    let mode = file.mode() & 0o7777;
    (mode & 0o777 & !allowed != 0).then(|| {
        let path = path.display();
        let sentence = format!("other users can access {path} (mode {mode:04o}): run `chmod 600 {path}`");
        Finding::warn("tls-key", sentence)
    })
}
