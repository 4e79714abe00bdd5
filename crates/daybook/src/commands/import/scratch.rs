//! The server of a dry run: the same service and API, on a database in a temporary folder.

use crate::commands::Failure;
use crate::secrets_file::mint_secret;
use daybook_api::ApiSettings;
use daybook_client::{ApiKey, Client};
use daybook_clock::System;
use daybook_import::product::ImportProduct;
use daybook_operations::Operation;
use daybook_service::Service;
use daybook_service::organizations::Bootstrap;
use std::fs::DirBuilder;
use std::os::unix::fs::DirBuilderExt;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;
use tokio::net::TcpListener;
use tokio::runtime::Runtime;

/// The time limit for running tasks at the end.
const FAREWELL: Duration = Duration::from_secs(10);

/// A server in this process, for this process only.
#[derive(Debug)]
pub struct Scratch {
    /// A client of it.
    pub client: Client,
    service: Service,
    runtime: Option<Runtime>,
    /// Dropped last.
    _folder: Folder,
}

impl Scratch {
    /// Starts it and creates the product.
    pub fn start(product: &ImportProduct) -> Result<Scratch, Failure> {
        let folder = Folder::make()?;
        let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build();
        let runtime = runtime.map_err(|error| Failure::Failed(format!("no threads could be started: {error}")))?;
        let address = format!("sqlite:{}", folder.0.join("dry-run.db").display());
        let (client, service) = runtime.block_on(serve(&address))?;
        let scratch = Scratch { client, service, runtime: Some(runtime), _folder: folder };
        scratch.client.call(&Operation::CreateProduct.request([]), Some(&product.body))?;
        Ok(scratch)
    }
}

async fn serve(address: &str) -> Result<(Client, Service), Failure> {
    let store = daybook_store::open(address).await?;
    let service = Service::start(store, Arc::new(System), &mint_secret()).await?;
    let first = service.bootstrap(&Bootstrap { environment: "TEST".to_owned(), ..Bootstrap::default() }).await?;
    let secret = first.and_then(|key| Some(ApiKey::new(key.client_id, key.client_secret?)));
    let key = secret.ok_or_else(|| Failure::Failed("the scratch database is not empty".to_owned()))?;
    service.run_timers();
    let failed = |error: std::io::Error| Failure::Failed(format!("the dry run's server cannot listen: {error}"));
    let listener = TcpListener::bind("127.0.0.1:0").await.map_err(failed)?;
    let url = format!("http://{}", listener.local_addr().map_err(failed)?);
    let router = daybook_api::router(service.clone(), ApiSettings::default());
    tokio::spawn(async move { axum::serve(listener, router).await });
    Ok((Client::new(&url, key), service))
}

impl Drop for Scratch {
    fn drop(&mut self) {
        if let Some(runtime) = self.runtime.take() {
            runtime.block_on(self.service.stop());
            runtime.shutdown_timeout(FAREWELL);
        }
    }
}

/// A temporary folder that only its owner can read, as it contains borrowers' data.
#[derive(Debug)]
struct Folder(PathBuf);

impl Folder {
    fn make() -> Result<Folder, Failure> {
        let path = std::env::temp_dir().join(format!("daybook-dry-run-{}", std::process::id()));
        let made = DirBuilder::new().mode(0o700).create(&path);
        made.map_err(|error| Failure::Failed(format!("{} cannot be created: {error}", path.display())))?;
        Ok(Folder(path))
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}
